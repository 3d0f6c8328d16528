package machine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/snapshot"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// Undefined is the state of a node whose domain somebody undefined while its disks stayed: they are the node's own, by their marks and
// by the claim that state keeps, and an apply defines the domain again with them.
const Undefined = "undefined"

// findUndefined returns what is left of the node in state, whose domain is gone: the node as state has it, with the sizes that its disks
// have; nil where no disk of its own is there.
func (s *Store) findUndefined(ctx context.Context) (*Spec, error) {
	if s.known.UUID == "" || s.known.Type == "" || s.claim.Anonymous() {
		return nil, nil
	}
	left := Leftovers{uuid: s.known.UUID, owner: s.newVolumeOwner(nil)}
	refs := s.known.diskVolumes()
	for key, ref := range refs {
		if err := s.collectVolumes(ctx, &left, []VolumeRef{ref}); err != nil && !hypervisor.IsNoPool(err) {
			return nil, err
		}
		if len(left.there) == 0 {
			delete(refs, key)
		}
	}
	s.kept = nil
	if len(refs) == 0 {
		return nil, nil
	}
	copied := *s.known
	copied.Running, copied.State, copied.Addresses = false, Undefined, nil
	return &copied, nil
}

// isUndefined says whether the domain of the node in state is gone, while disks of its own are there. It is an error where what the node wrote last is in
// layers of snapshots upon its disks: the domain that is defined again would be without it.
func (s *Store) isUndefined(ctx context.Context) (bool, error) {
	_, err := s.client.Domain(ctx, s.known.UUID)
	if !hypervisor.IsNotFound(err) {
		return false, err
	}
	left, err := s.findUndefined(ctx)
	if err != nil || left == nil {
		return false, err
	}
	return true, s.refuseLayered(ctx)
}

// refuseLayered refuses to define the domain again on volumes upon which a snapshot has a layer that was written to.
func (s *Store) refuseLayered(ctx context.Context) error {
	refs := slices.Collect(maps.Values(s.known.diskVolumes()))
	attached := []string{}
	if s.known.isAttached(Root) {
		attached = append(attached, s.known.Root.Volume)
	}
	for key, d := range s.known.Disks {
		if s.known.isAttached(key) {
			attached = append(attached, d.Volume)
		}
	}
	for _, file := range attached {
		v, err := s.client.VolumeByPath(ctx, file)
		if hypervisor.IsNotFound(err) {
			continue // a device of no pool has no layers, and of a volume that is missing the definition says so
		}
		if err != nil {
			return err
		}
		refs = append(refs, VolumeRef{v.Pool, v.Name()})
	}
	for _, ref := range refs {
		layer, err := snapshot.FindWritten(ctx, s.client, ref.Pool, ref.Name)
		if err != nil {
			return err
		}
		if layer != nil {
			_, of := storage.SplitLayer(layer.Path())
			return fmt.Errorf("the domain of node %q is undefined, and what it wrote since snapshot %q is in the layer %s: the domain that an apply defines again would go on without that. "+
				"Define it again with its disk in the layer (virsh define), or write what the layers hold into what lies below them, the last one first (qemu-img commit). Where what they hold is of no use, delete them (virsh vol-delete)",
				s.known.Name, of, layer.Path())
		}
	}
	return nil
}
