package vip

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	planuses "github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/vip"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// planChange fills in the defaults that depend on other values, and checks what is more than one value's.
func planChange(ctx context.Context, opening crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
	var state *model
	if !req.State.Raw.IsNull() {
		state = &model{}
		resp.Diagnostics.Append(req.State.Get(ctx, state)...)
		state.Assigned = planned.Assigned // recalled from private state: what a machine has instead is drift
	}
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	planDefaults(ctx, resp, planned, state, config)
	if resp.Diagnostics.HasError() {
		return
	}
	switch {
	case state == nil:
	case ownerHandsOver(ctx, opening, state):
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("owner"), types.StringUnknown())...)
	case isVacated(ctx, opening, state):
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("owner"), types.StringUnknown())...)
		resp.Diagnostics.AddAttributeWarning(path.Root("owner"), "Nobody holds the addresses",
			"keepalived runs on every member, and none has all addresses on its device: something else took them away. The apply has the members take them again.")
	case !resp.Plan.Raw.Equal(req.State.Raw):
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("owner"), planOwner(ctx, planned, state))...)
	}
	checkPassword(ctx, *planned, config, &resp.Diagnostics)
	checkMembers(*planned, &resp.Diagnostics)
	want, _ := config.toSpec(ctx)
	for i, m := range readMembers(config.Members) {
		if m.Priority.Equal(types.Int64Value(vip.Stopped)) {
			resp.Diagnostics.Append(crud.Diagnostic("Invalid priority", service.At(want.At(i, "priority"), errors.New("must be 1 to 254, not 0"))))
		}
	}
	if opening.Fleet != nil && !resp.Diagnostics.HasError() {
		crossCheck(ctx, opening, planned, state, req.Config.Raw.IsFullyKnown(), &resp.Diagnostics)
	}
}

// ownerHandsOver says whether the addresses leave their owner for good by what else this run does: a frontend at them goes from it, or
// has gone in the same apply, and where nobody preempts they stay where they went.
func ownerHandsOver(ctx context.Context, opening crud.StoreContext, state *model) bool {
	was, _ := state.toSpec(ctx)
	owner, held := state.readInstances(ctx)[state.Owner.ValueString()]
	return held && opening.Run != nil && !was.Preempt && (opening.Run.HandOvers.HaveMoved(was.Addresses) || isReached(opening.Ledger, owner.ServiceNode.ValueString(), was.ListAddresses()))
}

// isReached says whether one of the addresses leads to a frontend that goes from a service node; one that listens at all of them is
// reached at each.
func isReached(plan planuses.View, serviceNode string, addresses []netip.Addr) bool {
	return slices.ContainsFunc(plan.List(planuses.RemovedListener), func(u planuses.Held) bool {
		l, err := netip.ParseAddr(u.Value)
		return err == nil && u.On == host.WithoutKey(serviceNode) && (l.IsUnspecified() || slices.Contains(addresses, l))
	})
}

// isVacated says whether nobody holds the addresses, though the members run: an apply mends that.
func isVacated(ctx context.Context, opening crud.StoreContext, state *model) bool {
	if opening.Fleet == nil || !state.Owner.IsNull() {
		return false
	}
	was, diags := state.toSpec(ctx)
	return !diags.HasError() && vip.New(machinesOf(opening), opening.Claim, was.Name, was.Members).IsVacant(ctx, was.VIP)
}

// planOwner returns the owner as it is where the change has no say in who holds the addresses, by its name after the change, and
// unknown where it has.
func planOwner(ctx context.Context, planned, state *model) types.String {
	was, _ := state.toSpec(ctx)
	want, _ := planned.toSpec(ctx)
	if planned.Track.IsUnknown() || was.Preempt != want.Preempt || was.SyncGroup != want.SyncGroup || !slices.Equal(was.Addresses, want.Addresses) || !slices.Equal(was.Track, want.Track) {
		return types.StringUnknown()
	}
	weighs := slices.ContainsFunc(want.Track, func(t keepalived.Track) bool { return t.Weight != 0 })
	name, stays := findOwnerAfter(state.Owner.ValueString(), state.readInstances(ctx), planned.readInstances(ctx), want.Preempt, weighs)
	if !stays {
		return types.StringUnknown()
	}
	return types.StringValue(name)
}

// findOwnerAfter returns what the owner of the addresses is called after a change of the members, where it is the same machine for sure: it
// stays as it is, and nobody that comes or changes is to have more priority. weighs says that priorities are more than what is
// written.
func findOwnerAfter(owner string, before, after map[string]member, preempt, weighs bool) (string, bool) {
	was, held := before[owner]
	name := ""
	for called, m := range after {
		if m.ServiceNode.Equal(was.ServiceNode) {
			name = called
		}
	}
	if !held || name == "" {
		return "", false
	}
	if sameInstances(before, after) {
		return name, true
	}
	if weighs || !after[name].isSame(was) {
		return "", false
	}
	for _, m := range after {
		as := func(b member) bool { return b.isSame(m) }
		comes := !slices.ContainsFunc(slices.Collect(maps.Values(before)), as)
		if comes && preempt && (m.Priority.IsUnknown() || m.Priority.ValueInt64() > was.Priority.ValueInt64()) {
			return "", false
		}
	}
	return name, true
}

func planDefaults(ctx context.Context, resp *resource.ModifyPlanResponse, planned, state *model, config model) {
	put := func(name string, value any) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), value)...)
	}
	if planned.RouterID.IsUnknown() && config.RouterID.IsNull() && !planned.Name.IsUnknown() {
		planned.RouterID = types.Int64Value(int64(alloc.VirtualRouterIDOf(planned.Name.ValueString())))
		put("virtual_router_id", planned.RouterID)
	}
	planMembers(ctx, planned, state, config, &resp.Diagnostics)
	put("members", planned.Members)
	put("instances", planned.Instances)
	// An id of what is still to be made is not known: what refers to it waits until the VIP is there by that id.
	if state != nil && !planned.Name.IsUnknown() && planned.addressesKnown(ctx) && planned.formatID() == state.ID.ValueString() {
		planned.ID = state.ID
		put("id", planned.ID)
	}
}

// versionByFamily plans a version that is left out, also where the members have another one, which is drift. It is an attribute's modifier as what
// is planned is checked before planChange: version 3 has no password.
type versionByFamily struct{ values.Undescribed }

func (versionByFamily) PlanModifyInt64(ctx context.Context, req planmodifier.Int64Request, resp *planmodifier.Int64Response) {
	var m model
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("addresses"), &m.Addresses)...)
	if req.ConfigValue.IsNull() && !resp.Diagnostics.HasError() && m.addressesKnown(ctx) {
		resp.PlanValue = types.Int64Value(int64(defaultVersion(m.readAddresses(ctx, &diag.Diagnostics{}))))
	}
}

// planMembers plans the instances, and keeps the members as the state has them where they mean the same.
func planMembers(ctx context.Context, planned, state *model, config model, diags *diag.Diagnostics) {
	planned.Members = config.Members // nothing that is left out there becomes known later: that is in the instances
	if config.Members.IsUnknown() {
		planned.Instances = types.MapUnknown(memberType)
		return
	}
	members := readMembers(config.Members)
	planned.Instances = planInstances(ctx, members, state, diags)
	if state == nil {
		return
	}
	before := readMembers(state.Members)
	if slices.EqualFunc(members, before, func(a, b member) bool { return a.Name == b.Name }) && planInstances(ctx, before, state, diags).Equal(planned.Instances) {
		planned.Members = state.Members
	}
}

func sameAddress(a, b types.String) bool {
	x, err := netip.ParseAddr(a.ValueString())
	y, err2 := netip.ParseAddr(b.ValueString())
	return err == nil && err2 == nil && x == y
}

func (m *model) addressesKnown(ctx context.Context) bool {
	v, err := m.Addresses.ToTerraformValue(ctx)
	return err == nil && v.IsFullyKnown()
}

// checkPassword checks the write-only password, which is in no plan.
func checkPassword(ctx context.Context, planned, config model, diags *diag.Diagnostics) {
	if !convert.Known(config.AuthPassWO) {
		return
	}
	planned.AuthPassWO = config.AuthPassWO
	full, _ := planned.toSpec(ctx)
	for _, p := range full.Validate() {
		if p.Path[0] == "auth_pass" {
			diags.AddAttributeError(path.Root("auth_pass_wo"), p.Summary, p.Detail)
		}
	}
}

func checkMembers(planned model, diags *diag.Diagnostics) {
	if len(planned.Members.Elements()) == 1 {
		diags.AddAttributeWarning(path.Root("members"), "Fewer than two members",
			"With 1 member nobody takes over when it fails: add another service node to members.")
	}
}
