package addresspool

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// planChange refuses a pool that gives out what DHCP gives out too, or has reserved.
func planChange(ctx context.Context, at crud.Opening, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if at.Fleet == nil || !m.isKnown() {
		return
	}
	want, diags := m.toSpec()
	if diags.HasError() {
		return
	}
	ranges := make([]planregistry.Range, 0, len(want.Ranges))
	for _, run := range want.Ranges {
		ranges = append(ranges, planregistry.Range{Start: run.From(), End: run.To()})
	}
	holder := fmt.Sprintf("address pool %q on %s", want.Name, m.ServiceNode.ValueString())
	for _, l := range at.Registry.Ranges.ReplacePool(holder, ranges...) {
		refuseOverlap(resp, ranges, l.Range, fmt.Sprintf("that %s hands out", l.Network))
	}
	if req.State.Raw.IsNull() {
		refusePlanned(at, want, resp, planregistry.Pool{Node: host.ShortenReferences(m.ServiceNode.ValueString()), Name: want.Name})
	}
	refuseShared(ctx, at, want, ranges, resp, m.ServiceNode.ValueString())
	if req.State.Raw.IsNull() || !req.State.Raw.Equal(req.Plan.Raw) {
		crossCheck(ctx, at, want, ranges, resp)
	}
}

// refuseOverlap reports that a range of the pool overlaps what somebody else gives out.
func refuseOverlap(resp *resource.ModifyPlanResponse, ranges []planregistry.Range, other planregistry.Range, whose string) {
	for i, run := range ranges {
		if run.Overlaps(other) {
			resp.Diagnostics.AddAttributeError(path.Root("ranges").AtListIndex(i), "Pool overlaps DHCP",
				fmt.Sprintf("%s overlaps %s %s, so two machines could have one address: end the range before it", run, other, whose))
		}
	}
}

// refusePlanned reports addresses of a pool that the plan makes which another resource of the plan has.
func refusePlanned(at crud.Opening, want addresspool.Pool, resp *resource.ModifyPlanResponse, pool planregistry.Pool) {
	stock := want.GivesOut()
	at.Registry.Pools.Make(pool, stock)
	gives := func(a netip.Addr) bool { return stock(a) && !at.Registry.Pools.IsDrawn(a) }
	refuse := func(address, whose string) {
		resp.Diagnostics.AddAttributeError(path.Root("ranges"), "Pool gives out what somebody has",
			fmt.Sprintf("%s belongs to %s: end a range before it, or write it into reserved, so that it is never given out", address, whose))
	}
	for _, c := range at.Registry.Claims.ListAddresses(gives) {
		refuse(c.Claim.String(), c.Holder)
	}
	for _, l := range at.Registry.Listed.List(gives) {
		refuse("IP address "+l.Address.String(), fmt.Sprintf("%s in the dhcp.hosts of network %q", l.MAC, l.Network))
	}
}

// refuseShared reports ranges that another pool of the machine gives out too: one of the plan, or another state's.
func refuseShared(ctx context.Context, at crud.Opening, want addresspool.Pool, ranges []planregistry.Range, resp *resource.ModifyPlanResponse, node string) {
	shared := func(i int, words string) {
		resp.Diagnostics.AddAttributeError(path.Root("ranges").AtListIndex(i), "Pools overlap", words)
	}
	for _, s := range at.Registry.Pools.Replace(planregistry.Pool{Node: host.ShortenReferences(node), Name: want.Name}, ranges...) {
		shared(s.Run, addresspool.SharingWords(ranges[s.Run].String(), s.Range.String(), fmt.Sprintf("pool %q", s.Other.Name)))
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
func crossCheck(ctx context.Context, at crud.Opening, want addresspool.Pool, ranges []planregistry.Range, resp *resource.ModifyPlanResponse) {
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
			if at.Registry.Claims.Holder(planregistry.NetworkClaim(name, out.Network)) != "" {
				continue // the plan says what it will have
			}
			whose := fmt.Sprintf("that network %q on hypervisor %s hands out", out.Network, client.URI())
			if out.For != "" {
				whose = fmt.Sprintf("where network %q on hypervisor %s keeps %s", out.Network, client.URI(), out.For)
			}
			refuseOverlap(resp, ranges, planregistry.Range{Start: out.Range.Start, End: out.Range.End}, whose)
		}
	}
}

// sameRanges keeps the spelling in state where the configuration's has the same addresses in the same order.
type sameRanges struct{}

func (sameRanges) Description(context.Context) string {
	return "Two spellings of one range are no change."
}

func (s sameRanges) MarkdownDescription(ctx context.Context) string { return s.Description(ctx) }

func (sameRanges) PlanModifyList(_ context.Context, req planmodifier.ListRequest, resp *planmodifier.ListResponse) {
	var ignored diag.Diagnostics
	planned, stored := parseRanges(req.PlanValue, req.Path, &ignored), parseRanges(req.StateValue, req.Path, &ignored)
	if !req.StateValue.IsNull() && len(stored) == len(req.PlanValue.Elements()) && slices.Equal(planned, stored) {
		resp.PlanValue = req.StateValue
	}
}
