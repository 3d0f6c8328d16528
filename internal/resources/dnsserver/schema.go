package dnsserver

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/dnsattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

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
