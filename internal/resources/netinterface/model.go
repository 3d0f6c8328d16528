package netinterface

import (
	"context"
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/netinterface"
)

type model struct {
	ID     types.String `tfsdk:"id"`
	Host   types.String `tfsdk:"host"`
	Name   types.String `tfsdk:"name"`
	Routes types.List   `tfsdk:"routes"`
	MAC    types.String `tfsdk:"mac"`
	hostattr.Addressing
	hostattr.Device
}

type routeModel struct {
	CIDR   types.String `tfsdk:"cidr"`
	Via    types.String `tfsdk:"via"`
	Metric types.Int64  `tfsdk:"metric"`
}

var routeType = types.ObjectType{AttrTypes: map[string]attr.Type{"cidr": types.StringType, "via": types.StringType, "metric": types.Int64Type}}

func (m *model) toSpec(ctx context.Context) (netinterface.Interface, diag.Diagnostics) {
	a, inherit, diags := m.Addressing.Spec()
	i := netinterface.Interface{Name: m.Name.ValueString(), MTU: int(m.MTU.ValueInt64()), Addressing: a, Backend: m.Backend.ValueString(), RollbackTimeout: m.Rollback()}
	for n, r := range m.decodeRoutes(ctx, &diags) {
		to, err := netip.ParsePrefix(r.CIDR.ValueString())
		at := path.Root("routes").AtListIndex(n)
		if err != nil && !r.CIDR.IsUnknown() {
			diags.AddAttributeError(at.AtName("cidr"), "Invalid network", "write an address and a prefix length such as \"10.128.0.0/14\": "+err.Error())
		}
		via, _, err := hostattr.Address(r.Via)
		if err != nil {
			diags.AddAttributeError(at.AtName("via"), "Invalid address", err.Error())
		}
		if !inherit { // what the gateways shall be in is known
			i.Routes = append(i.Routes, hostnet.StaticRoute{To: to, Via: via, Metric: int(r.Metric.ValueInt64())})
		}
	}
	return i, diags
}

func (m *model) decodeRoutes(ctx context.Context, diags *diag.Diagnostics) []routeModel {
	var routes []routeModel
	if convert.Known(m.Routes) {
		diags.Append(m.Routes.ElementsAs(ctx, &routes, false)...)
	}
	return routes
}

// fillModel writes what the machine has into the model.
func (m *model) fillModel(ctx context.Context, got netinterface.Interface) diag.Diagnostics {
	want, _ := m.toSpec(ctx)
	diags := m.Addressing.Fill(got.Addressing, false)
	m.FillDevice(got.MTU, got.Backend, got.ActiveBackend, got.RollbackTimeout)
	m.ActiveAddresses = convert.SpellList(got.Active)
	m.MAC = types.StringValue(got.MAC)
	if slices.Equal(want.Routes, got.Routes) && !m.Routes.IsUnknown() {
		return diags
	}
	var routes []routeModel
	for _, r := range got.Routes {
		one := routeModel{CIDR: types.StringValue(r.To.String()), Via: types.StringNull(), Metric: types.Int64Null()}
		if r.Via.IsValid() {
			one.Via = types.StringValue(r.Via.String())
		}
		if r.Metric != 0 {
			one.Metric = types.Int64Value(int64(r.Metric))
		}
		routes = append(routes, one)
	}
	m.Routes = types.ListNull(routeType)
	if len(routes) > 0 {
		list, d := types.ListValueFrom(ctx, routeType, routes)
		diags.Append(d...)
		m.Routes = list
	}
	return diags
}
