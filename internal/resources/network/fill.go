package network

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// objectOptions let unknown and null parts of an object be zero values.
var objectOptions = basetypes.ObjectAsOptions{UnhandledNullAsEmpty: true, UnhandledUnknownAsEmpty: true}

// fillModel writes what was read into the model. A value that means the same keeps its spelling. A model without a mode was
// just imported: what is empty there stands for what was left out too (crud.LeftOut).
func (m *model) fillModel(ctx context.Context, got network.Spec) diag.Diagnostics {
	said, _ := m.toSpec(ctx)
	w := writer{ctx: ctx, imported: m.Mode.IsNull()}
	if len(got.CutOff) > 0 {
		w.diags.AddAttributeWarning(path.Root("active"), fmt.Sprintf("Running machines are cut off from network %q", got.Name), fmt.Sprintf(
			"The network was stopped and started again without them, so its bridge has lost %s. It reads as not active, and an apply plugs them in again.", strings.Join(got.CutOff, ", ")))
	}
	n := visibleDefinition(said.Definition, got)
	if w.imported {
		w.diags.Append(refuseUnmanaged(n)...)
	}
	for _, r := range got.Lost {
		w.diags.AddAttributeWarning(path.Root("routes"), fmt.Sprintf("A route of network %q is gone", got.Name), fmt.Sprintf(
			"The hypervisor has no route to %s by %s any more. It reads as not there, and an apply puts it back, or strikes it out of the network's definition where `routes` does not have it either.", r.Destination, r.Via))
	}
	m.LostRoutes = w.writeLostRoutes(got.Lost)
	n.Routes = slices.DeleteFunc(slices.Clone(n.Routes), func(r network.StaticRoute) bool { return slices.Contains(got.Lost, r) })
	m.ID, m.Name, m.Mode = types.StringValue(got.UUID), types.StringValue(n.Name), types.StringValue(n.Mode)
	m.Bridge, m.Domain, m.VirtualPort, m.MAC = convert.Text(n.Bridge), convert.Text(n.Domain), convert.Text(n.VirtualPort), convert.Text(got.MAC)
	m.CIDR, m.Gateway = keepSpelling(m.CIDR, said.Subnet, n.Subnet), keepSpelling(m.Gateway, said.Gateway, n.Gateway)
	m.IPv6CIDR, m.IPv6Gateway = keepSpelling(m.IPv6CIDR, said.Subnet6, n.Subnet6), keepSpelling(m.IPv6Gateway, said.Gateway6, n.Gateway6)
	m.IPv6NAT = types.BoolValue(n.NAT6)
	m.Autostart, m.Active = types.BoolValue(got.State.Autostart), types.BoolValue(got.State.Active && len(got.CutOff) == 0)
	if m.MTU = types.Int64PointerValue(nil); n.MTU != 0 {
		m.MTU = types.Int64Value(n.MTU)
	}
	if m.DHCP.IsUnknown() || !sameDHCP(said.DHCP, n.DHCP) {
		m.DHCP = w.writeDHCP(n.DHCP)
	}
	if w.imported || m.DNS.IsUnknown() || !sameDNS(said.DNS, n.DNS) {
		m.DNS = w.writeDNS(n.DNS)
	}
	if w.imported || m.Routes.IsUnknown() || !sameRoutes(said.Routes, n.Routes) {
		m.Routes = w.writeRoutes(n.Routes)
	}
	if w.imported || m.PXE.IsUnknown() || said.PXE != n.PXE {
		m.PXE = w.writePXE(n.PXE)
	}
	w.fillTypedNulls(m)
	return w.diags
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

// address is what a subnet and an address have in common.
type address interface {
	comparable
	IsValid() bool
	String() string
}

// keepSpelling returns the text as it was written where it means the same as what was read.
func keepSpelling[A address](text types.String, said, read A) types.String {
	switch {
	case !read.IsValid():
		return types.StringNull()
	case said == read && convert.Known(text):
		return text
	}
	return types.StringValue(read.String())
}

// writer builds nested values and gathers what goes wrong, which only a mistake in this package can cause.
type writer struct {
	ctx      context.Context
	imported bool
	diags    diag.Diagnostics
}

// fillTypedNulls replaces what was never set, as in an import, by the null of its type.
func (w *writer) fillTypedNulls(m *model) {
	if m.DHCP.IsNull() {
		m.DHCP = types.ObjectNull(dhcpTypes)
	}
	if m.DNS.IsNull() {
		m.DNS = types.ObjectNull(dnsTypes)
	}
	if m.PXE.IsNull() {
		m.PXE = types.ObjectNull(pxeTypes)
	}
	if m.Routes.IsNull() {
		m.Routes = types.ListNull(routeType)
	}
}

// newList returns a list that is null where there is nothing in it, and empty in an import.
func newList[T any](w *writer, element attr.Type, models []T) types.List {
	if len(models) == 0 && !w.imported {
		return types.ListNull(element)
	}
	v, d := types.ListValueFrom(w.ctx, element, append([]T{}, models...)) // a nil slice would be null
	w.diags.Append(d...)
	return v
}

func (w *writer) newObject(kinds map[string]attr.Type, from any) types.Object {
	v, d := types.ObjectValueFrom(w.ctx, kinds, from)
	w.diags.Append(d...)
	return v
}

func (w *writer) writeDHCP(d *network.DHCP) types.Object {
	if d == nil {
		return types.ObjectNull(dhcpTypes)
	}
	m := dhcpModel{LeaseSeconds: types.Int64PointerValue(d.LeaseSeconds), Options: types.MapNull(types.StringType), Hosts: types.MapNull(hostType)}
	var ranges []rangeModel
	for _, r := range d.Ranges {
		ranges = append(ranges, rangeModel{types.StringValue(r.Start.String()), types.StringValue(r.End.String())})
	}
	m.Ranges = newList(w, rangeType, ranges)
	if len(d.Options) > 0 || w.imported {
		options := map[string]string{} // a nil map would be null
		maps.Copy(options, d.Options)
		v, diags := types.MapValueFrom(w.ctx, types.StringType, options)
		w.diags.Append(diags...)
		m.Options = v
	}
	if len(d.Hosts) > 0 || w.imported {
		hosts := map[string]hostModel{}
		for mac, h := range d.Hosts {
			hosts[mac] = hostModel{types.StringValue(h.IP.String()), convert.Text(h.Name)}
		}
		v, diags := types.MapValueFrom(w.ctx, hostType, hosts)
		w.diags.Append(diags...)
		m.Hosts = v
	}
	return w.newObject(dhcpTypes, m)
}

func (w *writer) writeDNS(d network.DNS) types.Object {
	if reflect.DeepEqual(d, network.DNS{}) && !w.imported {
		return types.ObjectNull(dnsTypes)
	}
	m := dnsModel{Enabled: types.BoolValue(!d.Disabled), LocalOnly: types.BoolValue(d.LocalOnly), Hosts: types.MapNull(namesType)}
	var forwarders []forwarderModel
	for _, f := range d.Forwarders {
		var address netip.Addr
		forwarders = append(forwarders, forwarderModel{convert.Text(f.Domain), keepSpelling(types.StringNull(), address, f.Address)})
	}
	m.Forwarders = newList(w, forwarderType, forwarders)
	if len(d.Hosts) > 0 || w.imported {
		hosts := map[string][]string{}
		for _, a := range slices.SortedFunc(maps.Keys(d.Hosts), netip.Addr.Compare) {
			hosts[a.String()] = d.Hosts[a]
		}
		v, diags := types.MapValueFrom(w.ctx, namesType, hosts)
		w.diags.Append(diags...)
		m.Hosts = v
	}
	return w.newObject(dnsTypes, m)
}

func (w *writer) writeRoutes(routes []network.StaticRoute) types.List {
	var models []routeModel
	for _, r := range routes {
		models = append(models, routeModel{types.StringValue(r.Destination.String()), types.StringValue(r.Via.String())})
	}
	return newList(w, routeType, models)
}

func (w *writer) writeLostRoutes(routes []network.StaticRoute) types.List {
	var texts []string
	for _, r := range routes {
		texts = append(texts, fmt.Sprintf("%s via %s", r.Destination, r.Via))
	}
	return convert.List(texts) // null where there is none
}

func (w *writer) writePXE(p network.PXE) types.Object {
	if p == (network.PXE{}) && !w.imported {
		return types.ObjectNull(pxeTypes)
	}
	var none netip.Addr
	return w.newObject(pxeTypes, pxeModel{convert.Text(p.TFTPRoot), convert.Text(p.BootFile), keepSpelling(types.StringNull(), none, p.Server)})
}
