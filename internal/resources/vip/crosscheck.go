package vip

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addressuse"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/vip"
)

// crossCheck looks for what a VIP would collide with: the plan's other VIPs, the DHCP ranges of its networks
// and of those on the hypervisors, and what its machines have. known says that nothing of its configuration is unknown.
func crossCheck(ctx context.Context, at crud.Opening, planned, state *model, known bool, diags *diag.Diagnostics) {
	want, d := planned.spec(ctx)
	rememberMembers(at.Registry, planned.ID.ValueString(), want.VIP)
	if d.HasError() || planned.Name.IsUnknown() || !planned.addressesKnown(ctx) || len(want.Addresses) == 0 {
		return
	}
	// A name alone would not tell two VIPs apart of which one is a copy of the other, or another cluster's.
	owner := fmt.Sprintf("VIP %q with %s", want.Name, want.Addresses[0].Addr())
	layClaims(at.Provided, owner, want.VIP, diags)
	refuseMisplaced(at.Registry, owner, want.VIP, diags)
	refuseTaken(at.Registry, want.VIP, diags)
	refuseLeased(want.VIP, at.Registry.Ranges.ReplaceVirtual(owner, listAddresses(want.Addresses)...), diags)
	mine := at.Claim.MayTake
	var prior keepalived.VIP
	if state != nil {
		was, _ := state.spec(ctx)
		prior = was.VIP
		if was.Name == want.Name && was.RouterID == want.RouterID && slices.Equal(was.Addresses, want.Addresses) && sameMachines(was.Members, want.Members) && slices.Equal(was.Track, want.Track) {
			return // it stands already, so nobody is asked
		}
		mine = at.Claim.Owns
	}
	refuseLeased(want.VIP, listForeignLeased(ctx, at.Provided, want.VIP), diags)
	s := vip.New(machinesOf(at), at.Claim, want.Name, want.Members)
	views, problems := s.CheckMachines(ctx, &want.VIP, mine, func(m keepalived.Member) bool { return isPlanned(at.Provided, m) })
	diags.Append(crud.Diagnostics(problems)...)
	if !diags.HasError() {
		plannedAnew := func(h addressuse.Holder, machine string) bool { return isPlannedAnew(at.Registry, h, machine) }
		diags.Append(crud.Diagnostics(s.CheckTaken(ctx, prior, want.VIP, views, plannedAnew))...)
	}
	if known && !diags.HasError() {
		diags.Append(crud.Diagnostics(vip.TryMachines(ctx, views, want.VIP))...)
	}
}

// sameMachines says whether members mean the same, whatever they are called.
func sameMachines(a, b []keepalived.Member) bool {
	byID := func(members []keepalived.Member) map[string]keepalived.Member {
		all := map[string]keepalived.Member{}
		for _, m := range members {
			m.Name = ""
			all[m.ID] = m
		}
		return all
	}
	return maps.Equal(byID(a), byID(b))
}

// nameSegment names the L2 segment of the addresses that VRRP is spoken for.
func nameSegment(v keepalived.VIP) string {
	if a := v.Addresses[0]; !a.IsSingleIP() {
		return "the segment of " + a.Masked().String()
	}
	for _, m := range v.Members {
		if m.Address.IsValid() {
			bits := 24
			if m.Address.Is6() {
				bits = 64
			}
			return "the segment of " + netip.PrefixFrom(m.Address, bits).Masked().String()
		}
	}
	return ""
}

// layClaims compares the VIP with the plan's other ones.
func layClaims(provided crud.Provided, owner string, v keepalived.VIP, diags *diag.Diagnostics) {
	var all []planregistry.Claim
	at := map[planregistry.Claim][]any{}
	lay := func(c planregistry.Claim, where ...any) {
		all, at[c] = append(all, c), where
	}
	if where := nameSegment(v); where != "" && v.RouterID != 0 {
		lay(planregistry.Claim{Kind: "virtual router id", Scope: where, Value: fmt.Sprint(v.RouterID)}, "virtual_router_id")
	}
	for i, a := range v.Addresses {
		lay(planregistry.VirtualAddressClaim(a.Addr()), "addresses", i)
	}
	for i, m := range v.Members {
		if m.ID != "" {
			lay(planregistry.Claim{Kind: "VRRP instance", Scope: m.ID, Value: v.Name}, v.At(i, "service_node")...)
		}
	}
	for _, c := range provided.Registry.Claims.Replace(owner, all...) {
		remedy := "choose another one"
		switch c.Claim.Kind {
		case "virtual router id":
			remedy = "set virtual_router_id of one of them to another number from 1 to 255"
		case "virtual address":
			remedy = "an address belongs to one VIP"
		case "VRRP instance":
			remedy = "give one of them another name"
		}
		diags.Append(crud.Diagnostic("Conflict with another VIP", service.At(at[c.Claim], fmt.Errorf("%s is the one of %s already: %s", c.Claim, c.Holder, remedy))))
	}
}

// refuseMisplaced refuses an address that something else of the plan puts on a member's machine.
func refuseMisplaced(r *planregistry.Registry, holder string, v keepalived.VIP, diags *diag.Diagnostics) {
	var places []planregistry.Placement
	for _, m := range v.Members {
		for _, a := range listAddresses(v.Addresses) {
			places = append(places, planregistry.Placement{Machine: host.WithoutKey(m.ID), Address: a})
		}
	}
	for _, c := range r.Placements.Replace("VIP", holder, places...) {
		i := slices.Index(listAddresses(v.Addresses), c.Address)
		diags.Append(crud.Diagnostic("Address taken", service.At([]any{"addresses", i}, fmt.Errorf("%s puts %s on %s too, and whoever of the two goes would take it from the other: choose another address", c.Holder, c.Address, c.Machine))))
	}
}

// refuseTaken refuses an address that a machine, a reservation or a gateway of the plan has.
func refuseTaken(r *planregistry.Registry, v keepalived.VIP, diags *diag.Diagnostics) {
	for i, a := range v.Addresses {
		if taken, there := r.Claims.FindAddress(a.Addr()); there {
			diags.Append(crud.Diagnostic("Address taken", service.At([]any{"addresses", i}, fmt.Errorf("%s belongs to %s: a virtual address is no machine's own, choose another one", taken.Claim, taken.Holder))))
		}
		if pool, there := r.Pools.FindMade(a.Addr()); there {
			diags.Append(crud.Diagnostic("Address taken", service.At([]any{"addresses", i}, fmt.Errorf("%s is one that the new %s gives out: choose another one, or reserve it there", a.Addr(), pool))))
		}
	}
}

// rememberMembers tells the rest of the run, such as data sources, which members the VIP of an id has.
func rememberMembers(r *planregistry.Registry, id string, v keepalived.VIP) {
	if id == "" || slices.Contains(vip.ListServiceNodes(v.Members), "") {
		return
	}
	members := make([]planregistry.VIPMember, 0, len(v.Members))
	for _, m := range v.Members {
		members = append(members, planregistry.VIPMember{Name: m.Name, ServiceNode: m.ID})
	}
	r.VIPs.Put(id, members)
}

func listAddresses(addresses []netip.Prefix) []netip.Addr {
	var all []netip.Addr
	for _, a := range addresses {
		all = append(all, a.Addr())
	}
	return all
}

// askLimit bounds what planning asks of hypervisors and machines: what cannot be asked now is told by the apply.
const askLimit = 10 * time.Second

// isPlanned says whether the plan makes a bridge that a member's interface may be: a machine has many names, and the plan knows one of
// its bridges by another one perhaps.
func isPlanned(provided crud.Provided, m keepalived.Member) bool {
	if provided.Registry.Claims.Holder(planregistry.HostBridgeClaim(m.Interface)) != "" {
		return true
	}
	return slices.ContainsFunc(provided.Fleet.Names(), func(hypervisor string) bool {
		return provided.Registry.Claims.Holder(planregistry.BridgeClaim(hypervisor, m.Interface)) != ""
	})
}

// isPlannedAnew says whether the plan says what a holder of this state has from then on. A device that inherits its addresses keeps them.
func isPlannedAnew(registry *planregistry.Registry, h addressuse.Holder, machine string) bool {
	device := h.Kind == addressuse.Bridge || h.Kind == addressuse.Interface
	return !device || registry.Placements.Has(planregistry.NameDevice(string(h.Kind), h.Name, host.WithoutKey(machine)))
}
