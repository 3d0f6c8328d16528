package ovn

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// Planned is what a plan will have in a database: what is compared with each other before any of it is there.
type Planned struct {
	Networks  []Network
	Routers   map[string]Router
	Balancers []LoadBalancer
	// Stays says whether what has a mark of this state is not in the plan, and stays as it is, as where resources were chosen (-target); nil where all that stays
	// is in the plan.
	Stays func(owner.Mark) bool
}

// keepsMarked says whether what has a mark is there as it is when the plan is applied, although the plan does not have it: it is another state's, a person's, or was not
// chosen.
func (p Planned) keepsMarked(mark owner.Mark) bool {
	return !mark.IsHere() || p.Stays != nil && p.Stays(mark)
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
		if is, ok := held.Of.(Router); ok && SameNetwork(held.Holder.Object, machine+"#router/"+is.Name) {
			found.Routers[is.Name] = is
		}
	}
	for _, held := range v.List(plan.OVNLoadBalancer) {
		if is, ok := held.Of.(LoadBalancer); ok && SameNetwork(held.Holder.Object, machine+"#load_balancer/"+is.Name) {
			found.Balancers = append(found.Balancers, is)
		}
	}
	return found
}

// FindPlannedMTU returns how large packets of guests will be on OVN, by its id, and whether a plan has that OVN at all: 0 where it is not
// known before the apply. An OVN that has no chassis yet, and so no MTU, has the usual one.
func FindPlannedMTU(v plan.View, id string) (mtu int64, planned bool) {
	isOn := func(held plan.Held) bool { return host.SameReference(held.Holder.Object, id) }
	known := v.List(plan.OVNMTU)
	if at := slices.IndexFunc(known, isOn); at >= 0 {
		bytes, err := strconv.ParseInt(known[at].For, 10, 64)
		if err != nil {
			return usualMTU, true
		}
		return bytes, true
	}
	return 0, slices.ContainsFunc(v.List(plan.OVN), isOn)
}

// overlayPlan has the rows have networks as they are planned; wanted are those that matter to the router.
func (r *routerRows) overlayPlan(planned Planned, wanted []string) {
	r.undecided = map[string]bool{}
	for _, name := range wanted {
		r.undecided[name] = !planned.keepsMarked(owner.Parse(r.networks[name].ExternalIDs[markKey]))
	}
	for _, is := range planned.Networks {
		delete(r.undecided, is.Name)
		s := r.networks[is.Name]
		s.Name, s.OtherConfig = is.Name, is.otherConfig()
		ids := is.formatNotes()
		ids[markKey] = s.ExternalIDs[markKey]
		s.ExternalIDs = ids
		r.networks[is.Name] = s
	}
}

// overlayPlan has the rows have routers connect networks as it is planned, as far as these are there.
func (r *balancerRows) overlayPlan(planned Planned) {
	for name, is := range planned.Routers {
		r.networks[name] = slices.DeleteFunc(slices.Clone(r.switches), func(s Switch) bool { return !slices.Contains(is.Networks, s.Name) })
	}
}

// findDistributed returns the distributed floating address that a planned router gives a guest, where a load balancer on it leads there from
// outside: from no network of the router's, as these are planned, or are there. Where one of them is neither, nobody knows.
func (p Planned) findDistributed(router string, vip, guest netip.Addr, there []Switch) (outside string, is bool) {
	r := p.Routers[router]
	for _, name := range r.Networks {
		cidr, known := p.findCIDR(name, there)
		if !known || cidr.Contains(vip) {
			return "", false
		}
	}
	for outside, f := range r.Floating {
		if f.Distributed && f.Inside == guest {
			return outside, true
		}
	}
	return "", false
}

// findCIDR returns the addresses of a network as it is planned, or as it is there where the plan does not have it: an apply plans anew what it changes, and
// nothing else.
func (p Planned) findCIDR(name string, there []Switch) (cidr netip.Prefix, known bool) {
	for _, network := range p.Networks {
		if network.Name == name {
			return network.CIDR, true
		}
	}
	for _, s := range there {
		if s.Name == name {
			cidr, _ = netip.ParsePrefix(s.OtherConfig["subnet"])
			return cidr, true
		}
	}
	return cidr, false
}
