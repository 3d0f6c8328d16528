package network

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

type model struct {
	ID          types.String `tfsdk:"id"`
	Name        types.String `tfsdk:"name"`
	Hypervisor  types.String `tfsdk:"hypervisor"`
	Mode        types.String `tfsdk:"mode"`
	Bridge      types.String `tfsdk:"bridge"`
	CIDR        types.String `tfsdk:"cidr"`
	Gateway     types.String `tfsdk:"gateway"`
	IPv6CIDR    types.String `tfsdk:"ipv6_cidr"`
	IPv6Gateway types.String `tfsdk:"ipv6_gateway"`
	IPv6NAT     types.Bool   `tfsdk:"ipv6_nat"`
	DHCP        types.Object `tfsdk:"dhcp"`
	Domain      types.String `tfsdk:"domain"`
	DNS         types.Object `tfsdk:"dns"`
	Routes      types.List   `tfsdk:"routes"`
	PXE         types.Object `tfsdk:"pxe"`
	MTU         types.Int64  `tfsdk:"mtu"`
	Autostart   types.Bool   `tfsdk:"autostart"`
	Active      types.Bool   `tfsdk:"active"`
	VirtualPort types.String `tfsdk:"virtual_port"`
	MAC         types.String `tfsdk:"mac"`
	LostRoutes  types.List   `tfsdk:"lost_routes"`
}

// toSpec converts the model; what is unknown becomes the zero value.
func (m *model) toSpec(context.Context) (network.Spec, diag.Diagnostics) {
	var s network.Spec
	diags := convert.ToPlain(m, &s, func(...any) {})
	return s, diags
}
