// Package addresspool is the resource virtcluster_address_pool.
package addresspool

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
)

// form is what an id looks like.
const form = "SERVICE_NODE#NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, addresspool.Pool]{
		Name:   "address_pool",
		Noun:   "address pool",
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"service_node", "name"},
		ID:     formatID,
		Split:  func(m *model, id string) error { return hostattr.SplitName(id, form, &m.ServiceNode, &m.Name) },
		Spec:   func(_ context.Context, m *model) (addresspool.Pool, diag.Diagnostics) { return m.toSpec() },
		Fill:   func(_ context.Context, m *model, got addresspool.Pool) diag.Diagnostics { return m.fillModel(got) },
		Open:   openStore,
		Plan:   planChange,
	})
}

func formatID(m *model) string { return hostattr.JoinID(m.ServiceNode, m.Name.ValueString()) }

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[addresspool.Pool], error) {
	return crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), addresspool.NewPoolPart(m.Name.ValueString(), formatID(m), at.Claim.Mark()))
}
