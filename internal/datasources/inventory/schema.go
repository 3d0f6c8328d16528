package inventory

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

func dataSchema(of crud.Inventory) schema.Schema {
	text := func(words string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: words}
	}
	choice := func(of values.Kind, words string) schema.ListAttribute {
		return schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: words, Validators: []validator.List{values.Each(of).Some().Distinct()}}
	}
	return schema.Schema{
		MarkdownDescription: "What a hypervisor, machines and OVN's databases hold: what this state has, other states, and what people or other programs made, with `import` blocks and configuration " +
			"for the last. It is for OpenTofu, and for Terraform before 1.14, which have no list resources; it finds what these list, by the same means. Nothing is changed anywhere. " +
			"Write `import_blocks` and `configuration` to a file, plan until nothing is to change, and take the data source out again: it reads everything there is, in each plan.",
		Attributes: map[string]schema.Attribute{
			"id": text("The places that were looked at."),
			"hypervisor": schema.StringAttribute{
				Optional: true, Validators: []validator.String{values.Name},
				MarkdownDescription: "Which of the provider's `hypervisors` to look at. Default: the provider's `uri`, and none where `service_nodes` or `ovn` says where to look.",
			},
			"service_nodes": choice(values.Endpoint, "Machines to look at: endpoints such as `ssh://root@10.0.0.100`, or ids of `virtcluster_service_node`. A VIP is on several: name all of its machines. Default: none."),
			"ovn": schema.StringAttribute{
				Optional: true, Validators: []validator.String{values.Endpoint},
				MarkdownDescription: "OVN's northbound database to look at: the id of a `virtcluster_ovn`, or the endpoint of a machine that runs one. Default: none.",
			},
			"types": choice(values.OneOf(of.Types()...), "Types of resources to look for, such as `virtcluster_network`. Default: all that have a list resource, and `virtcluster_service_node`, by which is told what else a machine has."),
			"include": choice(values.OneOf(this, others, nobody), "Whose things to list: `this` state's, `others`' and `nobody`'s, which people or other programs made. Default: all. "+
				"Import blocks and configuration are those of `nobody`'s things, and of `this` state's where that is written here, as after the loss of a state: never of what another state has."),
			"items": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "What is there, by place, type and name.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"type":    text("Type of resource that it is here: `virtcluster_network`."),
					"id":      text("What an import takes for it; null where it cannot be read."),
					"name":    text("What it is called."),
					"owner":   text("Whose it is: `this state`, or the mark of what another state has; null of what carries none."),
					"place":   text("Where it is: the URI of a hypervisor, or the endpoint of a machine or of OVN's database."),
					"address": text("Address that `import_blocks` and `configuration` give it; null where they have nothing of it."),
				}},
			},
			"import_blocks": text("An `import` block for each thing that `configuration` has. Terraform takes them since 1.5, and OpenTofu since 1.6."),
			"configuration": text("Resources that say what is there: what may be left out because it says the same is left out, and secrets are. The plan with `import_blocks` has nothing to add, change or destroy."),
			"unmodelled": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "What of all that no resource says, or says in `configuration`. It stays as it is through an import and through every change, unless the resource's page says otherwise. Files and packet filters of a machine that nothing here reads are named, and so are pools whose volumes are not looked at. Of a database of OVN, it is what cannot be imported.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"place": text("Where it is: the object with the path of the element in libvirt's XML, the file with the line, or the address of an attribute."),
					"what":  text("Its own text, or why it is no resource."),
				}},
			},
		},
	}
}
