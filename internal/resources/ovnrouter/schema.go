package ovnrouter

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/ovnattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

func resourceSchema(context.Context) schema.Schema {
	address := []planmodifier.String{values.Address.KeepSpelling()}
	return schema.Schema{
		MarkdownDescription: "A router between networks of OVN, which is on every chassis: guests of one hypervisor reach each other's networks without leaving it. " +
			"With `external` it leads out, by one chassis at a time. What is changed here changes while guests run. Ports, routes and translations that a person gives it are that person's: no plan shows them, and the router is not destroyed while it has them.",
		Attributes: ovnattr.Attributes(noun, map[string]schema.Attribute{
			"networks": values.Each(values.Name).OptionalSet("Names of the networks that it connects (`virtcluster_ovn_network.nodes.name`), each with a `gateway`, which is the router's address there; it follows another `gateway`, `cidr` or `mode` of a network with that, and of another state's network with its own next apply. They have no addresses in common."),
			"external": values.OptionalObject("Where it is part of a network that is none of OVN's. Default: nowhere.", values.Attributes{
				"bridge_mapping": values.Name.Required("That network, as the chassis' `bridge_mappings` call it."),
				"address":        values.AddressInPrefix.Required("The router's own address there with its prefix length, such as `10.19.41.200/24`. Nobody else may have it.", values.AddressInPrefix.KeepSpelling()),
				"gateway":        values.Address.Optional("Gateway of the default route. Default: no default route.", address...),
				"chassis":        values.Each(values.Word).Some().Distinct().RequiredList("Ids of the chassis that lead out (`virtcluster_ovn.lab.chassis[\"kvm1\"].id`): the first one that lives does. Three notice that one of them is dead; two cannot tell which of them is cut off."),
			}),
			"snat": values.Flag.Default(false, "Whether guests of the networks reach the outside by the router's address there, but those of networks of mode `route` and `open`. Default: `false`."),
			"floating": values.Objects().Keys(values.Address).OptionalMapOf("Addresses of the external network that lead to guests, and that these have outside. Nobody else may have them.", values.Attributes{
				"inside":      values.Address.Required("The guest's address.", address...),
				"distributed": values.Flag.Default(false, "Whether the chassis of the guest translates, and not the way out: it needs the bridge mapping too, and a guest that has its port already. A guest that a load balancer leads to from outside would not answer it. Default: `false`."),
			}),
			"failover": values.OptionalObject("How fast chassis notice that the way out is dead. OVN has one for all of its chassis, so routers that say it say the same. Default: OVN's own, 1000 ms and 5 times. An interval of 200 ms, 3 times, notices within a second.", values.Attributes{
				"interval_ms": values.Between(50, 10000).Required("How often chassis send to each other, in milliseconds."),
				"multiplier":  values.Between(2, 50).Required("How many that are missing mean death."),
			}),
			"routes": values.Objects().OptionalListOf("Ways to networks that are behind guests or other machines. Their order has no meaning.", values.Attributes{
				"cidr": values.Prefix.Required("Destination, such as `10.128.0.0/14`.", values.Prefix.KeepSpelling()),
				"via":  values.Address.Required("Address of the machine that forwards, in one of the networks.", address...),
			}),
		}),
	}
}
