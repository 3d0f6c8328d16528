package podnetwork

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

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
	use := plan.Use{Kind: plan.PodSubnet, Value: cidr.String(), Span: plan.SpanOfPrefix(cidr), Path: []any{"cidr"}}
	for _, c := range r.Ledger.Register(plan.Holder{ID: name, Self: name, Name: name}, []plan.Use{use}) {
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
