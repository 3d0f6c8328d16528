package dnsview

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/dnsattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

func planChange(ctx context.Context, opening crud.StoreContext, _ resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	f := opening.Fleet
	if f == nil || m.Name.IsUnknown() || m.Order.IsUnknown() || m.MatchClients.IsUnknown() || m.MatchDestinations.IsUnknown() {
		return
	}
	v, _ := toSpec(ctx, m)
	node := m.ServiceNode.ValueString() // "" while it is not known
	planned := map[string]bool{}
	for _, other := range bind.PlannedViews(opening.Ledger, host.WithoutKey(node)) {
		planned[other.Name] = true
		problem := bind.Shadows(v, other)
		switch {
		case problem == "" || other.Name == v.Name:
		case node == "": // views of several nodes that are not there yet may be taken for those of one
			resp.Diagnostics.AddAttributeWarning(path.Root("order"), "View that is never asked", "if both are on one machine: "+problem)
		default:
			resp.Diagnostics.AddAttributeError(path.Root("order"), "View that is never asked", problem)
		}
	}
	if node == "" {
		return
	}
	t, err := dnsattr.Live(ctx, f, node)
	if err != nil {
		return // the machine may be made in the same apply; then its other views are planned too
	}
	warnOfLive(resp, v, t, planned)
}

// warnOfLive looks at views that other states made. They may be about to change, so it only warns; the apply refuses.
func warnOfLive(resp *resource.ModifyPlanResponse, v bind.View, t transaction.Tree, planned map[string]bool) {
	views, err := bind.Views(t)
	if err != nil {
		return
	}
	for _, other := range views {
		if problem := bind.Shadows(v, other); problem != "" && !planned[other.Name] {
			resp.Diagnostics.AddAttributeWarning(path.Root("order"), "View that is never asked", problem)
		}
	}
	if !v.ForStrangers() {
		return
	}
	for _, name := range bind.InternalNames(t, v.Name) {
		resp.Diagnostics.AddAttributeWarning(path.Root("match_clients"), "Internal name for strangers",
			name+" is in this view, which answers strangers; only machines of the cluster need it")
	}
}
