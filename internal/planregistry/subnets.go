package planregistry

import (
	"fmt"
	"net/netip"
	"slices"
)

// Find returns the subnets that a network of the plan will have, by its hypervisor and name; ok is false where
// the plan has no such network, or does not know all of its subnets yet.
func (s *Subnets) Find(hypervisor, name string) (subnets []netip.Prefix, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	subnets, ok = s.held[network{hypervisor, fmt.Sprintf("network %q", name)}]
	if slices.Contains(subnets, netip.Prefix{}) {
		return nil, false
	}
	return subnets, ok
}
