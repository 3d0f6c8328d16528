// Package dnsserver is virtcluster_dns_server: the options of a BIND server.
package dnsserver

import (
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
)

// form is what an id looks like.
const form = "SERVICE_NODE#server"

// New makes the resource.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, bind.Server]{
		Form: form, Part: bind.NewServerPart,
		Type: crud.Type[model, bind.Server]{
			Name:      "dns_server",
			Noun:      "DNS server",
			Schema:    serverSchema,
			Spec:      toSpec,
			Fill:      fillModel,
			TryAtPlan: func(bool) bool { return true },
		},
	})
}
