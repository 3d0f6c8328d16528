// Package dnsserver is virtcluster_dns_server: the options of a BIND server.
package dnsserver

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/dnsattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// form is what an id looks like.
const form = "SERVICE_NODE#server"

// New makes the resource.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, bind.Server]{
		Form: form, Part: bind.NewServerPart, Leftovers: bind.ListUnmodelled,
		Type: crud.Type[model, bind.Server]{
			Name:   "dns_server",
			Noun:   "DNS server",
			Schema: serverSchema,
			Spec:   toSpec,
			Fill:   fillModel,
			Trials: crud.Trials[model]{TryAtPlan: func(bool) bool { return true }},
		},
	})
}

func serverSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "The options of a BIND server. They replace those that the distribution installed, which come back when this is destroyed; where files are stays as the distribution has it. " +
			"A machine has one; views and zones work without it too.",
		Attributes: map[string]schema.Attribute{
			"id":                hostattr.ID(form),
			"serving":           crud.ServingAttribute("named"),
			"service_node":      hostattr.ServiceNode("BIND"),
			"listen_on":         values.Each(values.Line).OptionalComputedList("Addresses of the machine to answer on, IPv4 and IPv6, or prefixes for whatever lies in them; `any` is all. A family that none of them is of is not listened on. Default: all.", dnsattr.NoneIsNotDefault{}, dnsattr.Listen),
			"forwarders":        dnsattr.Forwarders("none, the root servers are asked."),
			"allow_query":       dnsattr.MatchList("Who may ask. Default: everyone."),
			"allow_recursion":   dnsattr.MatchList("Who may ask for names of other servers, where no view says. Default: the machine itself and the networks that it is in."),
			"dnssec_validation": values.OneOf("auto", "yes", "no").Default("auto", "Whether answers of other servers are validated: `auto` (with the root's key), `yes` (with keys that you configure) or `no`. Default: `auto`."),
			"options":           dnsattr.Options("{ \"max-cache-size\" = \"64m\" }"),
		},
	}
}

type model struct {
	crud.ServingModel
	ID               types.String `tfsdk:"id"`
	ServiceNode      types.String `tfsdk:"service_node"`
	ListenOn         types.List   `tfsdk:"listen_on"`
	Forwarders       types.List   `tfsdk:"forwarders"`
	AllowQuery       types.List   `tfsdk:"allow_query"`
	AllowRecursion   types.List   `tfsdk:"allow_recursion"`
	DNSSECValidation types.String `tfsdk:"dnssec_validation"`
	Options          types.Map    `tfsdk:"options"`
}

func toSpec(_ context.Context, m *model) (bind.Server, diag.Diagnostics) {
	return bind.Server{
		ListenOn: convert.Texts(m.ListenOn), Forwarders: convert.Texts(m.Forwarders),
		AllowQuery: convert.Texts(m.AllowQuery), AllowRecursion: convert.Texts(m.AllowRecursion),
		DNSSECValidation: m.DNSSECValidation.ValueString(), Options: convert.MapTexts(m.Options),
	}, nil
}

func fillModel(_ context.Context, m *model, got bind.Server) diag.Diagnostics {
	m.ListenOn = values.Keep(dnsattr.Listen, m.ListenOn, convert.List(got.ListenOn))
	m.Forwarders = values.Keep(dnsattr.Servers, m.Forwarders, convert.List(got.Forwarders))
	m.AllowQuery = values.Keep(dnsattr.Matches, m.AllowQuery, convert.List(got.AllowQuery))
	m.AllowRecursion = values.Keep(dnsattr.Matches, m.AllowRecursion, convert.List(got.AllowRecursion))
	m.DNSSECValidation, m.Options = types.StringValue(got.DNSSECValidation), convert.MapOrNull(got.Options)
	return nil
}
