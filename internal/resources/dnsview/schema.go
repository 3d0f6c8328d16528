package dnsview

import (
	"context"
	"math"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/dnsattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

func viewSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A view of a BIND server: who asks from where learns what. A question goes to the first view that matches it, so a view for everyone comes last. " +
			"With the first view, the zones that were configured on the machine before go into every view; with the last one gone, the configuration is what it was before.",
		Attributes: map[string]schema.Attribute{
			"id":                 hostattr.ID(form),
			"serving":            crud.ServingAttribute("named"),
			"service_node":       hostattr.ServiceNode("BIND"),
			"name":               values.Name.Required("Name of the view. Another one makes a new resource.", stringplanmodifier.RequiresReplace()),
			"order":              values.Between(math.MinInt32, math.MaxInt32).Default(bind.DefaultOrder, "Place among the views of the server: a lower one is asked first. Views of one order go by name, those for everyone last. Default: 100."),
			"match_clients":      dnsattr.MatchList("Clients that the view is for, by their own address. Default: everyone."),
			"match_destinations": dnsattr.MatchList("Addresses of this machine that the view is for: it answers questions that arrive there, whoever asks. Default: all."),
			"recursion":          values.Flag.Default(false, "Whether the view's clients may ask for names of other servers. Default: false."),
			"allow_recursion":    dnsattr.MatchList("Clients of the view that may do so, where `recursion` is true. Default: all clients of the view."),
			"forwarders":         dnsattr.Forwarders("as the server's options say."),
			"allow_query":        dnsattr.MatchList("Clients of the view that may ask at all. Default: as the server's options say."),
			"options":            dnsattr.Options("{ \"minimal-responses\" = \"yes\" }"),
		},
	}
}
