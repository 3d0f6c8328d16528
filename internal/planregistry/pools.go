package planregistry

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// Pool is a pool of addresses of one plan: the machine that keeps it, and its name there.
type Pool struct{ Node, Name string }

// SharedRun is a run of addresses of a pool, by its number, of which another pool of the same machine has addresses too.
type SharedRun struct {
	Run   int
	Other Pool
	Range Range
}

// Pools gathers the pools of addresses of one plan. It is used as Claims is; the zero value is ready.
type Pools struct {
	mu   sync.Mutex
	held map[Pool][]Range
	// made are those that the plan makes, with what they will give out: nothing of that is anybody's yet.
	made map[Pool]func(netip.Addr) bool
	// drawn are the addresses that draws of the plan have: whoever names one of these has the draw's.
	drawn map[netip.Addr]bool
}

// Replace takes a pool's runs for what it had before, and returns what other pools of the machine have too.
func (p *Pools) Replace(pool Pool, runs ...Range) []SharedRun {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		p.held = map[Pool][]Range{}
	}
	p.held[pool] = runs
	var shared []SharedRun
	for _, other := range slices.SortedFunc(maps.Keys(p.held), func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) }) {
		if other.Node != pool.Node || other.Name == pool.Name {
			continue
		}
		for i, run := range runs {
			for _, theirs := range p.held[other] {
				if run.Overlaps(theirs) {
					shared = append(shared, SharedRun{i, other, theirs})
				}
			}
		}
	}
	return shared
}

// Make says what a pool that the plan makes will give out.
func (p *Pools) Make(pool Pool, gives func(netip.Addr) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == nil {
		p.made = map[Pool]func(netip.Addr) bool{}
	}
	p.made[pool] = gives
}

// Draw notes an address that a draw of the plan has, or will have.
func (p *Pools) Draw(address netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn == nil {
		p.drawn = map[netip.Addr]bool{}
	}
	p.drawn[address] = true
}

// IsDrawn says whether a draw of the plan has an address: a virtual address, a machine or a gateway that has it too is what it was drawn for.
func (p *Pools) IsDrawn(address netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drawn[address]
}

// FindMade returns the pool that the plan makes and that will give an address out to somebody else. Of one that is there already, or by a
// draw of the plan, it may have been drawn.
func (p *Pools) FindMade(address netip.Addr) (pool Pool, there bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn[address] {
		return Pool{}, false
	}
	for _, pool := range slices.SortedFunc(maps.Keys(p.made), func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) }) {
		if p.made[pool](address) {
			return pool, true
		}
	}
	return Pool{}, false
}

// String is the pool as messages name it.
func (p Pool) String() string {
	endpoint, _, _ := strings.Cut(p.Node, "?") // without the host key
	return fmt.Sprintf("address pool %q on %s", p.Name, endpoint)
}
