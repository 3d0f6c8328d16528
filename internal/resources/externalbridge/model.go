package externalbridge

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bridge"
)

type model struct {
	ID            types.String `tfsdk:"id"`
	Name          types.String `tfsdk:"name"`
	Host          types.String `tfsdk:"host"`
	Hypervisor    types.String `tfsdk:"hypervisor"`
	Interfaces    types.List   `tfsdk:"interfaces"`
	STP           types.Bool   `tfsdk:"stp"`
	VLANFiltering types.Bool   `tfsdk:"vlan_filtering"`
	hostattr.Addressing
	hostattr.Device
}

func (m *model) toSpec() (bridge.Bridge, diag.Diagnostics) {
	a, inherit, diags := m.Addressing.Spec()
	b := bridge.Bridge{
		Name: m.Name.ValueString(), STP: m.STP.ValueBool(), VLANFiltering: m.VLANFiltering.ValueBool(), MTU: int(m.MTU.ValueInt64()),
		Inherit: inherit, Addressing: a, Backend: m.Backend.ValueString(), RollbackTimeout: m.Rollback(),
	}
	diags.Append(readMembers(m.Interfaces, &b)...)
	return b, diags
}

// fillModel writes what the machine has into the model.
func (m *model) fillModel(got bridge.Bridge) diag.Diagnostics {
	want, diags := m.toSpec()
	if diags.HasError() && !m.Interfaces.IsNull() {
		return diags
	}
	diags = m.Addressing.Fill(got.Addressing, got.Inherit)
	m.STP, m.VLANFiltering = types.BoolValue(got.STP), types.BoolValue(got.VLANFiltering)
	m.FillDevice(got.MTU, got.Backend, got.ActiveBackend, got.RollbackTimeout)
	if !sameMembers(want, got) {
		m.Interfaces = writeMembers(got)
	}
	m.ActiveAddresses = convert.SpellList(got.Active)
	return diags
}
