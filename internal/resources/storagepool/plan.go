package storagepool

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/poolattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// planChange keeps the sizes where nothing changes them, and looks for what the pool would collide with.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	resp.Diagnostics.Append(keepSizes(ctx, req, resp, m)...)
	if resp.Diagnostics.HasError() || at.Fleet == nil || m.Name.IsUnknown() || m.Hypervisor.IsUnknown() {
		return
	}
	if !req.State.Raw.IsNull() || m.Path.IsUnknown() {
		return
	}
	want, _ := toSpec(ctx, m)
	resp.Diagnostics.Append(poolattr.Check(ctx, at.ProviderData, m.Hypervisor, func(k storage.Checker) []service.Problem {
		return k.CheckNewPool(ctx, want, at.Claim)
	})...)
}

// keepSizes takes back that the sizes are unknown, which the framework decides by the spelling of the other
// attributes before anyone can tell it that two spellings mean the same.
func keepSizes(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) diag.Diagnostics {
	var diags diag.Diagnostics
	if req.State.Raw.IsNull() {
		return diags
	}
	var prior model
	diags.Append(req.State.Get(ctx, &prior)...)
	if diags.HasError() || !prior.Active.Equal(planned.Active) || !prior.Path.Equal(planned.Path) {
		return diags
	}
	diags.Append(resp.Plan.SetAttribute(ctx, path.Root("capacity_bytes"), prior.CapacityBytes)...)
	diags.Append(resp.Plan.SetAttribute(ctx, path.Root("available_bytes"), prior.AvailableBytes)...)
	return diags
}
