package planregistry

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// Placements gathers which addresses the resources of one plan put on which machines: things of two kinds, such as a VIP and a bridge,
// cannot both have one, as each takes it away when it goes. Among things of one kind that is for the kind to say. It is used as Claims is;
// the zero value is ready.
type Placements struct {
	mu   sync.Mutex
	held map[string]placed
}

type placed struct {
	kind   string
	places []Placement
}

// Placement is an address on a machine, which is named without its host key.
type Placement struct {
	Machine string
	Address netip.Addr
}

// Misplaced is an address that a thing of another kind is to have.
type Misplaced struct {
	Placement
	Holder string
}

// Replace takes what a holder of a kind puts on machines for what it put there before, and returns what of it things of other kinds have.
func (p *Placements) Replace(kind, holder string, places ...Placement) []Misplaced {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		p.held = map[string]placed{}
	}
	p.held[holder] = placed{kind, places}
	var all []Misplaced
	for other, theirs := range p.held {
		if theirs.kind == kind {
			continue
		}
		for _, place := range places {
			if slices.Contains(theirs.places, place) {
				all = append(all, Misplaced{place, other})
			}
		}
	}
	slices.SortFunc(all, func(a, b Misplaced) int {
		if c := a.Address.Compare(b.Address); c != 0 {
			return c
		}
		return strings.Compare(a.Holder, b.Holder)
	})
	return all
}

// Has says whether the plan says which addresses a holder puts on machines.
func (p *Placements) Has(holder string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, there := p.held[holder]
	return there
}

// NameDevice names a device of a machine that the plan configures, as a holder; kind is "bridge" or "interface".
func NameDevice(kind, device, machine string) string {
	return fmt.Sprintf("%s %q on %s", kind, device, machine)
}
