// Package volume is virtcluster_volume: a disk in a storage pool, empty or an overlay of an image.
package volume

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/poolattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, storage.Volume]{
		Name: "volume", Noun: "volume",
		Label:   func(m *model) string { return volumePlace(m).ImportID() },
		Schema:  volumeSchema,
		Key:     []string{"hypervisor", "pool", "name"},
		Naming:  crud.Naming[model]{Lasts: true},
		ID:      func(m *model) string { return m.ID.ValueString() },
		Listing: crud.Listing{List: poolattr.ListVolumes(false), Leftovers: poolattr.ListUnlistedPools},
		Split: func(m *model, id string) error {
			return poolattr.SplitVolume(id, &m.ID, &m.Hypervisor, &m.Pool, &m.Name)
		},
		Moves: crud.Moves[model]{peer.Volume: func(m *model, from peer.Thing) {
			poolattr.MoveVolume(from, &m.ID, &m.Pool, &m.Name)
		}},
		Fill: fillModel, Open: openStore, Plan: planVolume,
	})
}

func volumePlace(m *model) storage.Place {
	return poolattr.VolumePlace(m.ID, m.Hypervisor, m.Pool, m.Name)
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[storage.Volume], error) {
	c, err := at.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err != nil {
		return nil, err
	}
	return storage.OpenVolume(ctx, c, volumePlace(m), at.Claim)
}

func volumeSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A disk in a storage pool, empty or an overlay of an image. It grows in place, also while a running node uses it; shrinking is refused. " +
			poolattr.OwnershipDescription,
		Attributes: map[string]schema.Attribute{
			"id":         poolattr.ID(),
			"name":       poolattr.Name("data.qcow2", "empty volume"),
			"hypervisor": crud.HypervisorAttribute("volume", "volume"),
			"pool":       poolattr.Pool("volume and moves nothing"),
			"size_gib":   values.Between(1, storage.MaxSizeGiB).OptionalComputed("Size that a machine sees, in GiB. More grows the volume in place; what is on it has to be grown inside the machine. Default: the image's size, in whole GiB; required without an image. At most 2097152, which is 2 PiB, as QEMU maps no more in qcow2.", int64planmodifier.UseStateForUnknown()),
			"format":     values.OneOf("qcow2", "raw").Default("qcow2", "`qcow2` or `raw`; both take up room only as they are written. An overlay is always `qcow2`. Default: `qcow2`. A change makes a new volume."),
			"image":      values.Name.Optional("Image that the volume is an overlay of: a `virtcluster_image.*.id`, or the name of a volume in the same pool. A change makes a new volume. Default: none, the volume is empty."),
		},
	}
}

type model struct {
	ID         types.String `tfsdk:"id"`
	Name       types.String `tfsdk:"name"`
	Hypervisor types.String `tfsdk:"hypervisor"`
	Pool       types.String `tfsdk:"pool"`
	SizeGiB    types.Int64  `tfsdk:"size_gib"`
	Format     types.String `tfsdk:"format"`
	Image      types.String `tfsdk:"image"`
}

// fillModel writes what the hypervisor says into the model. The image keeps its spelling where it is the same.
func fillModel(_ context.Context, m *model, got storage.Volume) diag.Diagnostics {
	if image := m.Image.ValueString(); image != "" && got.ImagePath(image) == got.ImagePath(got.Image) {
		got.Image = image
	}
	convert.FromPlain(&got, m)
	return nil
}

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
	want, _ := convert.Plain[storage.Volume](m)
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
	was, _ := convert.Plain[storage.Volume](&prior)
	want, _ := convert.Plain[storage.Volume](m)
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
		case storage.InPlace:
			resp.Diagnostics.Append(poolattr.Check(ctx, provided, prior.Hypervisor, func(k storage.Checker) []service.Problem { return k.CheckGrowth(ctx, want) })...)
		case storage.Refused:
			resp.Diagnostics.AddAttributeError(path.Root(change.Attribute), "Cannot shrink volume", change.Why)
		}
	}
}
