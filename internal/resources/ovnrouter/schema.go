package ovnrouter

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/ovnattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

func resourceSchema(context.Context) schema.Schema {
	address := []planmodifier.String{values.Address.KeepSpelling()}
	return schema.Schema{
		MarkdownDescription: "A router between networks of OVN, which is on every chassis: guests of one hypervisor reach each other's networks without leaving it. " +
			"With `external` it leads out, by one chassis at a time. What is changed here changes while guests run.",
		Attributes: ovnattr.Attributes(noun, "router", map[string]schema.Attribute{
			"networks": schema.SetAttribute{
				Optional: true, ElementType: types.StringType, Validators: []validator.Set{values.Each(values.Name)},
				MarkdownDescription: "Names of the networks that it connects (`virtcluster_ovn_network.nodes.name`), each with a `gateway`, which is the router's address there; it follows another `gateway` or `cidr` of a network with that. They have no addresses in common.",
			},
			"external": schema.SingleNestedAttribute{
				Optional: true, MarkdownDescription: "Where it is part of a network that is none of OVN's. Default: nowhere.",
				Attributes: map[string]schema.Attribute{
					"bridge_mapping": schema.StringAttribute{Required: true, Validators: []validator.String{values.Name}, MarkdownDescription: "That network, as the chassis' `bridge_mappings` call it."},
					"address":        schema.StringAttribute{Required: true, Validators: []validator.String{values.AddressInPrefix}, PlanModifiers: []planmodifier.String{values.AddressInPrefix.KeepSpelling()}, MarkdownDescription: "The router's own address there with its prefix length, such as `10.19.41.200/24`. Nobody else may have it."},
					"gateway":        schema.StringAttribute{Optional: true, Validators: []validator.String{values.Address}, PlanModifiers: address, MarkdownDescription: "Gateway of the default route. Default: no default route."},
					"chassis": schema.ListAttribute{
						Required: true, ElementType: types.StringType, Validators: []validator.List{values.Each(values.Word).Some().Distinct()},
						MarkdownDescription: "Ids of the chassis that lead out (`virtcluster_ovn.lab.chassis[\"kvm1\"].id`): the first one that lives does. Three notice that one of them is dead; two cannot tell which of them is cut off.",
					},
				},
			},
			"snat": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(false),
				MarkdownDescription: "Whether guests of the networks reach the outside by the router's address there. Default: `false`.",
			},
			"floating": schema.MapNestedAttribute{
				Optional: true, Validators: []validator.Map{values.Objects().Keys(values.Address)},
				MarkdownDescription: "Addresses of the external network that lead to guests, and that these have outside. Nobody else may have them.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"inside": schema.StringAttribute{Required: true, Validators: []validator.String{values.Address}, PlanModifiers: address, MarkdownDescription: "The guest's address."},
					"distributed": schema.BoolAttribute{
						Optional: true, Computed: true, Default: booldefault.StaticBool(false),
						MarkdownDescription: "Whether the chassis of the guest translates, and not the way out: it needs the bridge mapping too, and a guest that has its port already. A guest that a load balancer leads to from outside would not answer it. Default: `false`.",
					},
				}},
			},
			"failover": schema.SingleNestedAttribute{
				Optional:            true,
				MarkdownDescription: "How fast chassis notice that the way out is dead. OVN has one for all of its chassis, so routers that say it say the same. Default: OVN's own, 1000 ms and 5 times. An interval of 200 ms, 3 times, notices within a second.",
				Attributes: map[string]schema.Attribute{
					"interval_ms": schema.Int64Attribute{Required: true, Validators: []validator.Int64{values.Between(50, 10000)}, MarkdownDescription: "How often chassis send to each other, in milliseconds."},
					"multiplier":  schema.Int64Attribute{Required: true, Validators: []validator.Int64{values.Between(2, 50)}, MarkdownDescription: "How many that are missing mean death."},
				},
			},
			"routes": schema.ListNestedAttribute{
				Optional: true, Validators: []validator.List{values.Objects()}, MarkdownDescription: "Ways to networks that are behind guests or other machines. Their order has no meaning.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"cidr": schema.StringAttribute{Required: true, Validators: []validator.String{values.Prefix}, PlanModifiers: []planmodifier.String{values.Prefix.KeepSpelling()}, MarkdownDescription: "Destination, such as `10.128.0.0/14`."},
					"via":  schema.StringAttribute{Required: true, Validators: []validator.String{values.Address}, PlanModifiers: address, MarkdownDescription: "Address of the machine that forwards, in one of the networks."},
				}},
			},
		}),
	}
}
