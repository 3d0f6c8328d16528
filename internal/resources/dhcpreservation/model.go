package dhcpreservation

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	virtnetwork "github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

type model struct {
	ID         types.String `tfsdk:"id"`
	Hypervisor types.String `tfsdk:"hypervisor"`
	Network    types.String `tfsdk:"network"`
	MAC        types.String `tfsdk:"mac"`
	DUID       types.String `tfsdk:"duid"`
	IP         types.String `tfsdk:"ip"`
	Hostname   types.String `tfsdk:"hostname"`
}

// toSpec converts the model.
func (m *model) toSpec(context.Context) (virtnetwork.Reservation, diag.Diagnostics) {
	r := virtnetwork.Reservation{Network: m.Network.ValueString()}
	diags := convert.ToPlain(m, &r, func(...any) {})
	r.ID = strings.ToLower(r.ID)
	return r, diags
}

// fillModel writes what was read.
func (m *model) fillModel(_ context.Context, got virtnetwork.Reservation) diag.Diagnostics {
	convert.FromPlain(&got, m)
	return nil
}

// machineID is what the id names the machine by.
func (m *model) machineID() string {
	switch {
	case m.MAC.ValueString() != "":
		return convert.Canonical(m.MAC.ValueString())
	case m.DUID.ValueString() != "":
		return strings.ToLower(m.DUID.ValueString())
	}
	return m.Hostname.ValueString()
}

func (m *model) formatID() string {
	id := m.Network.ValueString() + "/" + m.machineID()
	if h := m.Hypervisor.ValueString(); h != "" {
		return h + "/" + id
	}
	return id
}
