package planregistry

import (
	"net/netip"
	"slices"
	"sync"
)

// Removals gathers where the frontends of one plan listen that it removes, or makes anew, by their service nodes: virtual addresses
// are handed over before. The zero value is ready to use.
type Removals struct {
	mu        sync.Mutex
	listeners map[string][]netip.Addr
}

// Put notes that a frontend with these listeners goes from a service node; an unspecified one is reached at all addresses.
func (r *Removals) Put(serviceNode string, listeners []netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listeners == nil {
		r.listeners = map[string][]netip.Addr{}
	}
	r.listeners[serviceNode] = append(r.listeners[serviceNode], listeners...)
}

// IsReached says whether one of the addresses leads to a frontend that goes from a service node.
func (r *Removals) IsReached(serviceNode string, addresses []netip.Addr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.listeners[serviceNode], func(l netip.Addr) bool { return l.IsUnspecified() || slices.Contains(addresses, l) })
}
