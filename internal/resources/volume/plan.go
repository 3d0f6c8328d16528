package volume

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/storagepool"
)

// ValidateConfig checks what the configuration alone tells.
func (r *volumeResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if m.SizeGiB.IsNull() && m.Image.IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("size_gib"), "Missing volume size", "An empty volume needs a size: write size_gib, or name an `image` whose size it takes.")
	}
	if !m.Image.IsNull() && m.Format.ValueString() == "raw" {
		resp.Diagnostics.AddAttributeError(path.Root("format"), "Unsupported volume format", "An overlay of an image is always qcow2: leave `format` out, or leave `image` out.")
	}
}

func (r *volumeResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(storagepool.Claim(r.Fleet, "volume "+m.Name.ValueString(), m.Hypervisor, m.Pool, m.Name)...)
	if !req.State.Raw.IsNull() {
		var prior model
		resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
		if resp.Diagnostics.HasError() {
			return
		}
		resp.Diagnostics.Append(checkShrink(&prior, &m)...)
		resp.Diagnostics.Append(keepImage(ctx, &prior, &m, resp)...)
		return
	}
	pool, diags := storagepool.Planned(ctx, r.Fleet, path.Root("pool"), m.Hypervisor, m.Pool)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() || pool == nil || m.Image.IsNull() || m.Image.IsUnknown() {
		return
	}
	resp.Diagnostics.Append(r.checkImage(ctx, &m)...)
}

// checkShrink refuses a smaller size, unless the volume is made anew anyway.
func checkShrink(prior, planned *model) diag.Diagnostics {
	var diags diag.Diagnostics
	replaced := !prior.Name.Equal(planned.Name) || !prior.Pool.Equal(planned.Pool) || !prior.Hypervisor.Equal(planned.Hypervisor) ||
		!prior.Format.Equal(planned.Format) || !prior.Image.Equal(planned.Image)
	if !replaced && !planned.SizeGiB.IsUnknown() && planned.SizeGiB.ValueInt64() < prior.SizeGiB.ValueInt64() {
		diags.AddAttributeError(path.Root("size_gib"), "Cannot shrink volume", fmt.Sprintf(
			"The volume %q has %d GiB, and a smaller one would cut off what is on it. Write size_gib = %d or more, or make a volume of another name.",
			prior.Name.ValueString(), prior.SizeGiB.ValueInt64(), prior.SizeGiB.ValueInt64()))
	}
	return diags
}

// keepImage takes back a replacement where the image is only spelled otherwise: as a path or by its name.
func keepImage(ctx context.Context, prior, planned *model, resp *resource.ModifyPlanResponse) diag.Diagnostics {
	var diags diag.Diagnostics
	if planned.Image.IsUnknown() || planned.Image.Equal(prior.Image) ||
		imagePath(planned.Image.ValueString(), prior.ID.ValueString()) != imagePath(prior.Image.ValueString(), prior.ID.ValueString()) {
		return diags
	}
	diags.Append(resp.Plan.SetAttribute(ctx, path.Root("image"), prior.Image)...)
	resp.RequiresReplace = withoutImage(resp.RequiresReplace)
	return diags
}

func withoutImage(paths path.Paths) path.Paths {
	var rest path.Paths
	for _, p := range paths {
		if !p.Equal(path.Root("image")) {
			rest = append(rest, p)
		}
	}
	return rest
}

// checkImage checks the size against that of an image which exists already.
func (r *volumeResource) checkImage(ctx context.Context, m *model) diag.Diagnostics {
	c, diags := storagepool.Client(ctx, r.Fleet, m.Hypervisor)
	if c == nil {
		return diags
	}
	image, err := findImage(ctx, c, m)
	switch {
	case hypervisor.IsNotFound(err):
		claim := planregistry.VolumeClaim(m.Hypervisor.ValueString(), m.Pool.ValueString(), m.Image.ValueString())
		if r.Fleet.Claims.Holder(claim) == "" {
			diags.AddAttributeError(path.Root("image"), "Unknown image", fmt.Sprintf(
				"No started storage pool of the hypervisor %s has %s. Refer to an image that is made, as in virtcluster_image.NAME.id, or name a volume that exists.", c.URI(), described(m)))
		}
	case err != nil:
		tflog.Warn(ctx, "image not checked while planning", map[string]any{"image": m.Image.ValueString(), "reason": err.Error()})
	default:
		diags.Append(checkFits(m.SizeGiB, image)...)
	}
	return diags
}

// checkFits refuses a volume that is smaller than its image.
func checkFits(size types.Int64, image *hypervisor.Volume) diag.Diagnostics {
	var diags diag.Diagnostics
	if need := ceilGiB(image.Capacity()); !size.IsNull() && !size.IsUnknown() && uint64(size.ValueInt64()) < need {
		diags.AddAttributeError(path.Root("size_gib"), "Volume smaller than its image", fmt.Sprintf(
			"The image %s has %d bytes, so the overlay needs size_gib = %d or more.", image.Path(), image.Capacity(), need))
	}
	return diags
}

func described(m *model) string {
	if strings.HasPrefix(m.Image.ValueString(), "/") {
		return "a volume " + m.Image.ValueString()
	}
	return fmt.Sprintf("a volume %q in the pool %q", m.Image.ValueString(), m.Pool.ValueString())
}

// findImage looks the image up that a model names; it is nil where none is named.
func findImage(ctx context.Context, c *hypervisor.Client, m *model) (*hypervisor.Volume, error) {
	switch name := m.Image.ValueString(); {
	case name == "":
		return nil, nil
	case strings.HasPrefix(name, "/"):
		return c.VolumeByPath(ctx, name)
	default:
		return c.Volume(ctx, m.Pool.ValueString(), name)
	}
}
