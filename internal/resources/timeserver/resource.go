// Package timeserver is the resource virtcluster_time_server.
package timeserver

import (
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/chrony"
)

// form is what an id looks like.
const form = "SERVICE_NODE#time"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, chrony.Server]{
		Form: form, Part: chrony.NewPart,
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
