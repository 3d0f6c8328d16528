package node

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// rootVolumeAttribute is the volume that a node has for its root disk where it is none of its own.
func rootVolumeAttribute() schema.Attribute {
	beside := path.MatchRelative().AtParent()
	return schema.StringAttribute{
		Optional:   true,
		Validators: []validator.String{values.Name, stringvalidator.ConflictsWith(beside.AtName("image"), beside.AtName("size_gib"), beside.AtName("pool"))},
		MarkdownDescription: "The `id` of a `virtcluster_volume` to boot from instead, or the path of any volume, or of a block device of the hypervisor (`/dev/disk/by-id/…`), as `disks.volume` has it; it outlives the node, has its own size, and the node's other files go into its pool. " +
			"A node that was imported with this volume as its root disk is told of it in place. Another volume makes another node.",
	}
}

// replacedImage makes another node of one with another image. Where the root disk is a volume that is there, makesAnotherNode says so.
var replacedImage = stringplanmodifier.RequiresReplaceIf(func(ctx context.Context, req planmodifier.StringRequest, resp *stringplanmodifier.RequiresReplaceIfFuncResponse) {
	var volume types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("root_disk").AtName("volume"), &volume)...)
	// Of a node that moves, the image is one on the other hypervisor: movesNode says whether it is the same there.
	var from, to types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("hypervisor"), &from)...)
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("hypervisor"), &to)...)
	resp.RequiresReplace = volume.IsNull() && from.Equal(to)
}, "another image makes another node", "another image makes another node")

// isAttached says whether the root disk is a volume that is there, be it known which or not.
func (r *rootModel) isAttached() bool { return !r.Volume.IsNull() }

// completeAttachedRoot fills in what a root disk that is a volume leaves open. Which pool it is in follows from the volume. One that is
// known later may be none: then the disk is the node's own, of what is written for it.
func completeAttachedRoot(r *rootModel, given, was *rootModel) {
	size, pool := types.Int64Null(), types.StringUnknown()
	if given.Volume.Equal(was.Volume) {
		pool = was.Pool
	}
	if given.Volume.IsUnknown() {
		size = types.Int64Unknown()
	}
	if given.SizeGiB.IsNull() {
		r.SizeGiB = size
	}
	if given.Pool.IsNull() {
		r.Pool = pool
	}
}

// planAttachedRoot plans the pool of a volume that is there.
func (p *planner) planAttachedRoot(ctx context.Context, r *rootModel) {
	if p.checker.Client == nil || !convert.Known(r.Volume) {
		return
	}
	if volume, err := p.cache.Volume(ctx, p.checker.Client, r.Volume.ValueString()); err == nil { // else the checks say so
		r.Pool = types.StringValue(volume.Pool)
	}
}

// hasRootVolume says whether the node has the planned volume for its root disk already, as state or, of one that was imported, the
// hypervisor says.
func (p *planner) hasRootVolume(ctx context.Context, planned, prior *version) bool {
	r := planned.Root
	if r.Volume.Equal(prior.Root.Volume) {
		return true
	}
	if prior.Root.isAttached() || p.checker.Client == nil || !convert.Known(r.Volume) {
		return false
	}
	p.planAttachedRoot(ctx, r)
	return machine.HasRootVolume(ctx, p.checker.Client, prior.ID.ValueString(), r.Volume.ValueString())
}
