package vip

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	planuses "github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
)

// crossCheck looks for what a VIP would collide with beyond the plan: the DHCP ranges of networks on the hypervisors, and what its
// machines have. known says that nothing of its configuration is unknown.
func crossCheck(ctx context.Context, at crud.Opening, planned, state *model, known bool, diags *diag.Diagnostics) {
	f := at.Fleet
	want, d := planned.spec(ctx)
	rememberMembers(at.Registry, planned.ID.ValueString(), want.VIP)
	if d.HasError() || planned.Name.IsUnknown() || !planned.addressesKnown(ctx) || len(want.Addresses) == 0 {
		return
	}
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
	s := &store{fleet: f, claim: at.Claim, members: want.Members, name: want.Name}
	views := checkMachines(ctx, s, at.Provided, &want.VIP, mine, diags)
	if !diags.HasError() {
		s.refuseTakenOnMachines(ctx, at.Ledger, prior, want.VIP, views, diags)
	}
	if known && !diags.HasError() {
		tryMachines(ctx, views, want.VIP, diags)
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
func rememberMembers(r *planregistry.Registry, id string, v keepalived.VIP) {
	if id == "" || slices.Contains(listServiceNodes(v.Members), "") {
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
	return planuses.PlansBridge(provided.Ledger, m.Interface, func(string) bool { return true })
}

// checkMachines compares with the machines that can be asked: interfaces, addresses, that all members are on one segment, and
// that an instance of the name is the VIP's own. It completes the members' addresses, and returns what the machines have.
func checkMachines(ctx context.Context, s *store, provided crud.Provided, v *keepalived.VIP, mine func(owner.Mark) bool, diags *diag.Diagnostics) views {
	if len(v.Members) == 0 || slices.ContainsFunc(v.Members, func(m keepalived.Member) bool { return m.ID == "" }) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	views, errs := s.lookAtMachines(ctx, listServiceNodes(v.Members), v.Name)
	for id, err := range errs {
		tflog.Debug(ctx, "cannot compare a VIP with its machine", map[string]any{"member": id, "error": err.Error()})
	}
	var first netip.Prefix
	for i, m := range v.Members {
		seen := views.findView(m.ID)
		if seen.host == nil {
			continue
		}
		if err := s.refuseForeign(seen, mine, v.Name); err != nil {
			diags.Append(crud.Diagnostic("Name taken", placeInMember(*v, i, "service_node", err)))
			continue
		}
		if err := s.refuseGroup(seen, *v); err != nil {
			diags.Append(crud.Diagnostic("Sync group of another state", err))
			continue
		}
		if !seen.hasDevice(m.Interface) && isPlanned(provided, m) {
			continue // the apply says whether it fits
		}
		if m.Interface != "" {
			if err := checkMember(v, i, seen); err != nil {
				diags.Append(crud.Diagnostic("Member does not fit its machine", err))
				continue
			}
		}
		own := seen.links.findPrefix(m.Interface, v.Members[i].Address)
		switch {
		case !own.IsValid():
		case !first.IsValid():
			first = own.Masked()
		case own.Masked() != first:
			diags.Append(crud.Diagnostic("Members on unlike segments", placeInMember(*v, i, "interface", fmt.Errorf(
				"%s on %s is in %s, and the first member in %s: VRRP needs all members on one segment", m.Interface, seen.host, own.Masked(), first))))
		}
	}
	return views
}
