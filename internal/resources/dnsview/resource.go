// Package dnsview is virtcluster_dns_view: one view of a BIND server.
package dnsview

import (
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
)

// form is what an id looks like.
const form = "SERVICE_NODE#NAME"

// New makes the resource.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, bind.View]{
		Form: form, Name: "name", Part: bind.NewViewPart,
		Type: crud.Type[model, bind.View]{
			Name:   "dns_view",
			Noun:   "DNS view",
			Schema: viewSchema,
			Spec:   toSpec,
			Fill:   fillModel,
			// A first view needs the zones of the same plan to go into views.
			TryAtPlan: func(create bool) bool { return !create },
			Plan:      planChange,
		},
	})
}
