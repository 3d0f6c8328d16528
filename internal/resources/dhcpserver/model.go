package dhcpserver

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/kea"
)

type model struct {
	crud.ServingModel
	ID           types.String `tfsdk:"id"`
	ServiceNode  types.String `tfsdk:"service_node"`
	Interface    types.String `tfsdk:"interface"`
	CIDR         types.String `tfsdk:"cidr"`
	Ranges       types.List   `tfsdk:"ranges"`
	Hosts        types.Map    `tfsdk:"hosts"`
	LeaseSeconds types.Int64  `tfsdk:"lease_seconds"`
	Options      types.Map    `tfsdk:"options"`
	Boot         types.Object `tfsdk:"boot"`
	Pair         types.Object `tfsdk:"pair"`
}

func toSpec(ctx context.Context, m *model) (kea.Server, diag.Diagnostics) {
	var s kea.Server
	diags := convert.ToPlain(m, &s, func(...any) {})
	s.Subnet = s.Subnet.Masked()
	if s.Boot != nil && convert.WhollyKnown(ctx, m.Boot) && len(s.Boot.Files()) == 0 {
		diags.AddAttributeError(path.Root("boot"), "Nothing to boot", "write what at least one kind of machine boots, or leave boot out")
	}
	return s, diags
}
