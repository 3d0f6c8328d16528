package resolver

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/resolver"
)

type model struct {
	ID            types.String `tfsdk:"id"`
	Host          types.String `tfsdk:"host"`
	Nameservers   types.List   `tfsdk:"nameservers"`
	Search        types.List   `tfsdk:"search"`
	Domains       types.List   `tfsdk:"domains"`
	Backend       types.String `tfsdk:"backend"`
	ActiveBackend types.String `tfsdk:"active_backend"`
}

func (m *model) toSpec() (resolver.Resolver, diag.Diagnostics) {
	var r resolver.Resolver
	diags := convert.ToPlain(m, &r, func(...any) {})
	return r, diags
}
