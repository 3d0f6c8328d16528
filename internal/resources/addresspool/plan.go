package addresspool

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"go4.org/netipx"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	planuses "github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// planChange refuses a pool that gives out what DHCP gives out too, or has reserved.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if at.Fleet == nil || !m.isKnown() {
		return
	}
	want, diags := toSpec(ctx, m)
	if diags.HasError() {
		return
	}
	refuseShared(ctx, at, want, resp, m.ServiceNode.ValueString())
	if req.State.Raw.IsNull() || !req.State.Raw.Equal(req.Plan.Raw) {
		crossCheck(ctx, at, want, resp)
	}
}

// refuseOverlap reports that a range of the pool overlaps what somebody else gives out.
func refuseOverlap(resp *resource.ModifyPlanResponse, ranges []netipx.IPRange, other planuses.Span, whose string) {
	for i, r := range ranges {
		if run := (planuses.Span{First: r.From(), Last: r.To()}); run.Overlaps(other) {
			resp.Diagnostics.AddAttributeError(path.Root("ranges").AtListIndex(i), "Pool overlaps DHCP",
				fmt.Sprintf("%s overlaps %s %s, so two machines could have one address: end the range before it", run, other, whose))
		}
	}
}

// refuseShared reports ranges that another state's pool of the machine gives out too.
func refuseShared(ctx context.Context, at crud.StoreContext, want addresspool.Pool, resp *resource.ModifyPlanResponse, node string) {
	shared := func(i int, words string) {
		resp.Diagnostics.AddAttributeError(path.Root("ranges").AtListIndex(i), "Pools overlap", words)
	}
	h, err := at.Fleet.Host(ctx, node)
	if err != nil {
		return // the apply says so
	}
	tree, err := at.Fleet.Engine.Snapshot(ctx, h, addresspool.Daemon{})
	if err != nil {
		return
	}
	resp.Diagnostics.Append(crud.Diagnostics(addresspool.LeftOut(tree, want))...)
	// What this state has besides is in the plan, where it may change.
	others := func(m owner.Mark) bool { return m.Workspace != owner.Workspace() && !at.Claim.Owns(m) }
	for _, s := range addresspool.Shared(tree, want, others) {
		shared(s.Range, s.Words)
	}
}

// crossCheck compares the pool with the networks on the provider's hypervisors that the plan leaves as they are.
func crossCheck(ctx context.Context, at crud.StoreContext, want addresspool.Pool, resp *resource.ModifyPlanResponse) {
	for _, name := range at.Fleet.Names() {
		client, err := at.Fleet.Hypervisor(ctx, name)
		var all []network.HandedOut
		if err == nil {
			all, err = network.ListHandedOut(ctx, client)
		}
		if err != nil {
			tflog.Debug(ctx, "cannot compare a pool with the hypervisor's networks", map[string]any{"pool": want.Name, "hypervisor": name, "error": err.Error()})
			continue
		}
		for _, out := range all {
			if network.Changes(at.Ledger, name, out.Network) {
				continue // the plan says what it will have
			}
			whose := fmt.Sprintf("that network %q on hypervisor %s hands out", out.Network, client.URI())
			if out.For != "" {
				whose = fmt.Sprintf("where network %q on hypervisor %s keeps %s", out.Network, client.URI(), out.For)
			}
			refuseOverlap(resp, want.Ranges, planuses.Span{First: out.Range.Start, Last: out.Range.End}, whose)
		}
	}
}
