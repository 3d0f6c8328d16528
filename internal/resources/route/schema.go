package route

import (
	"context"
	"math"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

func resourceSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A static route of a machine that runs, at once and over reboots. What keeps it is a file beside those of the machine's network manager: none of its own is changed. " +
			"A route to the same network of the same metric that this resource did not make is refused; importing it takes it over. " +
			"Where the machine cannot be reached over a new connection any more, it goes back to what it had.",
		Attributes: map[string]schema.Attribute{
			"id":             hostattr.ID(form),
			"host":           hostattr.Host(),
			"cidr":           values.AddressInPrefix.Required("The network that the route leads to, such as `10.128.2.0/23`; `0.0.0.0/0` is the default route.", stringplanmodifier.RequiresReplace()),
			"via":            values.Address.Optional("Address of the gateway. Without it the network is on `device` itself."),
			"device":         values.Device.OptionalComputed("The network device. Default: the one whose subnet the gateway is in."),
			"metric":         values.Between(1, math.MaxUint32).Optional("Metric: of several routes to one network the lowest wins. Default: 0 for IPv4, the kernel's 1024 for IPv6.", int64planmodifier.RequiresReplace()),
			"backend":        values.OneOf(hostnet.Auto, hostnet.NetworkManager, hostnet.Networkd, hostnet.Ifupdown, hostnet.Runtime).Default(hostnet.Auto, "What keeps the route over reboots: `networkmanager`, `systemd-networkd`, `ifupdown`, or `runtime` for nothing. Default: `auto`, which is what manages the device, `systemd-networkd` where netplan renders for that, and `runtime` where nothing does."),
			"active_backend": schema.StringAttribute{Computed: true, MarkdownDescription: "What keeps the route. It is `runtime` too while the file of the route belongs to a `.network` file that systemd-networkd does not apply to the device any more: the next apply moves it."},
		},
	}
}
