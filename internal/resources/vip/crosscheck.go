package vip

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	planuses "github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addressuse"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/vip"
)

// crossCheck looks for what a VIP would collide with beyond the plan: the DHCP ranges of networks on the hypervisors, and what its
// machines have. known says that nothing of its configuration is unknown.
func crossCheck(ctx context.Context, at crud.StoreContext, planned, state *model, known bool, diags *diag.Diagnostics) {
	want, d := planned.toSpec(ctx)
	rememberMembers(at, planned.ID.ValueString(), want.VIP)
	if d.HasError() || planned.Name.IsUnknown() || !planned.addressesKnown(ctx) || len(want.Addresses) == 0 {
		return
	}
	mine := at.Claim.MayTake
	var prior keepalived.VIP
	if state != nil {
		was, _ := state.toSpec(ctx)
		prior = was.VIP
		if was.Name == want.Name && was.RouterID == want.RouterID && slices.Equal(was.Addresses, want.Addresses) && sameMachines(was.Members, want.Members) && slices.Equal(was.Track, want.Track) {
			return // it stands already, so nobody is asked
		}
		mine = at.Claim.Owns
	}
	refuseLeased(want.VIP, listForeignLeased(ctx, at.ProviderData, want.VIP), diags)
	s := vip.New(machinesOf(at), at.Claim, want.Name, want.Members)
	views, problems := s.CheckMachines(ctx, &want.VIP, mine, func(m keepalived.Member) bool { return isPlanned(at.ProviderData, m) })
	diags.Append(crud.Diagnostics(problems)...)
	if !diags.HasError() {
		plannedAnew := func(h addressuse.Holder, machine string) bool { return isPlannedAnew(at.Ledger, h, machine) }
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

// rememberMembers tells the rest of the run, such as data sources, which members the VIP of an id has.
func rememberMembers(at crud.StoreContext, id string, v keepalived.VIP) {
	if id != "" && !slices.Contains(vip.ListServiceNodes(v.Members), "") {
		at.Run.VIPs.Store(id, v.Members)
	}
}

// askLimit bounds what planning asks of hypervisors and machines: what cannot be asked now is told by the apply.
const askLimit = 10 * time.Second

// isPlanned says whether the plan makes a bridge that a member's interface may be: a machine has many names, and the plan knows one of
// its bridges by another one perhaps.
func isPlanned(provided crud.ProviderData, m keepalived.Member) bool {
	return planuses.PlansBridge(provided.Ledger, m.Interface, func(string) bool { return true })
}

// isPlannedAnew says whether the plan says what a holder of this state has from then on. A device that inherits its addresses keeps them.
func isPlannedAnew(plan planuses.View, h addressuse.Holder, machine string) bool {
	if h.Kind != addressuse.Bridge && h.Kind != addressuse.Interface {
		return true
	}
	_, known := plan.Find(planuses.Use{Kind: planuses.KnownAddresses, On: host.WithoutKey(machine), Value: h.Name})
	return known
}
