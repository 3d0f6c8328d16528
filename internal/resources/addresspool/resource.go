// Package addresspool is the resource virtcluster_address_pool.
package addresspool

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"go4.org/netipx"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	planuses "github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// form is what an id looks like.
const form = "SERVICE_NODE#NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, addresspool.Pool]{
		Form: form, Name: "name", Part: addresspool.NewPoolPart, Names: addresspool.ListNames,
		Type: crud.Type[model, addresspool.Pool]{
			Name:   "address_pool",
			Noun:   "address pool",
			Schema: resourceSchema,
			Spec:   toSpec,
			Fill:   fillModel,
			Plan:   planChange,
		},
	})
}

// ranges is what an element of the pool's lists is.
var ranges = values.New("range", "10.0.0.10-10.0.0.19", func(text string) error {
	_, err := addresspool.ParseRange(text)
	return err
}).Same(func(text string) string {
	run, err := addresspool.ParseRange(text)
	if err != nil {
		return text
	}
	return addresspool.FormatRange(run)
})

func resourceSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Addresses to be given out, one each, to whatever needs one: `virtcluster_address` draws from it. The pool is kept on a machine, under a lock, " +
			"so that several states draw from it without ever getting the same address.",
		Attributes: map[string]schema.Attribute{
			"id":           hostattr.ID(form),
			"service_node": values.Endpoint.Required("Machine that keeps the pool: the `id` of a `virtcluster_service_node`, or an endpoint such as `ssh://root@kvm1.example` or `local:`. Another one replaces the resource.", hostattr.OtherMachineReplaces()...),
			"name":         values.Name.Required("Name of the pool on the machine: letters, digits, dots, dashes and underscores. Another one replaces the resource.", stringplanmodifier.RequiresReplace()),
			"ranges": values.Each(ranges).Some().RequiredList("What the pool has: runs such as `10.0.0.10-10.0.0.19`, both ends included, subnets such as `10.0.0.0/28`, all of whose addresses count, or single addresses. "+
				"They must be in no DHCP range, and in no other pool of the machine. Ranges can grow at any time; they can be cut by what is not drawn.", values.Each(ranges).KeepSpelling()),
			"reserved":        values.Each(ranges).OptionalList("What of the ranges is never given out, written as these are: gateways, machines that are there already. Default: nothing.", values.Each(ranges).KeepSpelling()),
			"avoid_buggy_ips": values.Flag.Default(false, "Never give out IPv4 addresses that end in `.0` or `.255`, which some routers and clients take for a network's own and its broadcast address. Default: `false`."),
		},
	}
}

type model struct {
	ID            types.String `tfsdk:"id"`
	ServiceNode   types.String `tfsdk:"service_node"`
	Name          types.String `tfsdk:"name"`
	Ranges        types.List   `tfsdk:"ranges"`
	Reserved      types.List   `tfsdk:"reserved"`
	AvoidBuggyIPs types.Bool   `tfsdk:"avoid_buggy_ips"`
}

func toSpec(_ context.Context, m *model) (addresspool.Pool, diag.Diagnostics) {
	var diags diag.Diagnostics
	p := addresspool.Pool{Name: m.Name.ValueString(), AvoidBuggyIPs: m.AvoidBuggyIPs.ValueBool()}
	p.Ranges = parseRanges(m.Ranges, path.Root("ranges"), &diags)
	p.Reserved = parseRanges(m.Reserved, path.Root("reserved"), &diags)
	return p, diags
}

// parseRanges reads the runs of a list; unknown ones are left out.
func parseRanges(list types.List, at path.Path, diags *diag.Diagnostics) []netipx.IPRange {
	var runs []netipx.IPRange
	for i, e := range list.Elements() {
		text, ok := e.(types.String)
		if !ok || text.IsUnknown() {
			continue
		}
		run, err := addresspool.ParseRange(text.ValueString())
		if err != nil {
			diags.AddAttributeError(at.AtListIndex(i), "Invalid range", err.Error())
			continue
		}
		runs = append(runs, run)
	}
	return runs
}

// isKnown says whether everything that makes the pool up is.
func (m *model) isKnown() bool {
	unknown := func(e attr.Value) bool { return e.IsUnknown() }
	return !m.ServiceNode.IsUnknown() && !m.Name.IsUnknown() && !m.Ranges.IsUnknown() && !m.Reserved.IsUnknown() &&
		!slices.ContainsFunc(m.Ranges.Elements(), unknown) && !slices.ContainsFunc(m.Reserved.Elements(), unknown)
}

func fillModel(_ context.Context, m *model, got addresspool.Pool) diag.Diagnostics {
	m.AvoidBuggyIPs = types.BoolValue(got.AvoidBuggyIPs)
	m.Ranges, m.Reserved = convert.List(addresspool.FormatRanges(got.Ranges)), convert.ListOrNull(addresspool.FormatRanges(got.Reserved))
	return nil
}

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
