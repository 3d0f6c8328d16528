package dnsserver

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/dnsattr"
)

func serverSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "The options of a BIND server. They replace those that the distribution installed, which come back when this is destroyed; where files are stays as the distribution has it. " +
			"A machine has one; views and zones work without it too.",
		Attributes: map[string]schema.Attribute{
			"id":           dnsattr.IDAttribute("SERVICE_NODE#server"),
			"serving":      crud.ServingAttribute("named"),
			"service_node": dnsattr.ServiceNodeAttribute(),
			"listen_on": schema.ListAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Addresses of the machine to answer on, IPv4 and IPv6, or prefixes for whatever lies in them; `any` is all. A family that none of them is of is not listened on. Default: all.",
			},
			"forwarders": schema.ListAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Servers that are asked for names of other servers: addresses, with `:PORT` where it is not 53. Default: none, the root servers are asked.",
			},
			"allow_query":     dnsattr.MatchList("Who may ask. Default: everyone."),
			"allow_recursion": dnsattr.MatchList("Who may ask for names of other servers, where no view says. Default: the machine itself and the networks that it is in."),
			"dnssec_validation": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString("auto"),
				MarkdownDescription: "Whether answers of other servers are validated: `auto` (with the root's key), `yes` (with keys that you configure) or `no`. Default: `auto`.",
			},
			"options": schema.MapAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Further options of BIND that take one plain value, by their names in named.conf: `{ \"max-cache-size\" = \"64m\" }`. A value cannot hold semicolons or braces.",
			},
		},
	}
}
