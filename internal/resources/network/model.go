package network

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
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

// fillModel writes what was read into the model. An object or a list that means the same stays as it is. A model without a mode was
// just imported: its objects are there, though they say nothing, as are its collections (crud.LeftOut).
func (m *model) fillModel(ctx context.Context, got network.Spec) (diags diag.Diagnostics) {
	said, _ := m.toSpec(ctx)
	was, imported := *m, m.Mode.IsNull()
	got.Definition = visibleDefinition(said.Definition, got)
	if imported {
		diags.Append(refuseUnmanaged(got.Definition)...)
	}
	diags.Append(warnOfLosses(got)...)
	got.Active = got.Active && len(got.CutOff) == 0
	got.Routes = slices.DeleteFunc(slices.Clone(got.Routes), func(r network.StaticRoute) bool { return slices.Contains(got.Lost, r) })
	convert.FromPlain(&got, m)
	m.LostRoutes = writeLostRoutes(got.Lost)
	if reflect.DeepEqual(got.DNS, network.DNS{}) && !imported {
		m.DNS = nullOf[network.DNS]()
	}
	if got.PXE == (network.PXE{}) && !imported {
		m.PXE = nullOf[network.PXE]()
	}
	if imported {
		return diags
	}
	if sameDHCP(said.DHCP, got.DHCP) && !was.DHCP.IsUnknown() {
		m.DHCP = was.DHCP
	}
	if sameDNS(said.DNS, got.DNS) && !was.DNS.IsUnknown() {
		m.DNS = was.DNS
	}
	if sameRoutes(said.Routes, got.Routes) && !was.Routes.IsUnknown() {
		m.Routes = was.Routes
	}
	if said.PXE == got.PXE && !was.PXE.IsUnknown() {
		m.PXE = was.PXE
	}
	return diags
}

// nullOf is the null of the object that a plain struct is.
func nullOf[T any]() types.Object { return convert.Value((*T)(nil)).(types.Object) }

// warnOfLosses says which machines and routes the network has lost behind libvirt's back.
func warnOfLosses(got network.Spec) (diags diag.Diagnostics) {
	if len(got.CutOff) > 0 {
		diags.AddAttributeWarning(path.Root("active"), fmt.Sprintf("Running machines are cut off from network %q", got.Name), fmt.Sprintf(
			"The network was stopped and started again without them, so its bridge has lost %s. It reads as not active, and an apply plugs them in again.", strings.Join(got.CutOff, ", ")))
	}
	for _, r := range got.Lost {
		diags.AddAttributeWarning(path.Root("routes"), fmt.Sprintf("A route of network %q is gone", got.Name), fmt.Sprintf(
			"The hypervisor has no route to %s by %s any more. It reads as not there, and an apply puts it back, or strikes it out of the network's definition where `routes` does not have it either.", r.Destination, r.Via))
	}
	return diags
}

// visibleDefinition picks the definition that drift is looked for in: the configuration, unless it is what was asked for
// and the running network is not. An edit by `virsh net-edit` shows in the first, one by `virsh net-update
// --live` in the second.
func visibleDefinition(said network.Definition, got network.Spec) network.Definition {
	if got.Live != nil && network.Equal(said, got.Definition) && !network.Equal(said, *got.Live) {
		return *got.Live
	}
	return got.Definition
}

func sameDHCP(a, b *network.DHCP) bool {
	return network.Equal(network.Definition{DHCP: a}, network.Definition{DHCP: b})
}

func sameDNS(a, b network.DNS) bool {
	return network.Equal(network.Definition{DNS: a}, network.Definition{DNS: b})
}

func sameRoutes(a, b []network.StaticRoute) bool {
	return network.Equal(network.Definition{Routes: a}, network.Definition{Routes: b})
}

func writeLostRoutes(routes []network.StaticRoute) types.List {
	var texts []string
	for _, r := range routes {
		texts = append(texts, fmt.Sprintf("%s via %s", r.Destination, r.Via))
	}
	return convert.List(texts) // null where there is none
}
