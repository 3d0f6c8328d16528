package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// Delete stops and undefines the pool. A directory that the provider made goes with it when it is empty. Nothing else is ever
// deleted. A pool that others need stays, with a *PoolInUseError.
func (s *PoolStore) Delete(ctx context.Context) error {
	p, err := s.Client.Pool(ctx, s.UUID)
	if hypervisor.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	s.Name = p.Name()
	if err := s.checkOwned(p); err != nil {
		return err
	}
	if err := s.awaitUnused(ctx, p); err != nil {
		return err
	}
	if p.Active && p.Type() != NetFS { // on an export, another hypervisor may be making the volume of a mark that has none yet
		if err := s.removeStrayMarks(ctx, p); err != nil {
			return err
		}
	}
	s.kept, err = s.removePool(ctx, p)
	if hypervisor.IsNotFound(err) {
		err = nil
	}
	if s.kept != nil {
		s.kept = fmt.Errorf("the pool is gone, but its directory %s could not be removed, most likely because there are files in it that Terraform does not know: %w", p.Path(), s.kept)
	}
	return err
}

// removeStrayMarks removes the marks that this workspace left of volumes which somebody else removed.
func (s *PoolStore) removeStrayMarks(ctx context.Context, p *hypervisor.Pool) error {
	names, err := s.Client.VolumeNames(ctx, p.UUID())
	if errors.Is(err, hypervisor.ErrPoolStopped) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		volume, m, ok := parseMarkName(name)
		if !ok || m.Workspace != s.Owner.Mark().Workspace || m.Workspace == "" || slices.Contains(names, volume) {
			continue
		}
		if err := s.Client.DeleteVolume(ctx, p.UUID(), name); err != nil {
			return err
		}
	}
	return nil
}

// removePool stops and undefines a pool. kept says why a directory that the provider made stays.
func (s *PoolStore) removePool(ctx context.Context, p *hypervisor.Pool) (kept, err error) {
	if p.Active {
		if err := s.Client.StopPool(ctx, p.UUID()); err != nil {
			return nil, err
		}
	}
	if hasDirectory(p.Type()) && hasMadeDirectory(p) {
		kept = s.Client.DeletePoolTarget(ctx, p.UUID())
		if kept != nil && hypervisor.Code(kept) == 0 {
			return nil, kept // not libvirt's refusal, so it is not known whether the directory is there
		}
	}
	if !p.Persistent {
		return kept, nil
	}
	return kept, s.Client.UndefinePool(ctx, p.UUID())
}
