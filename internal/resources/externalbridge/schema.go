package externalbridge

import (
	"context"
	"math"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
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

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bridge"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

func resourceSchema(context.Context) schema.Schema {
	replace := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	return schema.Schema{
		MarkdownDescription: "A bridge on a host with physical interfaces in it, for guests on an external LAN. Creating it moves the interfaces' addresses and " +
			"routes to the bridge in one step. Before that a rollback is armed on the host, and disarmed over a new connection: where that cannot be made, " +
			"or a gateway that answered before is silent, the host goes back to what it had. Destroying it gives the interfaces back what they had. " +
			"A bridge of that name that this resource did not make is refused; importing it takes it over. What others add to the bridge, such as ports of " +
			"containers and virtual addresses, stays and is no drift.",
		Attributes: map[string]schema.Attribute{
			"id":   schema.StringAttribute{Computed: true, MarkdownDescription: "The name, behind `HOST#` where `host` or `hypervisor` is set.", PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}},
			"name": schema.StringAttribute{Required: true, PlanModifiers: replace, MarkdownDescription: "Device name of the bridge, at most 15 bytes."},
			"host": schema.StringAttribute{Optional: true, PlanModifiers: replace, MarkdownDescription: "Endpoint of the machine: `ssh://[user@]host[:port]` or `local:`. Default: the hypervisor's own host.",
				Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			"hypervisor": schema.StringAttribute{Optional: true, PlanModifiers: replace, MarkdownDescription: "The entry of the provider's `hypervisors` whose host is meant. Default: the provider's `uri`.",
				Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			"interfaces": schema.ListAttribute{Required: true, ElementType: types.StringType, MarkdownDescription: "Physical interfaces in the bridge. The first one's MAC address becomes the bridge's.",
				Validators: []validator.List{listvalidator.NoNullValues()}},
			"stp": schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false), MarkdownDescription: "Whether the bridge takes part in the spanning tree protocol. Default: `false`."},
			"mtu": schema.Int64Attribute{Optional: true, MarkdownDescription: "MTU in bytes of the bridge and its interfaces, 68 to 65535. Default: as it is.",
				Validators: []validator.Int64{int64validator.Between(68, 65535)}},
			"addresses": schema.DynamicAttribute{Optional: true, Computed: true, Default: dynamicdefault.StaticValue(types.DynamicValue(types.StringValue(inherit))),
				MarkdownDescription: "`\"inherit\"` (default) moves the interfaces' addresses and routes to the bridge; what an interface got by DHCP the bridge asks for itself, unless nothing keeps it. `\"dhcp\"` has the bridge ask for an address; a list of addresses with prefix length replaces the interfaces' own."},
			"gateway": schema.StringAttribute{Optional: true, MarkdownDescription: "Default gateway, where `addresses` is a list. The default routes of other interfaces stay: beside one of them this takes a `metric`.",
				Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			"metric": schema.Int64Attribute{Optional: true, MarkdownDescription: "Metric of the default route by `gateway`: the lowest wins. Default: 0 for IPv4, the kernel's 1024 for IPv6.",
				Validators: []validator.Int64{int64validator.Between(1, math.MaxUint32)}},
			"nameservers": schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Name servers that the machine asks by way of the bridge; not with backend `runtime`.",
				Validators: []validator.List{listvalidator.SizeAtLeast(1), listvalidator.NoNullValues(), listvalidator.UniqueValues()}},
			"search": schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Domains that are appended to short names; not with backend `runtime`.",
				Validators: []validator.List{listvalidator.SizeAtLeast(1), listvalidator.NoNullValues(), listvalidator.UniqueValues()}},
			"backend": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("auto"),
				MarkdownDescription: "What keeps the bridge over reboots of its host: `networkmanager`, `systemd-networkd` or `ifupdown`, by files beside the machine's own, which count again when the bridge is destroyed. " +
					"`runtime` works on every Linux and is gone after a reboot: the next apply makes it again. `auto` (default) is what manages the interfaces, `systemd-networkd` where netplan renders for that, and `runtime` where nothing does; `active_backend` says which in the plan.",
				Validators: []validator.String{stringvalidator.OneOf(hostnet.Auto, hostnet.NetworkManager, hostnet.Networkd, hostnet.Ifupdown, hostnet.Runtime)}},
			"rollback_timeout": schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(int64(bridge.DefaultRollback / time.Second)),
				Validators:          []validator.Int64{int64validator.Between(5, 3600)},
				MarkdownDescription: "Seconds after which the host goes back by itself unless it could be reached again. Default: 60; 5 to 3600."},
			"active_backend":   schema.StringAttribute{Computed: true, MarkdownDescription: "What keeps the bridge. Another one makes a new bridge."},
			"active_addresses": schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "The addresses that the bridge has, with prefix lengths."},
		},
	}
}
