package floatingaddress

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/exposureattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

func resourceSchema(context.Context) schema.Schema {
	attributes := exposureattr.Attributes(form, schema.BoolAttribute{
		Optional: true, Computed: true, Default: booldefault.StaticBool(true),
		MarkdownDescription: "Whether to put the address on `interface`, announce it, and put it there again after every start. An address that another machine answers for is refused. Default: `true`; `false` is for an address that the machine has already, such as a `virtcluster_vip`'s.",
	}, schema.BoolAttribute{
		Optional: true, Computed: true, Default: booldefault.StaticBool(false),
		MarkdownDescription: "Whether the inside address sees the machine instead of who connects to it. Default: `false`, for which the machine must be the gateway of the inside address. What the inside address begins to say comes from the outside one all the same, where the machine is its gateway.",
	})
	maps.Copy(attributes, map[string]schema.Attribute{
		"target": schema.StringAttribute{
			Required: true, Validators: []validator.String{values.Address},
			PlanModifiers:       []planmodifier.String{values.Address.KeepSpelling(), stringplanmodifier.RequiresReplace()},
			MarkdownDescription: "The inside address: a guest's, or a VIP inside. Another one replaces the resource.",
		},
		"ports": schema.MapNestedAttribute{
			Optional: true, Validators: []validator.Map{values.Objects().Keys(exposureattr.Name)},
			MarkdownDescription: "Ports that lead inside, by name; new connections to others are dropped. Default: all, with every protocol.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"port": schema.Int64Attribute{Required: true, Validators: []validator.Int64{values.Port()}, MarkdownDescription: "The port, outside and inside."},
				"protocol": schema.StringAttribute{
					Optional: true, Computed: true, Default: stringdefault.StaticString(exposure.TCP), Validators: []validator.String{values.OneOf(exposure.TCP, exposure.UDP)},
					MarkdownDescription: "`tcp` or `udp`. Default: `tcp`.",
				},
			}},
		},
	})
	return schema.Schema{
		MarkdownDescription: "An outside address for an inside one, both ways: what comes to it goes inside, and what the inside address begins to say comes from it, where it leaves by `interface`. " +
			"Without `masquerade` the machine must be the gateway of the inside address. The rules are in a table of nftables of the provider's own, which is there after a start before the network is; nobody else's rules are changed.",
		Attributes: attributes,
	}
}
