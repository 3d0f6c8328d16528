package dnsrecordset

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"

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
			"view":         values.Name.Optional("Name of the zone's view, left out where the zone has none. Another one makes a new resource.", stringplanmodifier.RequiresReplace()),
			"zone":         values.Word.Required("Name of the zone. Another one makes a new resource."),
			"name":         values.Word.Required("Name of the records, relative to the zone; `@` is the zone itself, a dot at the end makes an absolute name. Another one makes a new resource."),
			"type":         values.Word.Required("Type of the records, such as `A`, `CNAME`, `TXT` or `SRV`. Another one makes a new resource."),
			"ttl":          values.Seconds(0).Optional("Seconds that others may keep the records, 0 to 2147483647. Default: the zone's."),
			"values":       values.Each(values.Free).RequiredList("Data of the records, as in a zone file; names in them are relative to the zone unless they end in a dot, TXT values are plain text of any length. Their order has no meaning."),
		},
	}
}
