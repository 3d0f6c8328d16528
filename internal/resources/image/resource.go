// Package image is virtcluster_image: a base image, streamed from a URL or a file into a storage pool.
package image

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/poolattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, storage.Image]{
		Name: "image", Noun: "image",
		Label:  func(m *model) string { return volumePlace(m).ImportID() },
		Schema: imageSchema,
		Key:    []string{"hypervisor", "pool", "name"},
		Lasts:  true,
		ID:     func(m *model) string { return m.ID.ValueString() },
		List:   poolattr.ListVolumes(true),
		Split: func(m *model, id string) error {
			return poolattr.SplitVolume(id, &m.ID, &m.Hypervisor, &m.Pool, &m.Name)
		},
		Moves: crud.Moves[model]{peer.Volume: func(m *model, from peer.Thing) {
			poolattr.MoveVolume(from, &m.ID, &m.Pool, &m.Name)
		}},
		Spec: toSpec, Fill: fillModel, Open: openStore, Plan: planChange, Recall: recallPrivate, Remember: storePrivate,
		// Importing reads the whole volume, as creating writes it.
		Timeouts: map[string]time.Duration{"create": time.Hour, "read": time.Hour, "delete": 5 * time.Minute},
	})
}

func volumePlace(m *model) storage.Place {
	return poolattr.VolumePlace(m.ID, m.Hypervisor, m.Pool, m.Name)
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[storage.Image], error) {
	c, err := at.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err != nil {
		return nil, err
	}
	return storage.OpenImage(ctx, c, volumePlace(m), at.Claim, m.Source.IsNull() && !at.Brief)
}
