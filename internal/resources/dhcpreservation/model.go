package dhcpreservation

import (
	"context"
	"net/netip"
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
	ip, _ := netip.ParseAddr(m.IP.ValueString()) // Validate says what is wrong with it
	return virtnetwork.Reservation{
		DHCPHost: virtnetwork.DHCPHost{MAC: canonicalMAC(m.MAC.ValueString()), ID: strings.ToLower(m.DUID.ValueString()), IP: ip.Unmap(), Name: m.Hostname.ValueString()},
		Text:     m.IP.ValueString(), Network: m.Network.ValueString(),
	}, nil
}

// fillModel writes what was read, keeping spellings that mean the same.
func (m *model) fillModel(_ context.Context, got virtnetwork.Reservation) diag.Diagnostics {
	if canonicalMAC(m.MAC.ValueString()) != got.MAC {
		m.MAC = convert.Text(got.MAC)
	}
	if virtnetwork.CanonicalDUID(m.DUID.ValueString()) != virtnetwork.CanonicalDUID(got.ID) {
		m.DUID = convert.Text(got.ID)
	}
	if canonicalAddress(m.IP.ValueString()) != got.IP.String() {
		m.IP = types.StringValue(got.IP.String())
	}
	m.Hostname = convert.Text(got.Name)
	return nil
}

// machineID is what the id names the machine by.
func (m *model) machineID() string {
	switch {
	case m.MAC.ValueString() != "":
		return canonicalMAC(m.MAC.ValueString())
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
