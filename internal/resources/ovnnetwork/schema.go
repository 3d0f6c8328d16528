package ovnnetwork

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/ovnattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// daySeconds is how long leases last where nobody says.
const daySeconds = 24 * 60 * 60

func resourceSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A network of OVN over all of its chassis: one segment of Ethernet, wherever its machines run. What is changed here changes while they do. " +
			"What the network has in the database besides, and whatever others have there, is never touched.",
		Attributes: ovnattr.Attributes(noun, map[string]schema.Attribute{
			"mode": values.OneOf(ovn.Translated, ovn.Routed, ovn.Open, ovn.Isolated, ovn.Bridged).Default(ovn.Translated, "How guests reach what is not on the network. By the `virtcluster_ovn_router` that connects it: `nat` (at the router's address outside, where the router has `snat`), `route` or `open` (at their own addresses, whatever `snat` says: who is outside knows the way back. The two are one to OVN, which filters nothing by itself). "+
				"`isolated` (not at all: no router may connect it), or `bridge` (it is part of the network that the chassis call `bridge_mapping`). Default: `nat`."),
			"cidr":    values.Prefix.Optional("IPv4 network, such as `10.50.0.0/24`.", values.Prefix.KeepSpelling()),
			"gateway": values.Address.Optional("Address of the router in `cidr`, as DHCP hands it out. Default: none.", values.Address.KeepSpelling()),
			"ipv6_cidr": values.Prefix.Optional("IPv6 network of 64 bits, such as `fd00:50::/64`, in which guests make their addresses of their MAC addresses (SLAAC): ports of nodes are known to have these, and `port_security` lets them send from them. "+
				"A router that connects the network has its first address, and advertises it to the guests. Guests that run hear of another one within a minute. Default: none.", values.Prefix.KeepSpelling()),
			"bridge_mapping": values.Name.Optional("In mode `bridge`, the network that this one is part of, as the chassis' `bridge_mappings` call it."),
			"mtu":            values.Between(576, 65477).OptionalComputed("Largest packet in bytes, 576 to 65477, as DHCP hands it out. Larger ones vanish on their way to another chassis without a word. Default: what fits into OVN's tunnels."),
			"dhcp": values.OptionalObject("What DHCP tells the network's own ports; nobody else is answered. Each chassis answers its own machines, with or without the databases.", values.Attributes{
				"pool":          values.Each(values.Line).OptionalList("Ranges in `cidr` such as `10.50.0.100-10.50.0.199`, both ends included, that ports without an address of their own are given addresses from. Default: none.", values.TextsSame(ovn.SamePool)),
				"lease_seconds": values.Seconds(60).Default(daySeconds, "How long a lease lasts, 60 seconds or more. Default: 86400, a day."),
				"nameservers":   values.Each(values.Address).Distinct().OptionalList("Addresses of name servers, in order.", values.Each(values.Address).KeepSpelling()),
				"options":       values.Each(values.Line).Keys(values.Word).OptionalMap("Further options by the names that OVN has for them (`ovn-nb(5)`, `DHCP_Options`), such as `ntp_server = \"10.50.0.2\"` or `domain_name = \"okd.example\"`. Texts are written without OVN's quotes."),
			}),
		}),
	}
}
