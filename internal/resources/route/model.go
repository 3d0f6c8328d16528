package route

import (
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/route"
)

type model struct {
	ID            types.String `tfsdk:"id"`
	Host          types.String `tfsdk:"host"`
	CIDR          types.String `tfsdk:"cidr"`
	Via           types.String `tfsdk:"via"`
	Device        types.String `tfsdk:"device"`
	Metric        types.Int64  `tfsdk:"metric"`
	Backend       types.String `tfsdk:"backend"`
	ActiveBackend types.String `tfsdk:"active_backend"`
}

func (m *model) toSpec() (route.Route, diag.Diagnostics) {
	var diags diag.Diagnostics
	r := route.Route{Device: m.Device.ValueString(), Metric: int(m.Metric.ValueInt64()), Backend: m.Backend.ValueString()}
	if !m.CIDR.IsUnknown() {
		to, err := netip.ParsePrefix(m.CIDR.ValueString())
		if err != nil {
			diags.AddAttributeError(path.Root("cidr"), "Invalid network", "write an address and a prefix length such as \"10.128.2.0/23\": "+err.Error())
		}
		r.To = to
	}
	via, _, err := hostattr.Address(m.Via)
	if err != nil {
		diags.AddAttributeError(path.Root("via"), "Invalid address", err.Error())
	}
	r.Via = via
	return r, diags
}

// fillModel writes what the machine has into the model, and keeps the model's own spelling where the meaning is the same.
func (m *model) fillModel(got route.Route) diag.Diagnostics {
	want, _ := m.toSpec()
	if want.Via != got.Via {
		m.Via = types.StringNull()
		if got.Via.IsValid() {
			m.Via = types.StringValue(got.Via.String())
		}
	}
	m.Device, m.Backend, m.ActiveBackend = types.StringValue(got.Device), types.StringValue(got.Backend), types.StringValue(got.ActiveBackend)
	return nil
}
