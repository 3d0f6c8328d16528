package network

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// Uses implements plan.User: the network itself, its bridge, its own addresses, and those that it gives out.
func (n Definition) Uses() []plan.Use {
	on := plan.OnNetwork(n.Name)
	uses := []plan.Use{
		{Verb: plan.Gives, Kind: plan.Network, Value: n.Name},
		{Verb: plan.Gives, Kind: plan.NetworkMode, Scope: on, Value: n.Mode},
		{Verb: plan.Gives, Kind: plan.KnownSubnets, Value: n.Name, Known: []string{"cidr", "ipv6_cidr"}},
	}
	if n.Bridge != "" && n.Mode != Bridge {
		uses = append(uses, plan.Use{Kind: plan.NetworkBridge, Value: n.Bridge, Path: []any{"bridge"}})
	}
	for _, subnet := range n.Subnets() {
		uses = append(uses, plan.Use{Kind: plan.NetworkSubnet, Value: subnet.String(), Span: plan.SpanOfPrefix(subnet), Path: subnetAttribute(subnet)})
	}
	for _, own := range []struct {
		attribute string
		address   netip.Addr
	}{{"gateway", n.Gateway}, {"ipv6_gateway", n.Gateway6}} {
		if own.address.IsValid() {
			uses = append(uses, plan.Use{Kind: plan.GatewayAddress, Scope: on, ByID: true, Value: own.address.String(), Span: plan.SpanOf(own.address), Path: []any{own.attribute}})
		}
	}
	if n.DHCP == nil {
		return append(uses, plan.Use{Verb: plan.Gives, Kind: plan.NoDHCP, Value: n.Name, Known: []string{"dhcp"}})
	}
	for _, run := range n.DHCP.Ranges {
		if run.Start.IsValid() && run.End.IsValid() {
			uses = append(uses, plan.Use{
				Verb: plan.Gives, Kind: plan.HandedOut, Scope: on, ByID: true, Value: fmt.Sprintf("%s to %s", run.Start, run.End), Span: plan.Span{First: run.Start, Last: run.End}, Path: []any{"dhcp"},
			})
		}
	}
	for _, mac := range slices.Sorted(maps.Keys(n.DHCP.Hosts)) {
		if a := n.DHCP.Hosts[mac].IP; a.IsValid() {
			uses = append(uses, plan.Use{Kind: plan.ListedAddress, Scope: on, ByID: true, Value: a.String(), Span: plan.SpanOf(a), For: mac, Path: []any{"dhcp"}})
		}
	}
	return uses
}

// Uses implements plan.User: an address of the network, which it keeps for one machine under one name.
func (r Reservation) Uses() []plan.Use {
	if r.Network == "" || !r.IP.IsValid() || r.machineKey() == "" {
		return nil
	}
	on, known := plan.OnNetwork(r.Network), []string{"mac", "duid"}
	uses := []plan.Use{
		{Kind: plan.ReservedAddress, Scope: on, Value: r.IP.String(), Span: plan.SpanOf(r.IP), For: r.machineKey(), Path: []any{"ip"}, Known: known},
		{Kind: plan.Reservation, Scope: on, Value: r.machineKey(), Path: []any{r.machineAttribute()}, Known: known},
	}
	if r.Name != "" {
		kind := plan.IPv4Name
		if r.IP.Is6() {
			kind = plan.IPv6Name
		}
		uses = append(uses, plan.Use{Kind: kind, Scope: on, Value: r.Name, Path: []any{"hostname"}, Known: known})
	}
	return uses
}

// Describe implements plan.Described.
func (r Reservation) Describe(string) string {
	return fmt.Sprintf("the reservation of %s for %s on network %q", r.IP, r.machineKey(), r.Network)
}

// machineKey is what the reservation knows its machine by.
func (r Reservation) machineKey() string {
	switch {
	case r.MAC != "":
		return r.MAC
	case r.ID != "":
		return strings.ToLower(r.ID)
	}
	return r.Name
}

// machineAttribute is the attribute that has it.
func (r Reservation) machineAttribute() string {
	switch {
	case r.MAC != "":
		return "mac"
	case r.ID != "":
		return "duid"
	}
	return "hostname"
}

// Changes says whether the plan makes or changes a network, by its name and that of its hypervisor in the configuration: what it has
// now says nothing then.
func Changes(view plan.View, hypervisor, name string) bool {
	h, found := view.Find(plan.Use{Kind: plan.Network, On: plan.NameHypervisor(hypervisor), Value: name})
	return found && h.Doing != plan.Keeps
}

// PlannedSubnets returns the subnets that a network of the plan will have; known is false where the plan has no such network, or does not
// know all of its subnets yet.
func PlannedSubnets(view plan.View, hypervisor, name string) (subnets []netip.Prefix, known bool) {
	at := plan.NameHypervisor(hypervisor)
	owner, known := view.Find(plan.Use{Kind: plan.KnownSubnets, On: at, Value: name})
	if !known {
		return nil, false
	}
	for _, u := range view.List(plan.NetworkSubnet) {
		if p, err := netip.ParsePrefix(u.Value); err == nil && u.Holder.ID == owner.ID {
			subnets = append(subnets, p)
		}
	}
	slices.SortFunc(subnets, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	return subnets, true
}
