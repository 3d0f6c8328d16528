package network

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
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

type dhcpModel struct {
	Ranges       types.List  `tfsdk:"ranges"`
	Hosts        types.Map   `tfsdk:"hosts"`
	LeaseSeconds types.Int64 `tfsdk:"lease_seconds"`
	Options      types.Map   `tfsdk:"options"`
}

type dnsModel struct {
	Enabled    types.Bool `tfsdk:"enabled"`
	LocalOnly  types.Bool `tfsdk:"local_only"`
	Forwarders types.List `tfsdk:"forwarders"`
	Hosts      types.Map  `tfsdk:"hosts"`
}

type pxeModel struct {
	TFTPRoot types.String `tfsdk:"tftp_root"`
	BootFile types.String `tfsdk:"boot_file"`
	Server   types.String `tfsdk:"server"`
}

// pair is a range (start, end), a route (cidr, via) or a forwarder (domain, address).
type (
	rangeModel struct {
		Start types.String `tfsdk:"start"`
		End   types.String `tfsdk:"end"`
	}
	routeModel struct {
		CIDR types.String `tfsdk:"cidr"`
		Via  types.String `tfsdk:"via"`
	}
	hostModel struct {
		IP       types.String `tfsdk:"ip"`
		Hostname types.String `tfsdk:"hostname"`
	}
	forwarderModel struct {
		Domain  types.String `tfsdk:"domain"`
		Address types.String `tfsdk:"address"`
	}
)

// toSpec converts the model; what is unknown becomes the zero value.
func (m *model) toSpec(ctx context.Context) (network.Spec, diag.Diagnostics) {
	r := reader{ctx: ctx}
	s := network.Spec{
		Definition: network.Definition{
			Name: m.Name.ValueString(), Mode: m.Mode.ValueString(), Bridge: m.Bridge.ValueString(),
			Subnet: r.readPrefix(path.Root("cidr"), m.CIDR), Gateway: r.readAddress(path.Root("gateway"), m.Gateway),
			Subnet6: r.readPrefix(path.Root("ipv6_cidr"), m.IPv6CIDR), Gateway6: r.readAddress(path.Root("ipv6_gateway"), m.IPv6Gateway),
			NAT6: m.IPv6NAT.ValueBool(), DHCP: r.readDHCP(m.DHCP), Domain: m.Domain.ValueString(), DNS: r.readDNS(m.DNS),
			Routes: r.readRoutes(m.Routes), PXE: r.readPXE(m.PXE), MTU: m.MTU.ValueInt64(), VirtualPort: m.VirtualPort.ValueString(),
		},
		State: network.State{Autostart: m.Autostart.ValueBool(), Active: m.Active.ValueBool()},
	}
	return s, r.diags
}

// reader converts values and gathers what is wrong with them.
type reader struct {
	ctx   context.Context
	diags diag.Diagnostics
}

func (r *reader) readAddress(at path.Path, v types.String) netip.Addr {
	if v.ValueString() == "" {
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(v.ValueString())
	if err != nil || a.Zone() != "" {
		r.refuseText(at, "Invalid address", "write an IP address such as 10.0.0.254", v.ValueString())
		return netip.Addr{}
	}
	return a.Unmap()
}

// refuseText says what to write instead of a text.
func (r *reader) refuseText(at path.Path, summary, instead, text string) {
	r.diags.AddAttributeError(at, summary, crud.DetailAt(at, fmt.Sprintf("%s, not %q", instead, text)))
}

func (r *reader) readPrefix(at path.Path, v types.String) netip.Prefix {
	if v.ValueString() == "" {
		return netip.Prefix{}
	}
	p, err := netip.ParsePrefix(v.ValueString())
	if err != nil {
		r.refuseText(at, "Invalid subnet", "write an address and a prefix length such as 10.0.0.0/24", v.ValueString())
	}
	return p
}

// decodeKnown converts a value unless it is null or unknown, and says whether it did.
func (r *reader) decodeKnown(convert func() diag.Diagnostics, absent bool) bool {
	if absent {
		return false
	}
	d := convert()
	r.diags.Append(d...)
	return !d.HasError()
}

func (r *reader) decodeList(v types.List, target any) {
	r.decodeKnown(func() diag.Diagnostics {
		if spread, ok := convert.SpreadUnknowns(v).(types.List); ok {
			v = spread
		}
		return v.ElementsAs(r.ctx, target, false)
	}, !convert.Known(v))
}

func (r *reader) readDHCP(v types.Object) *network.DHCP {
	var m dhcpModel
	if !r.decodeKnown(func() diag.Diagnostics { return v.As(r.ctx, &m, objectOptions) }, !convert.Known(v)) {
		return nil
	}
	d := &network.DHCP{}
	if convert.Known(m.LeaseSeconds) {
		d.LeaseSeconds = m.LeaseSeconds.ValueInt64Pointer()
	}
	var ranges []rangeModel
	r.decodeList(m.Ranges, &ranges)
	for i, e := range ranges {
		at := path.Root("dhcp").AtName("ranges").AtListIndex(i)
		d.Ranges = append(d.Ranges, network.Range{Start: r.readAddress(at.AtName("start"), e.Start), End: r.readAddress(at.AtName("end"), e.End)})
	}
	d.Hosts = r.readHosts(m.Hosts)
	options := map[string]types.String{}
	r.decodeKnown(func() diag.Diagnostics { return m.Options.ElementsAs(r.ctx, &options, false) }, !convert.Known(m.Options))
	for name, value := range options {
		if d.Options == nil {
			d.Options = map[string]string{}
		}
		d.Options[name] = value.ValueString()
	}
	return d
}

// readHosts reads reservations by their MAC address in canonical form; two spellings of one are an error.
func (r *reader) readHosts(v types.Map) map[string]network.Host {
	models := map[string]hostModel{}
	r.decodeKnown(func() diag.Diagnostics { return v.ElementsAs(r.ctx, &models, false) }, !convert.Known(v))
	var hosts map[string]network.Host
	for _, key := range slices.Sorted(maps.Keys(models)) {
		at := path.Root("dhcp").AtName("hosts").AtMapKey(key)
		mac := canonicalMAC(key)
		if _, twice := hosts[mac]; twice {
			r.refuseText(at, "MAC address written twice", "write each MAC address once", key)
		}
		if hosts == nil {
			hosts = map[string]network.Host{}
		}
		hosts[mac] = network.Host{IP: r.readAddress(at.AtName("ip"), models[key].IP), Name: models[key].Hostname.ValueString()}
	}
	return hosts
}

// canonicalMAC is a MAC address in lower case with colons; what is none stays as it is, for Validate to refuse.
func canonicalMAC(text string) string {
	if mac, err := alloc.CanonicalMAC(text); err == nil {
		return mac
	}
	return text
}

func (r *reader) readDNS(v types.Object) network.DNS {
	var m dnsModel
	if !r.decodeKnown(func() diag.Diagnostics { return v.As(r.ctx, &m, objectOptions) }, !convert.Known(v)) {
		return network.DNS{}
	}
	d := network.DNS{Disabled: convert.Known(m.Enabled) && !m.Enabled.ValueBool(), LocalOnly: m.LocalOnly.ValueBool()}
	var forwarders []forwarderModel
	r.decodeList(m.Forwarders, &forwarders)
	for i, e := range forwarders {
		at := path.Root("dns").AtName("forwarders").AtListIndex(i)
		d.Forwarders = append(d.Forwarders, network.Forwarder{Domain: e.Domain.ValueString(), Address: r.readAddress(at.AtName("address"), e.Address)})
	}
	hosts := map[string]types.List{}
	r.decodeKnown(func() diag.Diagnostics { return m.Hosts.ElementsAs(r.ctx, &hosts, false) }, !convert.Known(m.Hosts))
	for key, value := range hosts {
		address := r.readAddress(path.Root("dns").AtName("hosts").AtMapKey(key), types.StringValue(key))
		var names []types.String
		r.decodeList(value, &names)
		if d.Hosts == nil {
			d.Hosts = map[netip.Addr][]string{}
		}
		for _, name := range names {
			d.Hosts[address] = append(d.Hosts[address], name.ValueString())
		}
		if len(names) == 0 && !value.IsUnknown() {
			d.Hosts[address] = nil
		}
	}
	return d
}

func (r *reader) readRoutes(v types.List) []network.StaticRoute {
	var models []routeModel
	r.decodeList(v, &models)
	var routes []network.StaticRoute
	for i, e := range models {
		at := path.Root("routes").AtListIndex(i)
		routes = append(routes, network.StaticRoute{Destination: r.readPrefix(at.AtName("cidr"), e.CIDR), Via: r.readAddress(at.AtName("via"), e.Via)})
	}
	return routes
}

func (r *reader) readPXE(v types.Object) network.PXE {
	var m pxeModel
	r.decodeKnown(func() diag.Diagnostics { return v.As(r.ctx, &m, objectOptions) }, !convert.Known(v))
	return network.PXE{TFTPRoot: m.TFTPRoot.ValueString(), BootFile: m.BootFile.ValueString(), Server: r.readAddress(path.Root("pxe").AtName("server"), m.Server)}
}
