package ovn

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// keepChassisID plans the id that the state has for a chassis while it is the same machine: by another endpoint, or another hypervisor, it may have another
// one, which the apply tells.
type keepChassisID struct{ values.Undescribed }

func (keepChassisID) PlanModifyString(ctx context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if req.StateValue.IsNull() || !req.PlanValue.IsUnknown() {
		return
	}
	var was, endpoint, wasHypervisor, hypervisor types.String
	chassis := req.Path.ParentPath()
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, chassis.AtName("endpoint"), &was)...)
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, chassis.AtName("endpoint"), &endpoint)...)
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, chassis.AtName("hypervisor"), &wasHypervisor)...)
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, chassis.AtName("hypervisor"), &hypervisor)...)
	if convert.Known(endpoint) && host.SameReference(was.ValueString(), endpoint.ValueString()) && hypervisor.Equal(wasHypervisor) {
		resp.PlanValue = req.StateValue
	}
}
