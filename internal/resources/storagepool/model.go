package storagepool

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

type model struct {
	ID             types.String `tfsdk:"id"`
	Name           types.String `tfsdk:"name"`
	Hypervisor     types.String `tfsdk:"hypervisor"`
	Type           types.String `tfsdk:"type"`
	Path           types.String `tfsdk:"path"`
	Autostart      types.Bool   `tfsdk:"autostart"`
	Active         types.Bool   `tfsdk:"active"`
	CapacityBytes  types.Int64  `tfsdk:"capacity_bytes"`
	AvailableBytes types.Int64  `tfsdk:"available_bytes"`
}

// toSpec converts the model.
func toSpec(_ context.Context, m *model) (storage.Pool, diag.Diagnostics) {
	return storage.Pool{
		UUID: m.ID.ValueString(), Name: m.Name.ValueString(), Type: m.Type.ValueString(), Path: m.Path.ValueString(),
		Autostart: m.Autostart.ValueBool(), Active: m.Active.ValueBool(),
	}, nil
}

// fillModel writes what the hypervisor says into the model. How much room is free changes with whatever is written there, and
// would show in every plan: the sizes are those of when the pool was last made, started or stopped.
func fillModel(_ context.Context, m *model, got storage.Pool) diag.Diagnostics {
	if !convert.Known(m.AvailableBytes) || m.Active.ValueBool() != got.Active {
		m.CapacityBytes, m.AvailableBytes = types.Int64Value(got.CapacityBytes), types.Int64Value(got.AvailableBytes)
	}
	m.ID = types.StringValue(got.UUID)
	m.Name = types.StringValue(got.Name)
	m.Type = types.StringValue(got.Type)
	if !storage.SamePath(m.Path.ValueString(), got.Path) {
		m.Path = types.StringValue(got.Path)
	}
	m.Autostart = types.BoolValue(got.Autostart)
	m.Active = types.BoolValue(got.Active)
	return nil
}
