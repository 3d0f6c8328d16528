// Package ovnsecuritygroup is the resource virtcluster_ovn_security_group.
package ovnsecuritygroup

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/ovnattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// noun is what ids call a security group.
const noun = "security_group"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return ovnattr.New(ovnattr.Type[model, ovn.SecurityGroup]{
		Noun: noun, Schema: resourceSchema, List: ovn.ListSecurityGroups, Thing: ovn.NewSecurityGroup, Keep: keepAddressSets,
	})
}

type model struct {
	ovnattr.Model
	Rules       types.List `tfsdk:"rules"`
	AddressSets types.Map  `tfsdk:"address_sets"`
}

// keepAddressSets keeps an address set as it is written where it has the same addresses.
func keepAddressSets(was ovn.SecurityGroup, got *ovn.SecurityGroup) {
	for name, members := range was.AddressSets {
		if is, there := got.AddressSets[name]; there && ovn.SameMembers(members, is) {
			got.AddressSets[name] = members
		}
	}
}

// Kinds of values.
var (
	groupName = values.New("name", "web_servers", ovn.CheckGroupName)
	portRange = values.New("port or range of ports", "30000-32767", ovn.CheckPorts)
	remote    = values.New("address, prefix or name", "10.19.41.0/24", ovn.CheckRemote).Same(convert.Canonical)
)

func resourceSchema(context.Context) schema.Schema {
	attributes := ovnattr.Attributes(noun, map[string]schema.Attribute{
		"rules": values.Objects().OptionalListOf("What may pass, in no order. A changed rule counts for what is asked from then on, and for connections that are there.", values.Attributes{
			"direction": values.OneOf(ovn.Ingress, ovn.Egress).Required("`ingress` for what comes to the guest, `egress` for what it sends."),
			"protocol":  values.OneOf(ovn.SecurityProtocols()...).Required("`tcp`, `udp`, `sctp`, `icmp`, `icmpv6`, `esp`, `ah`, `gre`, `VRRP` or `any`. Answers pass too, but to `esp`, `ah`, `gre` and `VRRP`, which nobody follows: these take a rule for each direction."),
			"ports":     portRange.Optional("The port that is reached, `\"22\"`, or a range, `\"30000-32767\"`, of `tcp`, `udp` and `sctp`. Default: all."),
			"remote":    remote.Optional("The other side: an address, a prefix, one of `address_sets`, or the name of a security group, which stands for the addresses of its ports. While there is no such group, nobody passes for it. Default: everybody.", remote.KeepSpelling()),
		}),
		"address_sets": values.Each(values.Each(values.AddressOrPrefix).Some().Distinct()).Keys(groupName).OptionalMap("Addresses and prefixes by a name that rules have for `remote`. Default: none."),
	})
	attributes["name"] = groupName.Required("Name of the group in the database: letters, digits and `_`, as OVN's expressions take it. Another one replaces the resource.", stringplanmodifier.RequiresReplace())
	return schema.Schema{
		MarkdownDescription: "A security group of OVN: nothing passes a port that is in it (`security_groups` of a node's interface) but what a rule of one of the port's groups lets pass, with the answers to it. " +
			"ARP, DHCP and what IPv6 asks its neighbours pass always. Each chassis sees to its own guests.",
		Attributes: attributes,
	}
}
