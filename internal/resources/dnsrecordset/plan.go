package dnsrecordset

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/dnsattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
)

func planChange(ctx context.Context, opening crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if !req.State.Raw.IsNull() {
		keepSpelling(ctx, req, resp, m)
	}
	if opening.Fleet != nil && !resp.Diagnostics.HasError() {
		checkZone(ctx, opening.ProviderData, resp, m)
	}
}

// checkZone checks the record set beside the other records that the plan has in its zone.
func checkZone(ctx context.Context, provided crud.ProviderData, resp *resource.ModifyPlanResponse, m *model) {
	for _, v := range []types.String{m.ServiceNode, m.View, m.Zone, m.Name, m.Type} {
		if v.IsUnknown() {
			return
		}
	}
	r, _ := toSpec(ctx, m)
	resp.Diagnostics.Append(crud.Diagnostics(r.CheckBeside(r.PlannedBeside(provided.Ledger, host.WithoutKey(m.ServiceNode.ValueString()))))...)
	if internal := r.InternalName(); internal != "" && dnsattr.ForStrangers(ctx, provided, m.ServiceNode, r.View) {
		resp.Diagnostics.AddAttributeWarning(path.Root("name"), "Internal name for strangers",
			fmt.Sprintf("%s is in view %q, which answers strangers; only machines of the cluster need it, so leave it out here", internal, r.View))
	}
}

// keepSpelling keeps what only is spelled differently; another zone, name or type is another record set.
func keepSpelling(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	var prior model
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	zone, name, rrType := m.recordKey()
	oldZone, oldName, oldType := prior.recordKey()
	word := func(at string, planned *types.String, state types.String, same bool) {
		if !same {
			resp.RequiresReplace = append(resp.RequiresReplace, path.Root(at))
		} else if !planned.IsUnknown() {
			*planned = state
		}
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(at), *planned)...)
	}
	word("zone", &m.Zone, prior.Zone, zone == oldZone)
	word("name", &m.Name, prior.Name, name == oldName)
	word("type", &m.Type, prior.Type, rrType == oldType)
	if convert.WhollyKnown(ctx, m.Values) && bind.SameValues(convert.Texts(m.Values), convert.Texts(prior.Values), rrType, zone) {
		m.Values = prior.Values
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("values"), m.Values)...)
	}
}
