package netinterface

import (
	"context"
	"maps"
	"math"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/netinterface"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

func resourceSchema(context.Context) schema.Schema {
	attributes := map[string]schema.Attribute{
		"id":   hostattr.ID(form),
		"host": hostattr.Host(),
		"name": values.Device.Required("Device name of the interface, such as `eth1`: the machine must have it.", stringplanmodifier.RequiresReplace()),
		"routes": values.Objects().Some().OptionalListOf("Further routes through the interface, that come and go with its configuration. `virtcluster_route` is for a route on its own.", values.Attributes{
			"cidr":   values.AddressInPrefix.Required("The network, such as `10.128.0.0/14`."),
			"via":    values.Address.Optional("Address of the gateway. Without it the network is on the interface itself."),
			"metric": values.Between(1, math.MaxUint32).Optional("The lowest wins. Default: the kernel's."),
		}),
		"mac": schema.StringAttribute{Computed: true, MarkdownDescription: "Hardware address of the interface.", PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}},
	}
	maps.Copy(attributes, hostattr.DeviceAttributes("interface", netinterface.DefaultRollback))
	maps.Copy(attributes, hostattr.AddressingAttributes(values.OneOf(hostattr.DHCP, hostattr.Static), "",
		"`dhcp` has the interface ask for an address (IPv6 comes by router advertisements then), `static` gives it `addresses`. Default: `static` beside `addresses`; one of the two has to be written.",
		"IPv4 and IPv6 addresses with prefix lengths. What others give to the interface, such as virtual addresses, stays and is no drift."))
	return schema.Schema{
		MarkdownDescription: "What one network interface of a running machine has of addresses, routes and name servers, over reboots: a guest's after its first boot, a service node's second one. " +
			"It is written beside what the machine's own network manager has, and comes before it. Before a change a rollback is armed on the machine, and disarmed over a new connection: where that cannot be made, " +
			"or a gateway that answered before is silent, the machine goes back to what it had. Destroying it gives the interface back what it had before. " +
			"An interface that somebody configured already is refused; importing it takes it over.",
		Attributes: attributes,
	}
}
