package dnsview

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/dnsattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
)

func viewSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A view of a BIND server: who asks from where learns what. A question goes to the first view that matches it, so a view for everyone comes last. " +
			"With the first view, the zones that were configured on the machine before go into every view; with the last one gone, the configuration is what it was before.",
		Attributes: map[string]schema.Attribute{
			"id":           dnsattr.IDAttribute("SERVICE_NODE#NAME"),
			"serving":      crud.ServingAttribute("named"),
			"service_node": dnsattr.ServiceNodeAttribute(),
			"name": schema.StringAttribute{
				Required: true, MarkdownDescription: "Name of the view. Another one makes a new resource.",
				PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
			},
			"order": schema.Int64Attribute{
				Optional: true, Computed: true, Default: int64default.StaticInt64(bind.DefaultOrder),
				MarkdownDescription: "Place among the views of the server: a lower one is asked first. Views of one order go by name, those for everyone last. Default: 100.",
			},
			"match_clients":      dnsattr.MatchList("Clients that the view is for, by their own address. Default: everyone."),
			"match_destinations": dnsattr.MatchList("Addresses of this machine that the view is for: it answers questions that arrive there, whoever asks. Default: all."),
			"recursion": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(false),
				MarkdownDescription: "Whether the view's clients may ask for names of other servers. Default: false.",
			},
			"allow_recursion": dnsattr.MatchList("Clients of the view that may do so, where `recursion` is true. Default: all clients of the view."),
			"forwarders": schema.ListAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Servers that are asked for names of other servers: addresses, with `:PORT` where it is not 53. Default: as the server's options say.",
			},
			"allow_query": dnsattr.MatchList("Clients of the view that may ask at all. Default: as the server's options say."),
			"options": schema.MapAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Further options of BIND that take one plain value, by their names in named.conf: `{ \"minimal-responses\" = \"yes\" }`. A value cannot hold semicolons or braces.",
			},
		},
	}
}
