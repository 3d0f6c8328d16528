package route

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
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
	var r route.Route
	diags := convert.ToPlain(m, &r, func(...any) {})
	return r, diags
}
