package exposedservice

import (
	"context"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/exposureattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
)

type model struct {
	exposureattr.Common
	Name    types.String `tfsdk:"name"`
	Type    types.String `tfsdk:"type"`
	Ports   types.Map    `tfsdk:"ports"`
	Targets types.List   `tfsdk:"targets"`
}

type port struct {
	Port       types.Int64  `tfsdk:"port"`
	TargetPort types.Int64  `tfsdk:"target_port"`
	Protocol   types.String `tfsdk:"protocol"`
}

var portTypes = map[string]attr.Type{"port": types.Int64Type, "target_port": types.Int64Type, "protocol": types.StringType}

func (m *model) toSpec(ctx context.Context) (exposure.Exposure, diag.Diagnostics) {
	e := exposure.Exposure{Name: m.Name.ValueString(), Kind: exposure.Kind(m.Type.ValueString()), Ports: map[string]exposure.Port{}}
	diags := m.Common.Spec(&e)
	for name, p := range m.decodePorts(ctx, &diags) {
		e.Ports[name] = exposure.Port{Port: uint16(p.Port.ValueInt64()), TargetPort: uint16(p.TargetPort.ValueInt64()), Protocol: p.Protocol.ValueString()}
	}
	for i, text := range convert.Texts(m.Targets) {
		if text == "" {
			continue // unknown
		}
		a, err := netip.ParseAddr(text)
		if err != nil {
			diags.AddAttributeError(path.Root("targets").AtListIndex(i), "Invalid address", err.Error())
			continue
		}
		e.Targets = append(e.Targets, a)
	}
	return e, diags
}

func (m *model) decodePorts(ctx context.Context, diags *diag.Diagnostics) map[string]port {
	return exposureattr.DecodePorts[port](ctx, m.Ports, diags)
}

func (m *model) fillModel(ctx context.Context, got exposure.Exposure) (diags diag.Diagnostics) {
	m.Common.Fill(got)
	ports := map[string]port{}
	for name, p := range got.Ports {
		ports[name] = port{types.Int64Value(int64(p.Port)), types.Int64Value(int64(p.TargetPort)), types.StringValue(p.Protocol)}
	}
	m.Ports, diags = types.MapValueFrom(ctx, types.ObjectType{AttrTypes: portTypes}, ports)
	m.Type, m.Targets = types.StringValue(string(got.Kind)), convert.SpellList(got.Targets)
	return diags
}
