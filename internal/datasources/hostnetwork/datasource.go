// Package hostnetwork is the data source virtcluster_host_network.
package hostnetwork

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values/computed"
)

type model struct {
	Host        types.String    `tfsdk:"host"`
	Links       map[string]link `tfsdk:"links"`
	Routes      []route         `tfsdk:"routes"`
	Nameservers []string        `tfsdk:"nameservers"`
	Search      []string        `tfsdk:"search"`
	Resolver    types.String    `tfsdk:"resolver"`
}

type link struct {
	MAC       string       `tfsdk:"mac"`
	MTU       int64        `tfsdk:"mtu"`
	Kind      types.String `tfsdk:"kind"`
	Bridge    types.String `tfsdk:"bridge"`
	State     string       `tfsdk:"state"`
	Addresses []string     `tfsdk:"addresses"`
	ManagedBy string       `tfsdk:"managed_by"`
}

type route struct {
	CIDR   string       `tfsdk:"cidr"`
	Via    types.String `tfsdk:"via"`
	Device string       `tfsdk:"device"`
	Metric int64        `tfsdk:"metric"`
}

// New is the constructor that the provider offers.
func New() datasource.DataSource {
	return crud.NewSource(crud.Source[model]{
		Name: "host_network",
		Schema: schema.Schema{
			MarkdownDescription: "The network of one machine as it is now: devices, addresses, routes, name servers, and what manages each.",
			Attributes: map[string]schema.Attribute{
				"host": schema.StringAttribute{
					Required: true, MarkdownDescription: "Endpoint of the machine: `ssh://[user@]host[:port]`, `local:`, `qemu-ga://[hypervisor]/domain`, or the id of a `virtcluster_service_node`.",
					Validators: []validator.String{values.Endpoint},
				},
				"links": computed.MapOf("Network devices by name, but for the loopback one.", computed.Attributes{
					"mac": computed.Text("Hardware address."), "mtu": computed.Number("MTU in bytes."),
					"kind":       computed.Text("Kind of a virtual device, such as `bridge` or `vlan`; null for a physical one."),
					"bridge":     computed.Text("The bridge that the device is in; null for none."),
					"state":      computed.Text("Operational state: `UP`, `DOWN` or `UNKNOWN`."),
					"addresses":  computed.Texts("Addresses with prefix lengths, but for link-local ones."),
					"managed_by": computed.Text("`networkmanager`, `systemd-networkd`, `netplan`, `ifupdown`, or `runtime` where nothing keeps it over a reboot."),
				}),
				"routes": computed.ListOf("Routes of the main table, IPv4 first.", computed.Attributes{
					"cidr": computed.Text("The network, `0.0.0.0/0` or `::/0` for a default route."), "via": computed.Text("Address of the gateway; null for a network that the device is in."),
					"device": computed.Text("The network device."), "metric": computed.Number("Metric; 0 where there is none."),
				}),
				"nameservers": computed.Texts("Name servers of `/etc/resolv.conf`, or those that systemd-resolved asks where that names its stub alone."),
				"search":      computed.Texts("Search domains of `/etc/resolv.conf`."),
				"resolver":    computed.Text("What writes `/etc/resolv.conf`: `systemd-resolved`, `networkmanager`, or `file` where nothing says so."),
			},
		},
		Read: readNetwork,
	})
}

func readNetwork(ctx context.Context, p crud.ProviderData, m *model) diag.Diagnostics {
	f := p.Fleet
	what := "the network of " + m.Host.ValueString()
	h, err := f.Host(ctx, m.Host.ValueString())
	if err != nil {
		return crud.NewReadFailures(what, err)
	}
	machine, err := hostnet.Look(ctx, h)
	if err != nil {
		return crud.NewReadFailures(what, err)
	}
	managers, err := hostnet.LookAtManagers(ctx, h)
	if err != nil {
		return crud.NewReadFailures(what, err)
	}
	resolver, err := hostnet.LookAtResolver(ctx, h)
	if err != nil {
		return crud.NewReadFailures(what, err)
	}
	m.Links, m.Routes = map[string]link{}, []route{}
	for _, l := range machine.Links {
		if l.Name == "lo" {
			continue
		}
		addresses := []string{}
		for _, p := range machine.Prefixes(l.Name) {
			addresses = append(addresses, p.String())
		}
		m.Links[l.Name] = link{
			MAC: l.Address, MTU: int64(l.MTU), Kind: convert.Text(l.LinkInfo.Kind), Bridge: convert.Text(l.Master), State: l.State,
			Addresses: addresses, ManagedBy: managers.Of(l.Name).Backend,
		}
	}
	for _, r := range machine.Routes {
		if r.Dev != "" && r.Dev != "lo" {
			m.Routes = append(m.Routes, route{CIDR: routeDestination(r), Via: convert.Text(r.Gateway), Device: r.Dev, Metric: int64(r.Metric)})
		}
	}
	m.Nameservers, m.Search = slices.Concat([]string{}, resolver.Nameservers), slices.Concat([]string{}, resolver.Search)
	m.Resolver = types.StringValue(resolver.Writer)
	return nil
}

// routeDestination is a route's as a prefix.
func routeDestination(r hostnet.Route) string {
	if to := r.To(); to.IsValid() {
		return to.String()
	}
	return r.Dst
}
