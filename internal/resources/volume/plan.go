package volume

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/poolattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// planVolume says what a change takes, and checks a new volume against its pool and its image.
func planVolume(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(checkConfig(&config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !req.State.Raw.IsNull() {
		planChange(ctx, at.ProviderData, req, resp, m)
		return
	}
	there, diags := poolattr.CheckPool(ctx, at.ProviderData, m.Hypervisor, m.Pool)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() || !there {
		return
	}
	want, _ := toSpec(ctx, m)
	resp.Diagnostics.Append(poolattr.Check(ctx, at.ProviderData, m.Hypervisor, func(k storage.Checker) []service.Problem { return k.CheckRoom(ctx, []any{"size_gib"}, want) })...)
	if !convert.Known(m.Image) {
		return
	}
	resp.Diagnostics.Append(poolattr.Check(ctx, at.ProviderData, m.Hypervisor, func(k storage.Checker) []service.Problem { return k.CheckImage(ctx, want) })...)
}

// checkConfig checks what the configuration alone tells.
func checkConfig(config *model) diag.Diagnostics {
	var diags diag.Diagnostics
	if config.SizeGiB.IsNull() && config.Image.IsNull() {
		diags.AddAttributeError(path.Root("size_gib"), "Missing volume size", "An empty volume needs a size: write size_gib, or name an `image` whose size it takes.")
	}
	if !config.Image.IsNull() && config.Format.ValueString() == "raw" {
		diags.AddAttributeError(path.Root("format"), "Unsupported volume format", "An overlay of an image is always qcow2: leave `format` out, or leave `image` out.")
	}
	return diags
}

// planChange plans a new volume where a change cannot be made in place, and refuses one that would lose data.
func planChange(ctx context.Context, provided crud.ProviderData, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	var prior model
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() || len(resp.RequiresReplace) > 0 {
		return
	}
	was, _ := toSpec(ctx, &prior)
	want, _ := toSpec(ctx, m)
	if m.Image.IsUnknown() {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("image"))
		return
	}
	if was.ImagePath(want.Image) == was.ImagePath(was.Image) { // only spelled otherwise
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("image"), prior.Image)...)
	}
	for _, change := range was.Compare(want) {
		switch change.Effect {
		case storage.Anew:
			resp.RequiresReplace = append(resp.RequiresReplace, path.Root(change.Attribute))
			resp.Diagnostics.Append(poolattr.Check(ctx, provided, prior.Hypervisor, func(k storage.Checker) []service.Problem {
				return k.CheckNotRunning(ctx, change.Attribute, was)
			})...)
		case storage.Refused:
			resp.Diagnostics.AddAttributeError(path.Root(change.Attribute), "Cannot shrink volume", change.Why)
		}
	}
}
