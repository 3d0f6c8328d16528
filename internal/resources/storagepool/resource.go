// Package storagepool is virtcluster_storage_pool, and what the plans of images and volumes have to know of pools.
package storagepool

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, storage.Pool]{
		Name: "storage_pool", Noun: "storage pool",
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: poolSchema,
		Key:    []string{"hypervisor", "name"},
		Lasts:  true,
		ID:     func(m *model) string { return m.ID.ValueString() },
		Split:  splitID,
		Moves: crud.Moves[model]{peer.Pool: func(m *model, from peer.Thing) {
			m.ID, m.Name = types.StringValue(from.UUID), types.StringValue(from.Name)
		}},
		Spec: toSpec, Fill: fillModel, Open: openStore, Plan: planChange,
	})
}

// splitID takes the pool's name, its UUID, or either of them after "hypervisor/".
func splitID(m *model, id string) error {
	m.ID = types.StringNull()
	m.Name = types.StringValue(id)
	if hypervisor, name, found := strings.Cut(id, "/"); found {
		m.Hypervisor, m.Name = types.StringValue(hypervisor), types.StringValue(name)
	}
	return nil
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[storage.Pool], error) {
	c, err := at.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err != nil {
		return nil, err
	}
	return &storage.PoolStore{Client: c, Hypervisor: m.Hypervisor.ValueString(), UUID: m.ID.ValueString(), Name: m.Name.ValueString(), Owner: at.Claim}, nil
}
