package volume

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

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
	return storage.Volume{
		Pool: m.Pool.ValueString(), Name: m.Name.ValueString(), Format: m.Format.ValueString(),
		SizeGiB: m.SizeGiB.ValueInt64(), Image: m.Image.ValueString(), Path: m.ID.ValueString(),
	}, nil
}

// fillModel writes what the hypervisor says into the model. The image keeps its spelling where it is the same.
func fillModel(_ context.Context, m *model, got storage.Volume) diag.Diagnostics {
	m.ID = types.StringValue(got.Path)
	m.Name = types.StringValue(got.Name)
	m.Pool = types.StringValue(got.Pool)
	m.Format = types.StringValue(got.Format)
	m.SizeGiB = types.Int64Value(got.SizeGiB)
	switch {
	case got.Image == "":
		m.Image = types.StringNull()
	case got.ImagePath(m.Image.ValueString()) != got.Image:
		m.Image = types.StringValue(got.Image)
	}
	return nil
}
