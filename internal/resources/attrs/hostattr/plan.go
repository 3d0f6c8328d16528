package hostattr

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// Preview completes a thing in a machine's network while planning, as far as the machine is there already; what would keep it from
// being made is an error at its attribute. ok is false where nothing is known. what names the thing: `route "10.0.0.0/8"`, and
// at is where to say that the machine cannot be asked.
func Preview[S any, F hostnet.Found](ctx context.Context, open func() (*hostnet.Store[S, F], error), want S, what string, at path.Path,
	req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse,
) (planned S, ok bool) {
	store, err := open()
	if errors.Is(err, fleet.ErrUnknown) {
		return want, false
	}
	var warnings []service.Problem
	if err == nil {
		want, warnings, err = store.Plan(ctx, want, req.State.Raw.IsNull())
	}
	if !req.Plan.Raw.Equal(req.State.Raw) {
		resp.Diagnostics.Append(crud.Problems(ctx, req.Plan, warnings)...)
	}
	if _, placed := errors.AsType[*service.AttributeError](err); placed {
		resp.Diagnostics.Append(crud.NewFailure("plan", what, err))
		return want, false
	}
	if err != nil {
		resp.Diagnostics.Append(crud.NewUnseen(at, what, err))
		return want, false
	}
	return want, true
}

// PlanAddressing has a device's addresses be known after the apply where they come from elsewhere than before: what `addressing` is may
// follow from what is written beside it, and the framework does not see that as a change.
func PlanAddressing(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) diag.Diagnostics {
	if req.State.Raw.IsNull() {
		return nil
	}
	var was, planned types.String
	diags := req.State.GetAttribute(ctx, path.Root("addressing"), &was)
	diags.Append(resp.Plan.GetAttribute(ctx, path.Root("addressing"), &planned)...)
	if !planned.Equal(was) {
		diags.Append(resp.Plan.SetAttribute(ctx, path.Root("active_addresses"), types.ListUnknown(types.StringType))...)
	}
	return diags
}

// PlanBackend says in the plan what will keep a thing, and what it has where nothing changes. Another backend makes the thing anew.
// While the configuration's backend is unknown, so is what keeps it.
func PlanBackend(ctx context.Context, backend string, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) diag.Diagnostics {
	var written types.String
	if diags := req.Config.GetAttribute(ctx, path.Root("backend"), &written); diags.HasError() || written.IsUnknown() {
		return diags
	}
	at := path.Root("active_backend")
	diags := resp.Plan.SetAttribute(ctx, at, backend)
	var was types.String
	if !req.State.Raw.IsNull() {
		diags.Append(req.State.GetAttribute(ctx, at, &was)...)
	}
	if was.ValueString() != "" && was.ValueString() != backend {
		resp.RequiresReplace = append(resp.RequiresReplace, at)
	}
	return diags
}

// PlanRemoval warns of what a destroy of a thing in a machine's network would do. One that is made anew is told of by its own plan.
func PlanRemoval[S any, F hostnet.Found](ctx context.Context, open func() (*hostnet.Store[S, F], error), replaced bool) diag.Diagnostics {
	if replaced {
		return nil
	}
	store, err := open()
	if err != nil {
		return nil // the destroy says so
	}
	return crud.Diagnostics(store.PlanRemoval(ctx))
}
