// Package addresspool is the resource virtcluster_address_pool.
package addresspool

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
)

// form is what an id looks like.
const form = "SERVICE_NODE#NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, addresspool.Pool]{
		Form: form, ServiceNode: func(m *model) *types.String { return &m.ServiceNode },
		Name: func(m *model) *types.String { return &m.Name }, Attribute: "name",
		Part: func(at crud.StoreContext, m *model, id string) part.Part[addresspool.Pool] {
			return addresspool.NewPoolPart(m.Name.ValueString(), id, at.Claim.Mark())
		},
		Type: crud.Type[model, addresspool.Pool]{
			Name:   "address_pool",
			Noun:   "address pool",
			Schema: resourceSchema,
			Spec:   func(_ context.Context, m *model) (addresspool.Pool, diag.Diagnostics) { return m.toSpec() },
			Fill:   func(_ context.Context, m *model, got addresspool.Pool) diag.Diagnostics { return m.fillModel(got) },
			Plan:   planChange,
		},
	})
}
