package topology

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// told is a text that an element may have.
func told(required bool, description string) schema.StringAttribute {
	rule := validator.String(values.Line.OrEmpty())
	if required {
		rule = values.Line
	}
	return schema.StringAttribute{Required: required, Optional: !required, Validators: []validator.String{rule}, MarkdownDescription: description}
}

// listed are texts that an element has.
func listed(description string) schema.ListAttribute {
	return schema.ListAttribute{Optional: true, ElementType: types.StringType, Validators: []validator.List{values.Each(values.Line)}, MarkdownDescription: description}
}

// named are elements by their names.
func named(description string, attributes map[string]schema.Attribute) schema.MapNestedAttribute {
	return schema.MapNestedAttribute{
		Optional: true, Validators: []validator.Map{values.Objects().Keys(values.Line)}, MarkdownDescription: description,
		NestedObject: schema.NestedAttributeObject{Attributes: attributes},
	}
}

func topologySchema() schema.Schema {
	drawn := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	const onMachines = "Names of the machines that have it."
	return schema.Schema{
		MarkdownDescription: "A topology as a picture: networks as lanes, machines by role with their addresses, virtual addresses with their owner, frontends, DNS views and what is exposed. " +
			"It draws what it is told, which is what the configuration's resources say, and asks nobody: it is there offline too. What it refers to is there before it; Terraform reads it while planning where it refers to `locals` instead, and those hold nothing that is known after the apply only, such as the owner of a new virtual address.",
		Attributes: map[string]schema.Attribute{
			"title": told(true, "What the picture is called, such as the cluster's domain."),
			"networks": named("Networks by name, each of them a lane.", map[string]schema.Attribute{
				"cidr": told(false, "Subnet."), "gateway": told(false, "Gateway."), "mode": told(false, "Mode, as that of `virtcluster_network`."), "hypervisor": told(false, "Hypervisor that it is on."),
				"outside": schema.BoolAttribute{Optional: true, MarkdownDescription: "Whether it is the outside, which is drawn above the others. Default: `false`."},
			}),
			"machines": named("Machines by name.", map[string]schema.Attribute{
				"role": told(false, "Role: `service`, `bootstrap`, `master`, `worker` or another. Machines of one role are drawn together."),
				"addresses": schema.MapAttribute{Optional: true, ElementType: types.StringType, Validators: []validator.Map{values.Each(values.Line).Keys(values.Line)},
					MarkdownDescription: "Address in each network that the machine is in, by the network's name."},
				"hypervisor": told(false, "Hypervisor that it is on."), "state": told(false, "State, as that of `virtcluster_node`."),
			}),
			"vips": named("Virtual addresses by name.", map[string]schema.Attribute{
				"network": told(true, "Name of the network that it is in."), "address": told(true, "The address."),
				"members": listed("Names of the machines that it moves between."), "owner": told(false, "Name of the machine that has it, as `owner` of `virtcluster_vip` says."),
			}),
			"frontends": named("Balanced services by name.", map[string]schema.Attribute{
				"machines": listed(onMachines), "binds": listed("Where it listens: `ADDRESS:PORT`. It is drawn in the network of each address."), "servers": listed("Names of the machines that answer."),
			}),
			"views": named("DNS views by name.", map[string]schema.Attribute{
				"network": told(false, "Name of the network that it is drawn in. Default: the lowest lane."), "machines": listed(onMachines), "clients": listed("Who is answered from it."), "zones": listed("Its zones."),
			}),
			"exposures": named("What is exposed, by name.", map[string]schema.Attribute{
				"machine": told(true, "Name of the machine that exposes it."), "address": told(true, "The address outside."), "ports": listed("Ports."), "targets": listed("Where they lead."),
			}),
			"json":    drawn("The topology as JSON, with its keys in order."),
			"mermaid": drawn("A flowchart in Mermaid's language."),
			"svg":     drawn("The picture, light or dark as its reader has it."),
			"html":    drawn("One page that needs nothing beside it: the picture, each of whose elements leads to a table."),
		},
	}
}
