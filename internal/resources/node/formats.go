package node

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// formatAttribute is how an attached volume is read.
func formatAttribute() schema.Attribute {
	return values.OneOf("raw", "qcow2", "qed", "vdi", "vmdk", "vpc").OptionalComputed("How QEMU reads the attached `volume`: `raw`, `qcow2`, `qed`, `vdi`, `vmdk` or `vpc`. Another one needs a restart. Null in state for the node's own volumes, which are qcow2. " +
		"Default: what the storage pool says of the volume, `qcow2` or `raw`, and `raw` for a block device; one that looks like anything else has to be said.")
}

// completeFormat fills in the format of a disk: one of the node's own has none, and a volume keeps its own.
func completeFormat(planned *types.String, given, was, volume, wasVolume types.String) {
	switch {
	case !given.IsNull():
	case volume.IsNull():
		*planned = types.StringNull()
	case volume.Equal(wasVolume) && convert.Known(was):
		*planned = was
	default:
		*planned = types.StringUnknown()
	}
}

// planFormats plans the formats of attached volumes of which nobody said them, where the hypervisor has these already.
func (p *planner) planFormats(ctx context.Context, planned *version) {
	if p.checker.Client == nil {
		return
	}
	plan := func(format *types.String, volume types.String) {
		if format.IsUnknown() && convert.Known(volume) {
			if found, known := p.cache.AskFormat(ctx, p.checker.Client, volume.ValueString()); known {
				*format = convert.Text(found)
			}
		}
	}
	if r := planned.Root; r != nil {
		plan(&r.Format, r.Volume)
	}
	for key, d := range planned.Disks {
		plan(&d.Format, d.Volume)
		planned.Disks[key] = d
	}
}
