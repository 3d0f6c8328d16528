// Package network is the data source virtcluster_network: a libvirt network that something else made.
package network

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values/computed"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// New makes the data source.
func New() datasource.DataSource {
	return crud.NewSource(crud.Source[model]{Name: "network", Schema: networkSchema(), Read: readNetwork})
}

type model struct {
	ID           types.String  `tfsdk:"id"`
	Name         types.String  `tfsdk:"name"`
	Hypervisor   types.String  `tfsdk:"hypervisor"`
	Mode         types.String  `tfsdk:"mode"`
	Bridge       types.String  `tfsdk:"bridge"`
	CIDR         types.String  `tfsdk:"cidr"`
	Gateway      types.String  `tfsdk:"gateway"`
	IPv6CIDR     types.String  `tfsdk:"ipv6_cidr"`
	IPv6Gateway  types.String  `tfsdk:"ipv6_gateway"`
	Domain       types.String  `tfsdk:"domain"`
	MTU          types.Int64   `tfsdk:"mtu"`
	MAC          types.String  `tfsdk:"mac"`
	Active       types.Bool    `tfsdk:"active"`
	Autostart    types.Bool    `tfsdk:"autostart"`
	DHCPRanges   []span        `tfsdk:"dhcp_ranges"`
	Reservations []reservation `tfsdk:"reservations"`
	Routes       []route       `tfsdk:"routes"`
}

type span struct {
	Start types.String `tfsdk:"start"`
	End   types.String `tfsdk:"end"`
}

type reservation struct {
	MAC      types.String `tfsdk:"mac"`
	DUID     types.String `tfsdk:"duid"`
	IP       types.String `tfsdk:"ip"`
	Hostname types.String `tfsdk:"hostname"`
}

type route struct {
	CIDR types.String `tfsdk:"cidr"`
	Via  types.String `tfsdk:"via"`
}

func networkSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A libvirt network that something else made, as it runs now, or as it is configured where it does not run.",
		Attributes: map[string]schema.Attribute{
			"id":           computed.Text("The network's UUID."),
			"name":         schema.StringAttribute{Validators: []validator.String{values.Name}, Required: true, MarkdownDescription: "Name or UUID of the network."},
			"hypervisor":   schema.StringAttribute{Validators: []validator.String{values.Name}, Optional: true, MarkdownDescription: "Which of the provider's `hypervisors` the network is on. Default: the provider's `uri`."},
			"mode":         computed.Text("`nat`, `route`, `open`, `isolated`, `bridge`, or another of libvirt's forward modes."),
			"bridge":       computed.Text("Name of the bridge device; null where there is none."),
			"cidr":         computed.Text("IPv4 subnet; null where there is none."),
			"gateway":      computed.Text("The hypervisor's own address in `cidr`."),
			"ipv6_cidr":    computed.Text("IPv6 subnet; null where there is none."),
			"ipv6_gateway": computed.Text("The hypervisor's own address in `ipv6_cidr`."),
			"domain":       computed.Text("DNS domain; null where there is none."),
			"mtu":          computed.Number("Largest packet in bytes; null where libvirt's default holds."),
			"mac":          computed.Text("MAC address of the bridge; null where it is not the network's own."),
			"active":       computed.Flag("Whether the network runs."),
			"autostart":    computed.Flag("Whether the network starts with the hypervisor."),
			"dhcp_ranges":  computed.ListOf("Ranges that addresses are given out from.", computed.Attributes{"start": computed.Text("First address."), "end": computed.Text("Last address.")}),
			"reservations": computed.ListOf("Fixed addresses of machines, whoever owns them.", computed.Attributes{
				"mac": computed.Text("MAC address of the machine; null on IPv6."), "duid": computed.Text("DHCP unique identifier of the machine, on IPv6."),
				"ip": computed.Text("Its address."), "hostname": computed.Text("Its name; null where there is none."),
			}),
			"routes": computed.ListOf("Static routes that the network brings to the hypervisor.", computed.Attributes{"cidr": computed.Text("Destination."), "via": computed.Text("Address of the machine that forwards.")}),
		},
	}
}

func readNetwork(ctx context.Context, p crud.ProviderData, m *model) diag.Diagnostics {
	f := p.Fleet
	c, err := f.Hypervisor(ctx, m.Hypervisor.ValueString())
	var n *hypervisor.Network
	if err == nil {
		n, err = c.Network(ctx, m.Name.ValueString())
	}
	if err == nil {
		err = m.fillModel(n)
	}
	return crud.NewReadFailures(fmt.Sprintf("network %q", m.Name.ValueString()), err)
}

// fillModel writes what the hypervisor has into the model.
func (m *model) fillModel(n *hypervisor.Network) error {
	xml := n.ConfigXML
	if n.Active() {
		xml = n.LiveXML
	}
	s, err := network.Parse(xml)
	if err != nil {
		return err
	}
	m.ID, m.Mode = types.StringValue(n.UUID), types.StringValue(s.Mode)
	m.Bridge, m.Domain, m.MAC = convert.Text(s.Bridge), convert.Text(s.Domain), types.StringNull()
	m.CIDR, m.Gateway, m.IPv6CIDR, m.IPv6Gateway = spellAddress(s.Subnet), spellAddress(s.Gateway), spellAddress(s.Subnet6), spellAddress(s.Gateway6)
	if mac := n.Current().MAC; mac != nil {
		m.MAC = types.StringValue(mac.Address)
	}
	if m.MTU = types.Int64Null(); s.MTU != 0 {
		m.MTU = types.Int64Value(s.MTU)
	}
	m.Active, m.Autostart = types.BoolValue(n.Active()), types.BoolValue(n.Autostart)
	m.DHCPRanges, m.Reservations, m.Routes = []span{}, []reservation{}, []route{}
	if s.DHCP != nil {
		for _, r := range s.DHCP.Ranges {
			m.DHCPRanges = append(m.DHCPRanges, span{spellAddress(r.Start), spellAddress(r.End)})
		}
	}
	for _, h := range hypervisor.DHCPHosts(n.Current()) {
		m.Reservations = append(m.Reservations, reservation{convert.Text(h.MAC), convert.Text(h.ID), spellAddress(h.IP), convert.Text(h.Name)})
	}
	for _, r := range s.Routes {
		m.Routes = append(m.Routes, route{spellAddress(r.Destination), spellAddress(r.Via)})
	}
	return nil
}

// spellAddress spells an address or a prefix; an invalid one is null.
func spellAddress[A netip.Addr | netip.Prefix](a A) types.String {
	switch v := any(a).(type) {
	case netip.Addr:
		if v.IsValid() {
			return types.StringValue(v.String())
		}
	case netip.Prefix:
		if v.IsValid() {
			return types.StringValue(v.String())
		}
	}
	return types.StringNull()
}
