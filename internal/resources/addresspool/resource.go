// Package addresspool is the resource virtcluster_address_pool.
package addresspool

import (
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
)

// form is what an id looks like.
const form = "SERVICE_NODE#NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, addresspool.Pool]{
		Form: form, Name: "name", Part: addresspool.NewPoolPart,
		Type: crud.Type[model, addresspool.Pool]{
			Name:   "address_pool",
			Noun:   "address pool",
			Schema: resourceSchema,
			Spec:   toSpec,
			Fill:   fillModel,
			Plan:   planChange,
		},
	})
}
