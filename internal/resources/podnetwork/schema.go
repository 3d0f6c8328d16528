package podnetwork

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// routeTypes are those of one route of a node's list.
var routeTypes = map[string]attr.Type{"cidr": types.StringType, "via": types.StringType}

var routesType = types.ListType{ElemType: types.ObjectType{AttrTypes: routeTypes}}

func resourceSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A pod network that is divided among nodes: a subnet of its own for each, and the routes of each node to the pods of all others. " +
			"A node that leaves or comes changes no other's subnet. It makes nothing on any machine: `routes` goes into the interfaces of a `virtcluster_node`, for the first boot, " +
			"and into `virtcluster_route`, on machines that run.",
		Attributes: map[string]schema.Attribute{
			"id":          values.KeptText("`CIDR`, as it was when the resource was made."),
			"cidr":        values.AddressInPrefix.Required("The pod network, such as `10.128.0.0/14`. It must not overlap a network of the configuration, or of the provider's hypervisor."),
			"host_prefix": values.Between(1, 128).Required("Prefix length of each node's subnet, such as 23."),
			"nodes": schema.MapAttribute{
				Required: true, ElementType: types.StringType, MarkdownDescription: "Each node's own address, by its name: the routes to its pods lead there.",
				Validators: []validator.Map{values.Each(values.Address).Keys(values.Word)},
			},
			"pod_cidrs": schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Each node's subnet, by its name."},
			"routes": schema.MapAttribute{
				Computed: true, ElementType: routesType,
				MarkdownDescription: "Each node's routes to the pods of all others, by its name: a list of `{ cidr, via }`, as `routes` of an interface of a `virtcluster_node` takes it.",
			},
		},
	}
}
