package ovn

import (
	"maps"
	"net/netip"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// Planned is what a plan will have in a database: what is compared with each other before any of it is there.
type Planned struct {
	Networks []Network
	Routers  map[string]Router
}

// FindPlanned returns what a plan will have in the database of a machine, by a reference to it.
func FindPlanned(v plan.View, machine string) Planned {
	found := Planned{Routers: map[string]Router{}}
	for _, held := range v.List(plan.OVNNetwork) {
		if is, ok := held.Of.(Network); ok && SameNetwork(held.Holder.Object, FormatNetworkID(machine, is.Name)) {
			found.Networks = append(found.Networks, is)
		}
	}
	for _, held := range v.List(plan.OVNRouter) {
		if is, ok := held.Of.(Router); ok && SameNetwork(held.Holder.Object, FormatRouterID(machine, is.Name)) {
			found.Routers[is.Name] = is
		}
	}
	return found
}

// FormatRouterID is the id of a router, as FormatNetworkID is that of a network.
func FormatRouterID(machine, name string) string { return machine + "#router/" + name }

// overlay has the rows have networks as they are planned.
func (r *routerRows) overlay(planned Planned) {
	for _, is := range planned.Networks {
		s := r.networks[is.Name]
		s.Name, s.OtherConfig = is.Name, is.otherConfig()
		s.ExternalIDs = maps.Clone(s.ExternalIDs)
		if s.ExternalIDs == nil {
			s.ExternalIDs = map[string]string{}
		}
		s.ExternalIDs[gatewayKey] = textOf(is.Gateway)
		r.networks[is.Name] = s
	}
}

// distributed returns the distributed floating address that a planned router gives a guest, where a load balancer on it leads there from
// outside: from no network of the router's.
func (p Planned) distributed(router string, vip, guest netip.Addr) (outside string, is bool) {
	r := p.Routers[router]
	for _, network := range p.Networks {
		for _, name := range r.Networks {
			if name == network.Name && network.CIDR.IsValid() && network.CIDR.Contains(vip) {
				return "", false
			}
		}
	}
	for outside, f := range r.Floating {
		if f.Distributed && f.Inside == guest {
			return outside, true
		}
	}
	return "", false
}
