package ovn

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Router is a logical router, in plain values.
type Router struct {
	Name string `attr:"name"`
	// Networks are those that it connects, by their names, each at its gateway's address.
	Networks []string  `attr:"networks"`
	External *External `attr:"external"`
	// SNAT has guests reach the outside by the router's address there.
	SNAT bool `attr:"snat"`
	// Floating are addresses outside that lead to guests.
	Floating map[string]Floating `attr:"floating"`
	Routes   []Route             `attr:"routes"`
	// Failover is nil for OVN's own.
	Failover *Failover `attr:"failover"`
}

// External is where a router is part of a network that is none of OVN's.
type External struct {
	// BridgeMapping is what chassis call that network.
	BridgeMapping string       `attr:"bridge_mapping"`
	Address       netip.Prefix `attr:"address"`
	Gateway       netip.Addr   `attr:"gateway"`
	// Chassis are the ids of those of which the first one that lives is the way out.
	Chassis []string `attr:"chassis"`
}

// Floating is the guest that an address outside leads to.
type Floating struct {
	Inside netip.Addr `attr:"inside"`
	// Distributed has the guest's own chassis translate, and not the way out.
	Distributed bool `attr:"distributed"`
}

// Route is a way to a network that is behind a machine.
type Route struct {
	CIDR netip.Prefix `attr:"cidr"`
	Via  netip.Addr   `attr:"via"`
}

// failoverChassis is how many chassis notice that one of them is dead: two that do not hear each other cannot tell which one is cut off.
const failoverChassis = 3

// Validate finds what is wrong with the router.
func (r Router) Validate() []service.Problem {
	var problems []service.Problem
	wrong := func(path []any, summary, format string, args ...any) {
		problems = append(problems, service.Problemf(path, summary, format, args...))
	}
	if r.External == nil && r.Failover != nil {
		wrong([]any{"failover"}, "No way out", "failover takes an external network: no other part of a router is on one chassis")
	}
	if r.External == nil && (r.SNAT || len(r.Floating) > 0) {
		wrong([]any{"external"}, "No way out", "snat and floating take an external network")
	}
	if e := r.External; e != nil {
		if e.Address.IsValid() && e.Gateway.IsValid() && (!e.Address.Contains(e.Gateway) || e.Address.Addr() == e.Gateway) {
			wrong([]any{"external", "gateway"}, "Gateway outside the network", "%s is no address of another machine in %s", e.Gateway, e.Address.Masked())
		}
		if n := len(e.Chassis); n > 1 && n < failoverChassis {
			problems = append(problems, service.Warningf([]any{"external", "chassis"}, "Two chassis do not stand in for each other",
				"with %d chassis in all, one that is alone cannot know whether the other one or itself is cut off: another one takes over from %d on", n, failoverChassis))
		}
	}
	for _, outside := range slices.Sorted(maps.Keys(r.Floating)) {
		at := []any{"floating", service.Key(outside)}
		a, err := netip.ParseAddr(outside)
		switch {
		case err != nil || !a.Is4():
			wrong(at, "Invalid address", "write an IPv4 address of the external network")
		case r.External != nil && r.External.Address.IsValid() && a == r.External.Address.Addr():
			wrong(at, "Address of the router", "%s is the router's own", a)
		case r.External != nil && a == r.External.Gateway:
			wrong(at, "Address of the gateway", "%s is that of external.gateway, another machine", a)
		case !r.Floating[outside].Inside.Is4() && r.Floating[outside].Inside.IsValid():
			wrong(append(at, "inside"), "Invalid address", "write the IPv4 address of a guest")
		}
	}
	if r.SNAT && r.External != nil && r.External.Address.Addr().Is6() {
		wrong([]any{"snat"}, "Address of another family", "guests have addresses of IPv4, which are translated to one of IPv4: write one as external.address, or leave snat out")
	}
	if r.SNAT && len(r.Networks) == 0 {
		wrong([]any{"snat"}, "No network to translate", "guests of the router's networks reach the outside by it, and it has none: name one in networks")
	}
	for i, route := range r.Routes {
		switch {
		case !route.CIDR.IsValid() || !route.Via.IsValid():
		case route.CIDR != route.CIDR.Masked():
			wrong([]any{"routes", i, "cidr"}, "Invalid network", "write the network itself, such as %s", route.CIDR.Masked())
		case route.CIDR.Addr().Is4() != route.Via.Is4():
			wrong([]any{"routes", i, "via"}, "Address of another family", "%s and %s are not both of IPv4, or both of IPv6", route.CIDR, route.Via)
		case slices.Contains(r.Routes[:i], route):
			wrong([]any{"routes", i}, "Route described twice", "%s by %s is among the routes before", route.CIDR, route.Via)
		case r.External != nil && r.External.Gateway.IsValid() && route.CIDR == defaultRoute(r.External.Gateway):
			wrong([]any{"routes", i, "cidr"}, "Route described twice", "external.gateway is the default route")
		case r.External != nil && r.External.Address.Contains(route.Via) && route.CIDR == defaultRoute(route.Via):
			wrong([]any{"routes", i, "cidr"}, "Default route of the external network", "write %s as external.gateway", route.Via)
		}
	}
	return problems
}

// WarnOfLoneGateway warns where one chassis is the only way out of the router, and OVN has so many: none of them takes over from it.
func (r Router) WarnOfLoneGateway(chassis int) []service.Problem {
	if r.External == nil || len(r.External.Chassis) != 1 || chassis < 2 {
		return nil
	}
	return []service.Problem{service.Warningf([]any{"external", "chassis"}, "Way out by one chassis only",
		"OVN has %d chassis, and none takes over from %s: where that one is dead, guests do not reach the outside, nor it them. Write others behind it that have the bridge mapping %q; a dead one is noticed from %d chassis on",
		chassis, r.External.Chassis[0], r.External.BridgeMapping, failoverChassis)}
}

// CountChassis returns how many chassis OVN of a machine has, by a reference to it: those of the plan, and where that does not say, those that follow the
// database. 0 where nobody knows now.
func CountChassis(ctx context.Context, n *Northbound, v plan.View, machine string) int {
	for _, held := range v.List(plan.OVNChassis) {
		if all, ok := held.Of.([]PlannedChassis); ok && host.SameReference(held.Holder.Object, machine) {
			return len(all)
		}
	}
	if n == nil {
		return 0
	}
	rows, err := Rows(ctx, n.South, All[ChassisRow])
	if err != nil {
		return 0
	}
	return len(rows)
}

// Uses implements plan.User: load balancers of the plan are compared with what the router will be, and no other router has its addresses outside.
func (r Router) Uses() []plan.Use {
	uses := []plan.Use{{Verb: plan.Gives, Kind: plan.OVNRouter, Value: r.Name, Of: r, Known: []string{"name", "networks", "floating"}}}
	for _, a := range r.listOutside() {
		uses = append(uses, plan.Use{Kind: plan.OutsideAddress, Scope: plan.OnNetwork(r.External.BridgeMapping), Value: a.address.String(), Span: plan.SpanOf(a.address), Path: a.path})
	}
	return uses
}

// defaultRoute is where a router sends what is in no network, by a gateway.
func defaultRoute(gateway netip.Addr) netip.Prefix {
	if gateway.Is4() {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
}

// findOverlap finds two networks that a router cannot tell apart: they have addresses in common.
func findOverlap(networks map[string][]netip.Prefix) error {
	names := slices.Sorted(maps.Keys(networks))
	for i, one := range names {
		for _, other := range names[i+1:] {
			for _, p := range networks[one] {
				if at := slices.IndexFunc(networks[other], p.Overlaps); at >= 0 {
					return fmt.Errorf("network %q (%s) overlaps network %q (%s): one router leads to each address once", one, p, other, networks[other][at])
				}
			}
		}
	}
	return nil
}
