package externalbridge

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/dynamicdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// defaultRollback is in seconds: long enough for a slow switch to learn, short enough to wait for.
const defaultRollback = 60

func resourceSchema(context.Context) schema.Schema {
	replace := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	return schema.Schema{
		MarkdownDescription: "A bridge on a host with physical interfaces in it, for guests on an external LAN. Creating it moves the interfaces' addresses and " +
			"routes to the bridge in one step. Before that a rollback is armed on the host, and disarmed over a new connection: where that cannot be made, " +
			"or a gateway that answered before is silent, the host goes back to what it had. Destroying it gives the interfaces back what they had.",
		Attributes: map[string]schema.Attribute{
			"id":   schema.StringAttribute{Computed: true, MarkdownDescription: "The name, behind `HOST#` where `host` or `hypervisor` is set.", PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}},
			"name": schema.StringAttribute{Required: true, PlanModifiers: replace, MarkdownDescription: "Device name of the bridge, at most 15 bytes."},
			"host": schema.StringAttribute{Optional: true, PlanModifiers: replace, MarkdownDescription: "Endpoint of the machine: `ssh://[user@]host[:port]` or `local:`. Default: the hypervisor's own host.",
				Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			"hypervisor": schema.StringAttribute{Optional: true, PlanModifiers: replace, MarkdownDescription: "The entry of the provider's `hypervisors` whose host is meant. Default: the provider's `uri`.",
				Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			"interfaces": schema.ListAttribute{Required: true, ElementType: types.StringType, MarkdownDescription: "Physical interfaces in the bridge. The first one's MAC address becomes the bridge's."},
			"stp":        schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false), MarkdownDescription: "Whether the bridge takes part in the spanning tree protocol. Default: `false`."},
			"mtu":        schema.Int64Attribute{Optional: true, MarkdownDescription: "MTU in bytes of the bridge and its interfaces. Default: as it is."},
			"addresses": schema.DynamicAttribute{Optional: true, Computed: true, Default: dynamicdefault.StaticValue(types.DynamicValue(types.StringValue(inherit))),
				MarkdownDescription: "`\"inherit\"` (default) moves the interfaces' addresses and routes to the bridge; a list of addresses with prefix length replaces them."},
			"gateway": schema.StringAttribute{Optional: true, MarkdownDescription: "Default gateway, where `addresses` is a list."},
			"backend": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("auto"),
				MarkdownDescription: "What keeps the bridge. `runtime` works on every Linux and is gone after a reboot of the host, as `auto` (default) is: the next apply makes it again.",
				Validators:          []validator.String{stringvalidator.OneOf("auto", "runtime")}},
			"rollback_timeout": schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(defaultRollback),
				MarkdownDescription: "Seconds after which the host goes back by itself unless it could be reached again. Default: 60, at least 5."},
			"active_addresses": schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "The addresses that the bridge has, with prefix lengths."},
		},
	}
}
