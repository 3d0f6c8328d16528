package ovn

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// newAddress is one that a plan has a router or a network take, where, and the attribute that says so.
type newAddress struct {
	address netip.Addr
	on      segment
	path    []any
}

// CheckRouterAddresses finds addresses that a router is to take, and has not had, and that somebody has who is not of the plan: another router on the same
// network, or a load balancer. What two of the plan want the plan itself compares. Where the database does not answer, the apply says so.
func CheckRouterAddresses(ctx context.Context, n *Northbound, want, was Router, planned Planned) error {
	r, err := balancerThing{}.findRows(ctx, n)
	if err != nil {
		return nil //nolint:nilerr // as said above
	}
	return r.checkRouter(want, was, planned)
}

// checkRouter is CheckRouterAddresses by rows.
func (r balancerRows) checkRouter(want, was Router, planned Planned) error {
	routers := map[string]Router{}
	maps.Copy(routers, planned.Routers)
	routers[want.Name] = want
	planned.Routers = routers
	r.overlayPlan(planned)
	all := r.listRouterAddresses(want.Name, planned)
	return findTaken(all, want.Name, planned, want.listNew(was, all[want.Name]))
}

// listNew returns the addresses that the router is to have, and has not had: its gateways of networks that are new to it, as it will answer for them, and those
// outside.
func (r Router) listNew(was Router, own answeredAddresses) (all []newAddress) {
	for i, name := range r.Networks {
		on := segment{false, name}
		for _, p := range own.at[on] {
			if !slices.Contains(was.Networks, name) {
				all = append(all, newAddress{p.Addr(), on, []any{"networks", i}})
			}
		}
	}
	had := was.listOutside()
	for _, a := range r.listOutside() {
		isHad := slices.ContainsFunc(had, func(h outsideAddress) bool { return h.address == a.address })
		if !isHad || was.External.BridgeMapping != r.External.BridgeMapping {
			all = append(all, newAddress{a.address, segment{true, r.External.BridgeMapping}, a.path})
		}
	}
	return all
}

// CheckNetworkAddresses finds a gateway that a network is to get and that leads elsewhere: a load balancer listens there, or it is a floating address of a router
// on the network of the chassis that a bridged one is part of. Where the database does not answer, the apply says so.
func CheckNetworkAddresses(ctx context.Context, n *Northbound, want, was Network, planned Planned) error {
	if !want.Gateway.IsValid() || want.Gateway == was.Gateway {
		return nil
	}
	r, err := balancerThing{}.findRows(ctx, n)
	if err != nil {
		return nil //nolint:nilerr // as said above
	}
	return r.checkNetwork(want, planned)
}

// checkNetwork is CheckNetworkAddresses by rows, of a gateway that is new.
func (r balancerRows) checkNetwork(want Network, planned Planned) error {
	planned.Networks = append(slices.DeleteFunc(slices.Clone(planned.Networks), func(is Network) bool { return is.Name == want.Name }), want)
	r.overlayPlan(planned)
	a := newAddress{want.Gateway, segment{false, want.Name}, []any{"gateway"}}
	if want.Mode == Bridged {
		a.on = segment{true, want.BridgeMapping}
	}
	all := r.listRouterAddresses("", planned)
	for name, router := range all { // a gateway is the address of a router there
		router.at = maps.Clone(router.at)
		router.at[a.on] = slices.DeleteFunc(slices.Clone(router.at[a.on]), func(p netip.Prefix) bool { return p.Addr() == a.address })
		all[name] = router
	}
	return findTaken(all, "", planned, []newAddress{a})
}

// findTaken returns an error at the first of addresses that somebody has; own is the router that takes them.
func findTaken(all map[string]answeredAddresses, own string, planned Planned, addresses []newAddress) error {
	const choose = "write an address that nobody has"
	for _, a := range addresses {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			other := all[name]
			if _, common := other.at[a.on]; !common && name != own || other.leaves {
				continue
			}
			if balancer, vip := other.findListener("", "", netip.AddrPortFrom(a.address, 0), true); balancer != "" && (name == own || other.answersOn(a.on, a.address)) {
				return service.At(a.path, fmt.Errorf("load balancer %q of router %q listens at %s already: %s", balancer, name, vip, choose))
			}
			if _, isPlanned := planned.Routers[name]; isPlanned {
				continue
			}
			_, isFloating := other.floating[a.address]
			if a.on.ofChassis && isFloating || slices.ContainsFunc(other.at[a.on], func(p netip.Prefix) bool { return p.Addr() == a.address }) {
				return service.At(a.path, fmt.Errorf("router %q has %s on %s already: %s", name, a.address, a.on, choose))
			}
		}
	}
	return nil
}

// answersOn says whether a router answers for an address on a network: for one of its networks inside on that one, and for others on those of the chassis.
func (a answeredAddresses) answersOn(on segment, address netip.Addr) bool {
	inside, is := a.findSegment(address)
	return is && inside == on || !is && on.ofChassis
}
