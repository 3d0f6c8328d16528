package planregistry

import (
	"maps"
	"net/netip"
	"slices"
	"sync"
)

// Exposures gathers who of one plan has a service node's outside address to itself, and who has ports of one: these are in each
// other's way, whichever ports. It is used as Claims is; the zero value is ready.
type Exposures struct {
	mu   sync.Mutex
	held map[string]exposed
}

type exposed struct {
	node      string
	addresses []netip.Addr
	whole     bool
}

// Replace takes what a holder has of addresses for what it had before, the whole addresses or ports of them, and returns who has the
// other of one of them.
func (e *Exposures) Replace(holder, node string, whole bool, addresses ...netip.Addr) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.held == nil {
		e.held = map[string]exposed{}
	}
	e.held[holder] = exposed{node, addresses, whole}
	var others []string
	for _, other := range slices.Sorted(maps.Keys(e.held)) {
		theirs := e.held[other]
		shares := slices.ContainsFunc(addresses, func(a netip.Addr) bool { return slices.Contains(theirs.addresses, a) })
		if theirs.node == node && theirs.whole != whole && shares {
			others = append(others, other)
		}
	}
	return others
}

// Whole returns who has a service node's address to itself.
func (e *Exposures) Whole(node string, address netip.Addr) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var holders []string
	for _, holder := range slices.Sorted(maps.Keys(e.held)) {
		if h := e.held[holder]; h.whole && h.node == node && slices.Contains(h.addresses, address) {
			holders = append(holders, holder)
		}
	}
	return holders
}
