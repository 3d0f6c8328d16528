package volume

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/storagepool"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// plan says what a change takes, and checks a new volume against its pool and its image.
func plan(ctx context.Context, at crud.Opening, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(checkConfig(&config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(storagepool.ClaimVolume(at.Fleet, "volume "+m.Name.ValueString(), m.Hypervisor, m.Pool, m.Name)...)
	if !req.State.Raw.IsNull() {
		planChange(ctx, at.Fleet, req, resp, m)
		return
	}
	pool, diags := storagepool.CheckPool(ctx, at.Fleet, path.Root("pool"), m.Hypervisor, m.Pool)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() || pool == nil || !convert.Known(m.Image) {
		return
	}
	resp.Diagnostics.Append(checkImage(ctx, at.Fleet, m)...)
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
func planChange(ctx context.Context, f *fleet.Fleet, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	var prior model
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() || len(resp.RequiresReplace) > 0 {
		return
	}
	was, _ := spec(ctx, &prior)
	want, _ := spec(ctx, m)
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
			resp.Diagnostics.Append(checkNotRunning(ctx, f, path.Root(change.Attribute), &prior)...)
		case storage.Refused:
			resp.Diagnostics.AddAttributeError(path.Root(change.Attribute), "Cannot shrink volume", change.Why)
		}
	}
}

// checkNotRunning refuses to make a volume anew that a machine runs with: it would go on with the deleted one.
func checkNotRunning(ctx context.Context, f *fleet.Fleet, attribute path.Path, prior *model) diag.Diagnostics {
	c, diags := storagepool.Client(ctx, f, prior.Hypervisor)
	if c == nil {
		return diags
	}
	v, err := c.Volume(ctx, prior.Pool.ValueString(), prior.Name.ValueString())
	var user string
	if err == nil {
		user, err = storage.RunningUser(ctx, c, v)
	}
	switch {
	case err != nil:
		tflog.Warn(ctx, "users of a volume not looked for while planning", map[string]any{"volume": prior.Name.ValueString(), "reason": err.Error()})
	case user != "":
		diags.AddAttributeError(attribute, "Volume in use", fmt.Sprintf(
			"The machine %q runs with the volume %q as a disk, and this change makes it anew. Remove the disk from the machine first, or make a volume of another name.", user, prior.Name.ValueString()))
	}
	return diags
}

// checkImage checks the size against that of an image which exists already.
func checkImage(ctx context.Context, f *fleet.Fleet, m *model) diag.Diagnostics {
	c, diags := storagepool.Client(ctx, f, m.Hypervisor)
	if c == nil {
		return diags
	}
	want, _ := spec(ctx, m)
	image, err := storage.FindImage(ctx, c, want)
	switch {
	case hypervisor.IsNotFound(err):
		claim := planregistry.VolumeClaim(m.Hypervisor.ValueString(), want.Pool, want.Image)
		if f.Claims.Holder(claim) == "" {
			diags.AddAttributeError(path.Root("image"), "Unknown image", fmt.Sprintf(
				"No started storage pool of the hypervisor %s has %s. Refer to an image that is made, as in virtcluster_image.NAME.id, or name a volume that exists.", c.URI(), describeImage(want)))
		}
	case err != nil:
		tflog.Warn(ctx, "image not checked while planning", map[string]any{"image": want.Image, "reason": err.Error()})
	case image != nil && convert.Known(m.SizeGiB) && want.SizeGiB < storage.RoundUpToGiB(image.Capacity()):
		diags.AddAttributeError(path.Root("size_gib"), "Volume smaller than its image", fmt.Sprintf(
			"The image %s has %d bytes, so the overlay needs size_gib = %d or more.", image.Path(), image.Capacity(), storage.RoundUpToGiB(image.Capacity())))
	}
	return diags
}

func describeImage(v storage.Volume) string {
	if strings.HasPrefix(v.Image, "/") {
		return "a volume " + v.Image
	}
	return fmt.Sprintf("a volume %q in the pool %q", v.Image, v.Pool)
}
