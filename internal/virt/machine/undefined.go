package machine

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
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

// isUndefined says whether the domain of the node in state is gone, while disks of its own are there.
func (s *Store) isUndefined(ctx context.Context) (bool, error) {
	_, err := s.client.Domain(ctx, s.known.UUID)
	if !hypervisor.IsNotFound(err) {
		return false, err
	}
	left, err := s.findUndefined(ctx)
	return left != nil, err
}
