package volume

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

type model struct {
	ID         types.String `tfsdk:"id"`
	Name       types.String `tfsdk:"name"`
	Hypervisor types.String `tfsdk:"hypervisor"`
	Pool       types.String `tfsdk:"pool"`
	SizeGiB    types.Int64  `tfsdk:"size_gib"`
	Format     types.String `tfsdk:"format"`
	Image      types.String `tfsdk:"image"`
}

// toSpec converts the model.
func toSpec(_ context.Context, m *model) (storage.Volume, diag.Diagnostics) {
	var v storage.Volume
	diags := convert.ToPlain(m, &v, func(...any) {})
	return v, diags
}

// fillModel writes what the hypervisor says into the model. The image keeps its spelling where it is the same.
func fillModel(_ context.Context, m *model, got storage.Volume) diag.Diagnostics {
	if image := m.Image.ValueString(); image != "" && got.ImagePath(image) == got.Image {
		got.Image = image
	}
	convert.FromPlain(&got, m)
	return nil
}
