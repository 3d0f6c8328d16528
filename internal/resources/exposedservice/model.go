package exposedservice

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

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

func toSpec(_ context.Context, m *model) (exposure.Exposure, diag.Diagnostics) {
	var e exposure.Exposure
	diags := exposureattr.ReadExposure(m, &e)
	return e, diags
}

func (m *model) decodePorts(ctx context.Context, diags *diag.Diagnostics) map[string]port {
	return exposureattr.DecodePorts[port](ctx, m.Ports, diags)
}
