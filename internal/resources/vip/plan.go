package vip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
)

// plan fills in the defaults that depend on other values, and checks what is more than one value's.
func plan(ctx context.Context, opening crud.Opening, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
	var state *model
	if !req.State.Raw.IsNull() {
		state = &model{}
		resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	}
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	planDefaults(ctx, resp, planned, state, config)
	if resp.Diagnostics.HasError() {
		return
	}
	if state != nil && !resp.Plan.Raw.Equal(req.State.Raw) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("owner"), plannedOwner(ctx, planned, state))...)
	}
	checkPassword(ctx, *planned, config, &resp.Diagnostics)
	checkMembers(*planned, &resp.Diagnostics)
	for i, m := range elements[member](ctx, config.Members, &resp.Diagnostics) {
		if m.Priority.Equal(types.Int64Value(stopped)) {
			resp.Diagnostics.Append(crud.Diagnostic("Invalid priority", memberError(i, "priority", errors.New("must be 1 to 254, not 0"))))
		}
	}
	if opening.Fleet != nil && !resp.Diagnostics.HasError() {
		crossCheck(ctx, opening, planned, state, &resp.Diagnostics)
	}
}

// plannedOwner is the owner as it is where the change has no say in who holds the addresses, and unknown where it has.
func plannedOwner(ctx context.Context, planned, state *model) types.String {
	was, _ := state.spec(ctx)
	want, _ := planned.spec(ctx)
	stays := was.Preempt == want.Preempt && was.SyncGroup == want.SyncGroup && slices.Equal(was.Addresses, want.Addresses) &&
		slices.Equal(was.Members, want.Members) && slices.Equal(was.Track, want.Track)
	if stays && !state.Owner.IsNull() && !planned.Track.IsUnknown() {
		return state.Owner
	}
	return types.StringUnknown()
}

func planDefaults(ctx context.Context, resp *resource.ModifyPlanResponse, planned, state *model, config model) {
	put := func(name string, value any) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), value)...)
	}
	if planned.RouterID.IsUnknown() && !planned.Name.IsUnknown() {
		planned.RouterID = types.Int64Value(int64(alloc.VirtualRouterIDOf(planned.Name.ValueString())))
		put("virtual_router_id", planned.RouterID)
	}
	if planned.Version.IsUnknown() && planned.addressesKnown(ctx) {
		planned.Version = types.Int64Value(int64(defaultVersion(planned.addresses(ctx, &diag.Diagnostics{}))))
		put("version", planned.Version)
	}
	if planned.Members.IsUnknown() {
		return
	}
	planMembers(ctx, planned, state, config, &resp.Diagnostics)
	put("members", planned.Members)
	known := !planned.Name.IsUnknown()
	for _, m := range elements[member](ctx, planned.Members, &resp.Diagnostics) {
		known = known && !m.ServiceNode.IsUnknown()
	}
	if known {
		planned.ID = types.StringValue(planned.id())
		put("id", planned.ID)
	}
}

// planMembers gives members without a priority the one of their place, and those without an address the one
// that they had, whatever their place was.
func planMembers(ctx context.Context, planned, state *model, config model, diags *diag.Diagnostics) {
	members := elements[member](ctx, planned.Members, diags)
	written := elements[member](ctx, config.Members, diags)
	var before []member
	if state != nil {
		before = elements[member](ctx, state.Members, diags)
	}
	for i, m := range members {
		if i < len(written) && written[i].Priority.IsNull() || m.Priority.Equal(types.Int64Value(stopped)) {
			members[i].Priority = types.Int64Value(int64(max(firstPriority-i*priorityStep, priorityStep)))
		}
		if i < len(written) && written[i].Address.IsNull() && m.Address.IsNull() {
			members[i].Address = types.StringUnknown() // its machine had another one when the state was made
		}
		j := slices.IndexFunc(before, func(b member) bool { return !m.ServiceNode.IsUnknown() && b.ServiceNode.Equal(m.ServiceNode) })
		if j >= 0 && !before[j].Address.IsNull() && (m.Address.IsUnknown() && m.Interface.Equal(before[j].Interface) || sameAddress(m.Address, before[j].Address)) {
			members[i].Address = before[j].Address
		}
	}
	list, d := types.ListValueFrom(ctx, memberType, members)
	diags.Append(d...)
	planned.Members = list
}

// firstPriority and priorityStep make the default priorities: high ones take over quickly.
const firstPriority, priorityStep = 250, 10

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
	if config.AuthPassWO.IsNull() || config.AuthPassWO.IsUnknown() {
		return
	}
	planned.AuthPassWO = config.AuthPassWO
	full, _ := planned.spec(ctx)
	for _, p := range full.Validate() {
		if p.Path[0] == "auth_pass" {
			diags.AddAttributeError(path.Root("auth_pass_wo"), p.Summary, p.Detail)
		}
	}
}

func checkMembers(planned model, diags *diag.Diagnostics) {
	if n := len(planned.Members.Elements()); !planned.Members.IsUnknown() && n < 2 {
		diags.AddAttributeWarning(path.Root("members"), "Fewer than two members",
			fmt.Sprintf("With %d member nobody takes over when it fails: add another service node to members.", n))
	}
}

// sameAddresses keeps the state's spelling of addresses that mean the same.
type sameAddresses struct{}

func (sameAddresses) Description(context.Context) string {
	return "Two spellings of an address are one."
}

func (s sameAddresses) MarkdownDescription(ctx context.Context) string { return s.Description(ctx) }

func (sameAddresses) PlanModifyList(ctx context.Context, req planmodifier.ListRequest, resp *planmodifier.ListResponse) {
	if req.StateValue.IsNull() || req.PlanValue.IsUnknown() {
		return
	}
	var diags diag.Diagnostics
	was := (&model{Addresses: req.StateValue}).addresses(ctx, &diags)
	now := (&model{Addresses: req.PlanValue}).addresses(ctx, &diags)
	if !diags.HasError() && slices.Equal(was, now) {
		resp.PlanValue = req.StateValue
	}
}
