package storagepool

import (
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
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

// fill writes what the hypervisor says into the model.
func (m *model) fill(p *hypervisor.Pool) {
	m.ID = types.StringValue(p.UUID())
	m.Name = types.StringValue(p.Name())
	m.Type = types.StringValue(p.Type())
	if !samePath(m.Path.ValueString(), p.Path()) {
		m.Path = types.StringValue(p.Path())
	}
	m.Autostart = types.BoolValue(p.Autostart)
	m.Active = types.BoolValue(p.Active)
	m.CapacityBytes, m.AvailableBytes = types.Int64Value(0), types.Int64Value(0)
	if p.XML.Capacity != nil {
		m.CapacityBytes = types.Int64Value(int64(p.XML.Capacity.Value))
	}
	if p.XML.Available != nil {
		m.AvailableBytes = types.Int64Value(int64(p.XML.Available.Value))
	}
}
