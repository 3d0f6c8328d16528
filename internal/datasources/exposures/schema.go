package exposures

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

func dataSchema() schema.Schema {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	number := func(description string) schema.Int64Attribute {
		return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
	}
	texts := func(description string) schema.ListAttribute {
		return schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
	}
	const counted = "Connections since the rules, or HAProxy's process, were read last: with every change of what the machine exposes they begin anew."
	return schema.Schema{
		MarkdownDescription: "What a machine exposes of the guests behind it, to whom, and how many came: exposed services and floating addresses of every state.",
		Attributes: map[string]schema.Attribute{
			"id": text("The machine, as `service_node` names it."),
			"service_node": schema.StringAttribute{
				Required: true, Validators: []validator.String{values.Endpoint},
				MarkdownDescription: "The `id` of a `virtcluster_service_node`, or an endpoint.",
			},
			"serving": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether all of it is live: rules, addresses, forwarding."},
			"exposures": schema.MapNestedAttribute{
				Computed: true, MarkdownDescription: "What is exposed, by name; a floating address has the name `floating-TARGET`.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"type":          text("`load_balancer`, `external_ip`, `node_port` or `floating`."),
					"address":       text("The address that is reached; null of a `node_port`."),
					"interface":     text("The device that the address is on."),
					"targets":       texts("Addresses of the guests."),
					"source_ranges": texts("Who may connect; none is everybody."),
					"connections":   number(counted),
					"owner":         text("The mark of the resource that it belongs to; empty where nobody's is there."),
					"ports": schema.MapNestedAttribute{
						Computed: true, MarkdownDescription: "Ports by name; none of a floating address is all.",
						NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
							"port":        number("The port that is reached."),
							"target_port": number("The targets' port."),
							"protocol":    text("`tcp` or `udp`."),
							"connections": number(counted),
						}},
					},
				}},
			},
		},
	}
}
