package storagepool

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/poolattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// planChange keeps the sizes where nothing changes them, and looks for what the pool would collide with.
func planChange(ctx context.Context, at crud.Opening, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	resp.Diagnostics.Append(keepSizes(ctx, req, resp, m)...)
	if resp.Diagnostics.HasError() || at.Fleet == nil || m.Name.IsUnknown() || m.Hypervisor.IsUnknown() {
		return
	}
	resp.Diagnostics.Append(claim(at.Provided, m)...)
	if !req.State.Raw.IsNull() || m.Path.IsUnknown() {
		return
	}
	want, _ := toSpec(ctx, m)
	resp.Diagnostics.Append(poolattr.Check(ctx, at.Provided, m.Hypervisor, func(k storage.Checker) []service.Problem {
		return k.CheckNewPool(ctx, want, at.Claim)
	})...)
}

// claim lays claim to the pool's name and directory.
func claim(provided crud.Provided, m *model) diag.Diagnostics {
	var diags diag.Diagnostics
	on, dir := m.Hypervisor.ValueString(), m.Path.ValueString()
	claims := []planregistry.Claim{planregistry.PoolClaim(on, m.Name.ValueString())}
	if dir != "" {
		claims = append(claims, planregistry.DirectoryClaim(on, filepath.Clean(dir)))
	}
	owner := planregistry.NameOnHypervisor(on, fmt.Sprintf("storage pool %q in %s", m.Name.ValueString(), dir))
	for _, conflict := range provided.Registry.Claims.Replace(owner, claims...) {
		if conflict.Claim == claims[0] {
			diags.AddAttributeError(path.Root("name"), "Storage pool name taken", fmt.Sprintf("The %s is what %s makes too. Give one of them another name.", conflict.Claim, conflict.Holder))
			continue
		}
		diags.AddAttributeError(path.Root("path"), "Directory taken", fmt.Sprintf("The %s is that of %s too. Give one of them another path.", conflict.Claim, conflict.Holder))
	}
	return diags
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
