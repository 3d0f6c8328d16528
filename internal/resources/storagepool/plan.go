package storagepool

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// plan keeps the sizes where nothing changes them, and looks for what the pool would collide with.
func plan(ctx context.Context, at crud.Opening, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	resp.Diagnostics.Append(keepSizes(ctx, req, resp, m)...)
	if resp.Diagnostics.HasError() || at.Fleet == nil || m.Name.IsUnknown() || m.Hypervisor.IsUnknown() {
		return
	}
	resp.Diagnostics.Append(claim(at.Fleet, m)...)
	c, diags := Client(ctx, at.Fleet, m.Hypervisor)
	resp.Diagnostics.Append(diags...)
	if c == nil || !req.State.Raw.IsNull() || m.Path.IsUnknown() {
		return
	}
	resp.Diagnostics.Append(checkNew(ctx, c, m)...)
}

// claim lays claim to the pool's name and directory.
func claim(f *fleet.Fleet, m *model) diag.Diagnostics {
	var diags diag.Diagnostics
	on, dir := m.Hypervisor.ValueString(), m.Path.ValueString()
	claims := []planregistry.Claim{planregistry.PoolClaim(on, m.Name.ValueString())}
	if dir != "" {
		claims = append(claims, planregistry.DirectoryClaim(on, filepath.Clean(dir)))
	}
	owner := planregistry.On(on, fmt.Sprintf("storage pool %q in %s", m.Name.ValueString(), dir))
	for _, conflict := range f.Claims.Replace(owner, claims...) {
		if conflict.Claim == claims[0] {
			diags.AddAttributeError(path.Root("name"), "Storage pool name taken", fmt.Sprintf("The %s is what %s makes too. Give one of them another name.", conflict.Claim, conflict.Holder))
			continue
		}
		diags.AddAttributeError(path.Root("path"), "Directory taken", fmt.Sprintf("The %s is that of %s too. Give one of them another path.", conflict.Claim, conflict.Holder))
	}
	return diags
}

// checkNew looks for what is in the way of a pool that is to be made. One that this provider made may be in the way because
// it is what the new one replaces, and then apply says whose it is.
func checkNew(ctx context.Context, c *hypervisor.Client, m *model) diag.Diagnostics {
	var diags diag.Diagnostics
	if p, err := c.Pool(ctx, m.Name.ValueString()); err == nil && !storage.MadeByProvider(p) {
		diags.AddAttributeError(path.Root("name"), "Storage pool exists", fmt.Sprintf(
			"The hypervisor %s has a storage pool %q already, in %s. Choose another name, or take it over with: terraform import ADDRESS %s", c.URI(), p.Name(), p.Path(), p.Name()))
	}
	if p, err := storage.PoolIn(ctx, c, m.Name.ValueString(), m.Path.ValueString()); err == nil && p != nil && !storage.MadeByProvider(p) {
		diags.AddAttributeError(path.Root("path"), "Directory taken", fmt.Sprintf(
			"On the hypervisor %s, %s. To take that pool over, give it its name and run: terraform import ADDRESS %s", c.URI(), storage.DirectoryTaken(p), p.Name()))
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
