package floatingaddress

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/exposureattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

func resourceSchema(context.Context) schema.Schema {
	attributes := exposureattr.Attributes(form, values.Flag.Default(true, "Whether to put the address on `interface`, announce it, and put it there again after every start. An address that another machine answers for is refused. Default: `true`; `false` is for an address that the machine has already, such as a `virtcluster_vip`'s."), values.Flag.Default(false, "Whether the inside address sees the machine instead of who connects to it. Default: `false`, for which the machine must be the gateway of the inside address. What the inside address begins to say comes from the outside one all the same, where the machine is its gateway."))
	maps.Copy(attributes, map[string]schema.Attribute{
		"target": values.Address.Required("The inside address: a guest's, or a VIP inside. Another one replaces the resource.", values.Address.KeepSpelling(), stringplanmodifier.RequiresReplace()),
		"ports": values.Objects().Keys(exposureattr.Name).OptionalMapOf("Ports that lead inside, by name; new connections to others are dropped. Default: all, with every protocol.", values.Attributes{
			"port":     values.Port().Required("The port, outside and inside."),
			"protocol": values.OneOf(exposure.TCP, exposure.UDP).Default(exposure.TCP, "`tcp` or `udp`. Default: `tcp`."),
		}),
	})
	return schema.Schema{
		MarkdownDescription: "An outside address for an inside one, both ways: what comes to it goes inside, and what the inside address begins to say comes from it, where it leaves by `interface`. " +
			"Without `masquerade` the machine must be the gateway of the inside address. The rules are in a table of nftables of the provider's own, which is there after a start before the network is; nobody else's rules are changed.",
		Attributes: attributes,
	}
}
