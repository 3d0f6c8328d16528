package exposedservice

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
	attributes := exposureattr.Attributes(form, values.Flag.Default(false, "Whether to put the address on `interface`, announce it, and put it there again after every start. An address that another machine answers for is refused. Default: `false`, for an address that the machine has already, such as a `virtcluster_vip`'s."), values.Flag.OptionalComputed("Whether the targets see the machine instead of who connects, in what the rules carry: an answer comes back this way then, wherever the targets' gateway is, as behind libvirt's NAT. "+
		"Without it the machine must be the targets' gateway. Default: `true` for a `node_port`, otherwise `false`. What HAProxy carries comes from the machine in any case.", masqueradeOfType{}))
	for _, name := range []string{"address", "interface"} {
		a := attributes[name].(schema.StringAttribute)
		a.PlanModifiers = append(a.PlanModifiers, nullForNodePort{})
		attributes[name] = a
	}
	maps.Copy(attributes, map[string]schema.Attribute{
		"name": exposureattr.Name.Required("Name on the machine: letters, digits, dots, dashes and underscores. Another one replaces the resource.", stringplanmodifier.RequiresReplace()),
		"type": values.OneOf(string(exposure.LoadBalancer), string(exposure.ExternalIP), string(exposure.NodePort)).Required("`load_balancer`: ports of an address lead to several targets; TCP by HAProxy, which checks the targets and speaks to them in its own name, UDP by rules, in turns. "+
			"`external_ip`: ports of an address lead to one target, which sees who asks; the machine must be the target's gateway, or `masquerade`. "+
			"`node_port`: ports of every address that the machine has lead to the targets. Another type replaces the resource.", stringplanmodifier.RequiresReplace()),
		"ports": values.Objects().Keys(exposureattr.Name).Some().RequiredMapOf("Ports by name.", values.Attributes{
			"port":        values.Port().OptionalComputed("The port that is reached. Of a `node_port` one of 30000 to 32767; default there: the lowest that is free, which stays.", keepPortOfType{}),
			"target_port": values.Port().OptionalComputed("The targets' port. Default: `port`."),
			"protocol":    values.OneOf(exposure.TCP, exposure.UDP).Default(exposure.TCP, "`tcp` or `udp`. Default: `tcp`."),
		}),
		"targets": values.Each(values.Address).Some().Distinct().RequiredList("Addresses of the guests: one, or several of a `load_balancer` or a `node_port`.", values.Each(values.Address).KeepSpelling()),
	})
	return schema.Schema{
		MarkdownDescription: "Ports of a guest, or of several, on an address that others can reach. The rules are in a table of nftables of the provider's own, which is there after a start before the network is; nobody else's rules are changed. " +
			"A connection that is open stays with its target when the rules change. The machine forwards (`net.ipv4.ip_forward`) for as long as something is exposed by rules, and until its next start where others may have come to need that meanwhile, which the destroy warns of.",
		Attributes: attributes,
	}
}
