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
	node    string
	address netip.Addr
	whole   bool
}

// Replace takes what a holder has of an address for what it had before, the whole address or ports of it, and returns who has the
// other.
func (e *Exposures) Replace(holder, node string, address netip.Addr, whole bool) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.held == nil {
		e.held = map[string]exposed{}
	}
	e.held[holder] = exposed{node, address, whole}
	var others []string
	for _, other := range slices.Sorted(maps.Keys(e.held)) {
		if e.held[other] == (exposed{node, address, !whole}) {
			others = append(others, other)
		}
	}
	return others
}
