package network

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// networkSchema is the resource's schema.
func networkSchema(context.Context) schema.Schema {
	stays := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	replaces := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	return schema.Schema{
		MarkdownDescription: "A libvirt network. DHCP ranges, DNS records, autostart and the running state change while machines run. " +
			"Any other change restarts the network in the same apply: its UUID and its bridge's MAC address stay, every running machine is plugged in again, and the plan warns of it. " +
			"Reservations that other resources own, but for their lease time, and whatever a network has that is not listed here, are never touched.",
		Attributes: map[string]schema.Attribute{
			"id":         schema.StringAttribute{Computed: true, PlanModifiers: stays, MarkdownDescription: "The network's UUID."},
			"name":       values.Name.Required("Name of the network on its hypervisor. A change makes a new network.", replaces...),
			"hypervisor": crud.HypervisorAttribute("network", "network"),
			"mode": values.OneOf(network.Modes...).Default(network.NAT, "What happens to the network's traffic: `nat` (out through the hypervisor's addresses), `route` (routed, with firewall rules), `open` (routed, no firewall rules), "+
				"`isolated` (stays among the machines and the hypervisor) or `bridge` (machines are plugged into an existing bridge that something else manages). Default: `nat`."),
			"bridge":       values.Device.OptionalComputed("Name of the bridge device, up to 15 bytes. Required in mode `bridge`. Default: libvirt chooses one.", stays...),
			"cidr":         values.AddressInPrefix.Optional("IPv4 subnet, such as `10.0.0.0/24`, outside of what other networks and the hypervisor's routes have, but for its default route. Required in the modes `nat`, `route` and `open` unless there is `ipv6_cidr`.", values.AddressInPrefix.KeepSpelling()),
			"gateway":      values.Address.OptionalComputed("The hypervisor's own address in `cidr`. Default: the first host address.", values.Address.KeepSpelling()),
			"ipv6_cidr":    values.AddressInPrefix.Optional("IPv6 subnet, such as `fd00:10::/64`; what `cidr` says of others holds for it too.", values.AddressInPrefix.KeepSpelling()),
			"ipv6_gateway": values.Address.OptionalComputed("The hypervisor's own address in `ipv6_cidr`. Default: the first host address.", values.Address.KeepSpelling()),
			"ipv6_nat":     values.Flag.Default(false, "Whether mode `nat` translates IPv6 too; libvirt routes it otherwise. Default: `false`."),
			"dhcp":         dhcpSchema(),
			"domain":       values.HostName.Optional("DNS domain that machines on the network are in. Default: none."),
			"dns":          dnsSchema(),
			"routes": values.Objects().OptionalComputedListOf("Static routes kept on the hypervisor, each through a machine on this network. Their order has no meaning. One that was deleted by hand from the hypervisor's kernel is put back by a restart of the network, where the provider can look at that machine (`qemu:///`, `qemu+ssh`).", values.Attributes{
				"cidr": values.AddressInPrefix.Required("Destination, such as `10.128.0.0/14`."),
				"via":  values.Address.Required("Address of the machine that forwards."),
			}, crud.ListLeftOut()...),
			"pxe": values.OptionalComputedObject("What machines that boot from the network are told. Default: nothing.", values.Attributes{
				"tftp_root": values.Path.Optional("Directory on the hypervisor that the network's own TFTP server serves. Default: no TFTP server."),
				"boot_file": values.Line.Optional("File to boot, relative to the TFTP server's root. Needs a DHCP range."),
				"server":    values.Word.Optional("Address of the TFTP server. Default: the hypervisor."),
			}),
			"mtu":          values.Between(68, 65535).Optional("Largest packet of the bridge and its machines, in bytes. Default: libvirt's, 1500."),
			"autostart":    values.Flag.Default(true, "Whether the network starts with the hypervisor. Default: `true`."),
			"active":       values.Flag.Default(true, "Whether the network runs, with the running machines on it plugged in. One that was stopped by hand is started again, and one whose bridge has lost machines reads as `false` and gets them back. Default: `true`."),
			"virtual_port": values.OneOf("openvswitch").Optional("`openvswitch` where the bridge of mode `bridge` is an Open vSwitch one. Default: a Linux bridge."),
			"mac":          schema.StringAttribute{Computed: true, PlanModifiers: stays, MarkdownDescription: "MAC address of the bridge; none in mode `bridge`."},
			"lost_routes": schema.ListAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Routes that the network still has on paper and that the hypervisor's kernel has no more, such as `10.128.0.0/14 via 10.0.0.1`; an apply puts each back, or strikes it out where `routes` does not have it either. Null where none is lost.",
			},
		},
	}
}

func dhcpSchema() schema.Attribute {
	return values.OptionalObject("Addresses that the network gives out. Default: no DHCP at all. With `{}` only reservations are given out: those of nodes' interfaces and of `virtcluster_dhcp_reservation`.", values.Attributes{
		"ranges": values.Objects().OptionalComputedListOf("Ranges that machines without a reservation get an address from, IPv4 and IPv6. No reserved address may be in them, nor a virtual one (`virtcluster_vip`). Their order has no meaning. Default: none.", values.Attributes{
			"start": values.Address.Required("First address."),
			"end":   values.Address.Required("Last address."),
		}, crud.ListLeftOut()...),
		"hosts": values.Objects().Keys(values.MAC).OptionalComputedMapOf("Reservations by MAC address that are there before the network starts, and cost nothing when machines are made: a `virtcluster_node` or `virtcluster_dhcp_reservation` of the same MAC address and IP address uses its entry, and leaves it here when it goes. "+
			"Without it, each reservation is added to the running network by itself, for which libvirt takes the network's firewall rules away and builds them anew. A change does not restart the network. Default: none.", values.Attributes{
			"ip":       values.Address.Required("IPv4 address, inside `cidr` and outside of the ranges."),
			"hostname": values.HostName.Optional("Name that the machine is told and that the network's DNS knows it by; each name once. Default: none."),
		}, crud.MapLeftOut()...),
		"lease_seconds": values.Seconds(120).OrZero().Optional("How long a lease lasts, in seconds: 120 or more, or 0 for ever. Reservations have it too, but for those that somebody gave another lease time by hand. Default: libvirt's, one hour."),
		"options":       values.Each(values.Line).Keys(values.Word).OptionalComputedMap("DHCP options by number or by dnsmasq's name, such as `{ \"ntp-server\" = \"10.0.0.100\" }`; `option6:` goes before the name of an IPv6 one. A change restarts the network.", crud.MapLeftOut()...),
	})
}

func dnsSchema() schema.Attribute {
	return values.OptionalComputedObject("The network's own DNS server. Default: it runs and forwards to the hypervisor's.", values.Attributes{
		"enabled":    values.Flag.Default(true, "Whether there is one. Default: `true`."),
		"local_only": values.Flag.Default(false, "Whether questions about `domain` are never forwarded. Default: `false`."),
		"forwarders": values.Objects().OptionalComputedListOf("Where questions are forwarded to. Their order has no meaning. Default: the hypervisor's own name servers.", values.Attributes{
			"domain":  values.HostName.Optional("Domain that this is for. Default: everything else."),
			"address": values.Address.Optional("Address of the name server. Default: where everything else goes, as an exception from a forwarder for the domain above."),
		}, crud.ListLeftOut()...),
		"hosts": values.Each(values.Each(values.HostName)).Keys(values.Address).OptionalComputedMap("Extra records: address to names, such as `{ \"10.0.0.250\" = [\"api\", \"api-int\"] }`. Default: none.", crud.MapLeftOut()...),
	})
}

// importForms is what `terraform import` takes, for messages.
var importForms = strings.Join([]string{"NAME", "UUID", "HYPERVISOR/NAME", "HYPERVISOR/UUID"}, ", ")
