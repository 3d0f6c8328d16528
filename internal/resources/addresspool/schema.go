package addresspool

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// ranges is what an element of the pool's lists is.
var ranges = values.New("range", "10.0.0.10-10.0.0.19", func(text string) error {
	_, err := addresspool.ParseRange(text)
	return err
}).Same(func(text string) string {
	run, err := addresspool.ParseRange(text)
	if err != nil {
		return text
	}
	return addresspool.FormatRange(run)
})

func resourceSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Addresses to be given out, one each, to whatever needs one: `virtcluster_address` draws from it. The pool is kept on a machine, under a lock, " +
			"so that several states draw from it without ever getting the same address.",
		Attributes: map[string]schema.Attribute{
			"id":           hostattr.ID(form),
			"service_node": values.Endpoint.Required("Machine that keeps the pool: the `id` of a `virtcluster_service_node`, or an endpoint such as `ssh://root@kvm1.example` or `local:`. Another one replaces the resource.", hostattr.OtherMachineReplaces()...),
			"name":         values.Name.Required("Name of the pool on the machine: letters, digits, dots, dashes and underscores. Another one replaces the resource.", stringplanmodifier.RequiresReplace()),
			"ranges": values.Each(ranges).Some().RequiredList("What the pool has: runs such as `10.0.0.10-10.0.0.19`, both ends included, subnets such as `10.0.0.0/28`, all of whose addresses count, or single addresses. "+
				"They must be in no DHCP range, and in no other pool of the machine. Ranges can grow at any time; they can be cut by what is not drawn.", values.Each(ranges).KeepSpelling()),
			"reserved":        values.Each(ranges).OptionalList("What of the ranges is never given out, written as these are: gateways, machines that are there already. Default: nothing.", values.Each(ranges).KeepSpelling()),
			"avoid_buggy_ips": values.Flag.Default(false, "Never give out IPv4 addresses that end in `.0` or `.255`, which some routers and clients take for a network's own and its broadcast address. Default: `false`."),
		},
	}
}
