// Package timeserver is the resource virtcluster_time_server.
package timeserver

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/chrony"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// form is what an id looks like.
const form = "SERVICE_NODE#time"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, chrony.Server]{
		Form: form, Part: chrony.NewPart, Besides: chrony.ListConfigured,
		Type: crud.Type[model, chrony.Server]{
			Name:   "time_server",
			Noun:   "time server",
			Schema: resourceSchema,
		},
	})
}

type model struct {
	crud.ServingModel
	ID           types.String `tfsdk:"id"`
	ServiceNode  types.String `tfsdk:"service_node"`
	Clients      types.List   `tfsdk:"clients"`
	Upstreams    types.List   `tfsdk:"upstreams"`
	LocalStratum types.Int64  `tfsdk:"local_stratum"`
}

func resourceSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A time server (NTP): chrony, with a file of its own in `/etc/chrony/conf.d` beside what a package or a person configures. A service node has one. A destroy leaves chrony as it was before.",
		Attributes: map[string]schema.Attribute{
			"id":            hostattr.ID(form),
			"service_node":  hostattr.ServiceNode("the time server"),
			"clients":       values.Each(values.Prefix).Some().Distinct().RequiredList("Networks whose machines may ask, such as `10.0.0.0/24`.", values.Each(values.Prefix).KeepSpelling()),
			"upstreams":     values.Each(values.HostName).Distinct().OptionalList("Servers that it asks, by name or IPv4 address, beside those that the machine asks already. Default: none."),
			"local_stratum": values.Between(0, 15).OrZero().Default(10, "Stratum of the machine's own clock, which is served where none of the servers that it asks answers, so that a network without an uplink keeps one time: two service nodes do where each has the other one among its `upstreams`. 0 for not at all. Default: 10."),
			"serving":       crud.ServingAttribute("chrony"),
		},
	}
}
