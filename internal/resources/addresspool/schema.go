package addresspool

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

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
			"id": hostattr.ID(form),
			"service_node": schema.StringAttribute{
				Required: true, PlanModifiers: hostattr.OtherMachineReplaces(),
				MarkdownDescription: "Machine that keeps the pool: the `id` of a `virtcluster_service_node`, or an endpoint such as `ssh://root@kvm1.example` or `local:`. Another one replaces the resource.",
				Validators:          []validator.String{values.Endpoint},
			},
			"name": schema.StringAttribute{
				Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}, Validators: []validator.String{values.Name},
				MarkdownDescription: "Name of the pool on the machine: letters, digits, dots, dashes and underscores. Another one replaces the resource.",
			},
			"ranges": schema.ListAttribute{
				Required: true, ElementType: types.StringType, PlanModifiers: []planmodifier.List{values.Each(ranges).KeepSpelling()}, Validators: []validator.List{values.Each(ranges).Some()},
				MarkdownDescription: "What the pool has: runs such as `10.0.0.10-10.0.0.19`, both ends included, subnets such as `10.0.0.0/28`, all of whose addresses count, or single addresses. " +
					"They must be in no DHCP range, and in no other pool of the machine. Ranges can grow at any time; they can be cut by what is not drawn.",
			},
			"reserved": schema.ListAttribute{
				Optional: true, ElementType: types.StringType, PlanModifiers: []planmodifier.List{values.Each(ranges).KeepSpelling()}, Validators: []validator.List{values.Each(ranges)},
				MarkdownDescription: "What of the ranges is never given out, written as these are: gateways, machines that are there already. Default: nothing.",
			},
			"avoid_buggy_ips": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(false),
				MarkdownDescription: "Never give out IPv4 addresses that end in `.0` or `.255`, which some routers and clients take for a network's own and its broadcast address. Default: `false`.",
			},
		},
	}
}
