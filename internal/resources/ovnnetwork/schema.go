package ovnnetwork

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/ovnattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// daySeconds is how long leases last where nobody says.
const daySeconds = 24 * 60 * 60

func resourceSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A network of OVN over all of its chassis: one segment of Ethernet, wherever its machines run. What is changed here changes while they do. " +
			"What the network has in the database besides, and whatever others have there, is never touched.",
		Attributes: ovnattr.Attributes(noun, "network", map[string]schema.Attribute{
			"mode": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString(ovn.Isolated), Validators: []validator.String{values.OneOf(ovn.Isolated, ovn.Bridged)},
				MarkdownDescription: "What leads out of the network by itself: `isolated` (nothing; a router may connect it) or `bridge` (it is part of the network that the chassis call `bridge_mapping`). Default: `isolated`.",
			},
			"cidr": schema.StringAttribute{
				Optional: true, Validators: []validator.String{values.Prefix}, PlanModifiers: []planmodifier.String{values.Prefix.KeepSpelling()},
				MarkdownDescription: "IPv4 network, such as `10.50.0.0/24`.",
			},
			"gateway": schema.StringAttribute{
				Optional: true, Validators: []validator.String{values.Address}, PlanModifiers: []planmodifier.String{values.Address.KeepSpelling()},
				MarkdownDescription: "Address of the router in `cidr`, as DHCP hands it out. Default: none.",
			},
			"ipv6_cidr": schema.StringAttribute{
				Optional: true, Validators: []validator.String{values.Prefix}, PlanModifiers: []planmodifier.String{values.Prefix.KeepSpelling()},
				MarkdownDescription: "IPv6 network of 64 bits, such as `fd00:50::/64`, in which guests make their addresses of their MAC addresses (SLAAC): ports of nodes are known to have these, and `port_security` lets them send from them. " +
					"A router that connects the network has its first address, and advertises it to the guests. Guests that run hear of another one within a minute. Default: none.",
			},
			"bridge_mapping": schema.StringAttribute{
				Optional: true, Validators: []validator.String{values.Name},
				MarkdownDescription: "In mode `bridge`, the network that this one is part of, as the chassis' `bridge_mappings` call it.",
			},
			"mtu": schema.Int64Attribute{
				Optional: true, Computed: true, Validators: []validator.Int64{values.Between(576, 65477)},
				MarkdownDescription: "Largest packet in bytes, 576 to 65477, as DHCP hands it out. Larger ones vanish on their way to another chassis without a word. Default: what fits into OVN's tunnels.",
			},
			"dhcp": schema.SingleNestedAttribute{
				Optional:            true,
				MarkdownDescription: "What DHCP tells the network's own ports; nobody else is answered. Each chassis answers its own machines, with or without the databases.",
				Attributes: map[string]schema.Attribute{
					"pool": schema.ListAttribute{
						Optional: true, ElementType: types.StringType, Validators: []validator.List{values.Each(values.Line)}, PlanModifiers: []planmodifier.List{values.TextsSame(ovn.SamePool)},
						MarkdownDescription: "Ranges in `cidr` such as `10.50.0.100-10.50.0.199`, both ends included, that ports without an address of their own are given addresses from. Default: none.",
					},
					"lease_seconds": schema.Int64Attribute{
						Optional: true, Computed: true, Default: int64default.StaticInt64(daySeconds), Validators: []validator.Int64{values.Seconds(60)},
						MarkdownDescription: "How long a lease lasts, 60 seconds or more. Default: 86400, a day.",
					},
					"nameservers": schema.ListAttribute{
						Optional: true, ElementType: types.StringType, Validators: []validator.List{values.Each(values.Address).Distinct()},
						PlanModifiers:       []planmodifier.List{values.Each(values.Address).KeepSpelling()},
						MarkdownDescription: "Addresses of name servers, in order.",
					},
					"options": schema.MapAttribute{
						Optional: true, ElementType: types.StringType, Validators: []validator.Map{values.Each(values.Line).Keys(values.Word)},
						MarkdownDescription: "Further options by the names that OVN has for them (`ovn-nb(5)`, `DHCP_Options`), such as `ntp_server = \"10.50.0.2\"` or `domain_name = \"okd.example\"`. Texts are written without OVN's quotes.",
					},
				},
			},
		}),
	}
}
