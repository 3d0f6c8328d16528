package dnsrecordset

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

func setSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "All records of one name and type in a zone that another resource, another module or another state describes. The zone does not see them as its own, " +
			"so each side can change without the other. A name and type that the zone's `records` have is an error.",
		Attributes: map[string]schema.Attribute{
			"id":           hostattr.ID(form),
			"serving":      crud.ServingAttribute("named"),
			"service_node": hostattr.ServiceNode("BIND"),
			"view": schema.StringAttribute{
				Optional: true, MarkdownDescription: "Name of the zone's view, left out where the zone has none. Another one makes a new resource.",
				Validators:    []validator.String{values.Name},
				PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
			},
			"zone": schema.StringAttribute{Validators: []validator.String{values.Word}, Required: true, MarkdownDescription: "Name of the zone. Another one makes a new resource."},
			"name": schema.StringAttribute{
				Validators: []validator.String{values.Word},
				Required:   true, MarkdownDescription: "Name of the records, relative to the zone; `@` is the zone itself, a dot at the end makes an absolute name. Another one makes a new resource.",
			},
			"type": schema.StringAttribute{Validators: []validator.String{values.Word}, Required: true, MarkdownDescription: "Type of the records, such as `A`, `CNAME`, `TXT` or `SRV`. Another one makes a new resource."},
			"ttl": schema.Int64Attribute{
				Validators: []validator.Int64{values.Seconds(0)},
				Optional:   true, MarkdownDescription: "Seconds that others may keep the records, 0 to 2147483647. Default: the zone's.",
			},
			"values": schema.ListAttribute{
				Validators: []validator.List{values.Each(values.Free)},
				Required:   true, ElementType: types.StringType,
				MarkdownDescription: "Data of the records, as in a zone file; names in them are relative to the zone unless they end in a dot, TXT values are plain text of any length. Their order has no meaning.",
			},
		},
	}
}
