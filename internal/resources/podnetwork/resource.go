// Package podnetwork is the resource virtcluster_pod_network: an allocation that lives in the state alone.
package podnetwork

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

var (
	_ resource.ResourceWithConfigure   = (*podNetwork)(nil)
	_ resource.ResourceWithImportState = (*podNetwork)(nil)
	_ resource.ResourceWithIdentity    = (*podNetwork)(nil)
	_ resource.ResourceWithModifyPlan  = (*podNetwork)(nil)
)

type podNetwork struct{ crud.Base }

// New is the constructor that the provider offers.
func New() resource.Resource {
	return &podNetwork{crud.Base{Name: "pod_network", Key: []string{"id"}}}
}

// Metadata implements resource.Resource. The identity has the nodes, which come and go in place.
func (r *podNetwork) Metadata(ctx context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	r.Base.Metadata(ctx, req, resp)
	resp.ResourceBehavior.MutableIdentity = true
}

func (r *podNetwork) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = resourceSchema(ctx)
}

// ModifyPlan divides the network, so that what depends on it is known before anything is made.
func (r *podNetwork) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	var m, prior model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(m.divideNetwork(prior.podSubnets())...)
	if resp.Diagnostics.HasError() {
		return
	}
	if r.Fleet != nil {
		r.crossCheck(ctx, &m, &prior, resp)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &m)...)
}

func (r *podNetwork) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if r.RefuseOffline("create", "pod network "+m.CIDR.String(), &resp.Diagnostics) {
		return
	}
	m.ID = m.CIDR
	resp.Diagnostics.Append(m.divideNetwork(m.podSubnets())...)
	r.storeModel(ctx, &m, &resp.State, resp.Identity, &resp.Diagnostics)
}

// storeModel stores the model, unless there was an error.
func (r *podNetwork) storeModel(ctx context.Context, m *model, state *tfsdk.State, identity *tfsdk.ResourceIdentity, diags *diag.Diagnostics) {
	if diags.HasError() {
		return
	}
	diags.Append(state.Set(ctx, m)...)
	diags.Append(m.identify(ctx, identity)...)
}

func (r *podNetwork) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m model
	if resp.Diagnostics.Append(req.State.Get(ctx, &m)...); !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(m.identify(ctx, resp.Identity)...)
	}
}

// identify stores what an import takes as the identity; a CLI without identities has none.
func (m *model) identify(ctx context.Context, identity *tfsdk.ResourceIdentity) diag.Diagnostics {
	if identity == nil {
		return nil
	}
	return identity.SetAttribute(ctx, path.Root("id"), m.formatImport())
}

func (r *podNetwork) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, prior model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if r.RefuseOffline("update", "pod network "+m.CIDR.String(), &resp.Diagnostics) {
		return
	}
	m.ID = prior.ID
	resp.Diagnostics.Append(m.divideNetwork(prior.podSubnets())...)
	r.storeModel(ctx, &m, &resp.State, resp.Identity, &resp.Diagnostics)
}

// Delete has nothing to remove.
func (r *podNetwork) Delete(_ context.Context, _ resource.DeleteRequest, resp *resource.DeleteResponse) {
	r.RefuseOffline("delete", "the pod network", &resp.Diagnostics)
}

// form is what an import takes: nothing but the state knows which node has which subnet.
const form = "CIDR,HOST_PREFIX,NAME=ADDRESS=POD_CIDR,…"

// ImportState reads the whole allocation out of the id, or of that of the identity from an import block.
func (r *podNetwork) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	id := req.ID
	if id == "" && req.Identity != nil {
		resp.Diagnostics.Append(req.Identity.GetAttribute(ctx, path.Root("id"), &id)...)
	}
	m, err := parseImport(id)
	if err != nil {
		resp.Diagnostics.AddError(fmt.Sprintf("Cannot import pod network %q", id), fmt.Sprintf("write %s, such as \"10.128.0.0/14,23,master-1=10.0.0.1=10.128.0.0/23\": %s", form, err))
		return
	}
	resp.Diagnostics.Append(m.divideNetwork(m.podSubnets())...)
	r.storeModel(ctx, &m, &resp.State, resp.Identity, &resp.Diagnostics)
}

// formatImport returns what an import takes: parseImport undoes it.
func (m *model) formatImport() string {
	words := []string{m.CIDR.ValueString(), strconv.FormatInt(m.HostPrefix.ValueInt64(), 10)}
	subnets := m.podSubnets()
	for _, name := range slices.Sorted(maps.Keys(subnets)) {
		if address, is := m.Nodes.Elements()[name].(types.String); is {
			words = append(words, name+"="+address.ValueString()+"="+subnets[name].String())
		}
	}
	return strings.Join(words, ",")
}

func parseImport(id string) (model, error) {
	words := strings.Split(id, ",")
	if len(words) < 2 {
		return model{}, fmt.Errorf("%d of at least 2 parts", len(words))
	}
	bits, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil {
		return model{}, fmt.Errorf("%q is no prefix length", words[1])
	}
	nodes, cidrs := map[string]attr.Value{}, map[string]attr.Value{}
	for _, word := range words[2:] {
		parts := strings.Split(word, "=")
		if len(parts) != 3 {
			return model{}, fmt.Errorf("%q is not NAME=ADDRESS=POD_CIDR", word)
		}
		if _, err := netip.ParsePrefix(parts[2]); err != nil {
			return model{}, err
		}
		nodes[parts[0]], cidrs[parts[0]] = types.StringValue(parts[1]), types.StringValue(parts[2])
	}
	return model{
		ID: types.StringValue(words[0]), CIDR: types.StringValue(words[0]), HostPrefix: types.Int64Value(bits),
		Nodes: types.MapValueMust(types.StringType, nodes), PodCIDRs: types.MapValueMust(types.StringType, cidrs),
	}, nil
}

// crossCheck looks for a network of the plan, or of the provider's hypervisor, that the pod network overlaps.
func (r *podNetwork) crossCheck(ctx context.Context, m, prior *model, resp *resource.ModifyPlanResponse) {
	cidr, known, _ := m.podPrefix()
	if !known {
		return
	}
	overlaps := func(other netip.Prefix, whose string) {
		resp.Diagnostics.AddAttributeError(path.Root("cidr"), "Overlapping subnets", fmt.Sprintf("%s overlaps %s %s: choose a network outside of it.", cidr, other, whose))
	}
	name := "pod network " + cidr.String()
	token, diags := crud.KeepToken(ctx, resp.Private) // two may have the same addresses
	resp.Diagnostics.Append(diags...)
	use := plan.Use{Kind: plan.PodSubnet, Value: cidr.String(), Span: plan.SpanOfPrefix(cidr), Path: []any{"cidr"}}
	for _, c := range r.Ledger.Register(plan.Holder{ID: token, Self: name, Name: name}, []plan.Use{use}) {
		resp.Diagnostics.AddAttributeError(path.Root("cidr"), c.Rule.Summary, c.Detail())
	}
	if !prior.CIDR.IsNull() && prior.CIDR.Equal(m.CIDR) {
		return // what leads to its own pods by now is no overlap
	}
	client, err := r.Fleet.Hypervisor(ctx, "")
	if err == nil {
		routes, routesErr := network.ListRoutesInTheWay(ctx, client)
		err = routesErr
		for _, route := range routes {
			if route.Destination.Overlaps(cidr) && !m.leadsToNode(route.Via) {
				overlaps(route.Destination, fmt.Sprintf("that hypervisor %s has a route to, by %s", client.URI(), route.Device))
			}
		}
	}
	if err != nil {
		// The pod network may be one of machines that no hypervisor of the provider runs.
		tflog.Warn(ctx, "cannot compare the pod network with the hypervisor's routes", map[string]any{"cidr": cidr.String(), "error": err.Error()})
	}
}

// leadsToNode says whether a router is one of the nodes: then the route is one to their pods.
func (m *model) leadsToNode(via netip.Addr) bool {
	var nodes []string
	for _, v := range m.Nodes.Elements() {
		if text, ok := v.(types.String); ok {
			nodes = append(nodes, text.ValueString())
		}
	}
	return via.IsValid() && slices.Contains(nodes, via.String())
}

// routeTypes are those of one route of a node's list.
var routeTypes = map[string]attr.Type{"cidr": types.StringType, "via": types.StringType}

var routesType = types.ListType{ElemType: types.ObjectType{AttrTypes: routeTypes}}

func resourceSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A pod network that is divided among nodes: a subnet of its own for each, and the routes of each node to the pods of all others. " +
			"A node that leaves or comes changes no other's subnet. It makes nothing on any machine: `routes` goes into the interfaces of a `virtcluster_node`, for the first boot, " +
			"and into `virtcluster_route`, on machines that run.",
		Attributes: map[string]schema.Attribute{
			"id":          values.KeptText("`CIDR`, as it was when the resource was made."),
			"cidr":        values.AddressInPrefix.Required("The pod network, such as `10.128.0.0/14`. It must not overlap a network of the configuration, or of the provider's hypervisor."),
			"host_prefix": values.Between(1, 128).Required("Prefix length of each node's subnet, such as 23."),
			"nodes":       values.Each(values.Address).Keys(values.Word).RequiredMap("Each node's own address, by its name: the routes to its pods lead there."),
			"pod_cidrs":   schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Each node's subnet, by its name."},
			"routes": schema.MapAttribute{
				Computed: true, ElementType: routesType,
				MarkdownDescription: "Each node's routes to the pods of all others, by its name: a list of `{ cidr, via }`, as `routes` of an interface of a `virtcluster_node` takes it.",
			},
		},
	}
}
