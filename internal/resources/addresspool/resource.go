// Package addresspool is the resource virtcluster_address_pool.
package addresspool

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
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
		SetID:  func(m *model, id string) { m.ID = types.StringValue(id) },
		Spec:   func(_ context.Context, m *model) (addresspool.Pool, diag.Diagnostics) { return m.toSpec() },
		Fill:   func(_ context.Context, m *model, got addresspool.Pool) diag.Diagnostics { return m.fillModel(got) },
		Open:   openStore,
		Plan:   planChange,
	})
}

func formatID(m *model) string { return hostattr.JoinID(m.ServiceNode, m.Name.ValueString()) }

func openStore(ctx context.Context, at crud.Opening, m *model) (crud.Store[addresspool.Pool], error) {
	name := m.Name.ValueString()
	put := func(t transaction.Tree, want addresspool.Pool) error {
		return addresspool.SetPool(t, want, at.Claim.Mark())
	}
	return crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), part.Part[addresspool.Pool]{
		Daemon: addresspool.Daemon{},
		Owner:  fmt.Sprintf("address pool %q", name),
		Place:  addresspool.Place(name), ImportID: formatID(m),
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return addresspool.PoolMark(t, name) },
		Find: func(t transaction.Tree) (addresspool.Pool, error) { return addresspool.FindPool(t, name) },
		Add:  put, Set: put,
		Drop: func(t transaction.Tree) error { return addresspool.DropPool(t, name) },
	})
}
