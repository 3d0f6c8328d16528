package backup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// Store is where one backup lives: in a storage pool of the hypervisor of its node. It implements crud.Store.
type Store struct {
	// hypervisors are all of the provider's, by name.
	hypervisors map[string]*hypervisor.Client
	// known is the backup as state or plan has it.
	known Backup
	claim owner.Claim
	// plan is what the plan holds; nil while nothing is planned.
	plan     plan.View
	warnings []service.Problem
}

// Open returns the store of a backup by what state or plan knows of it: of one that was imported, its name and its node.
func Open(all map[string]*hypervisor.Client, known Backup, claim owner.Claim, view plan.View) *Store {
	return &Store{hypervisors: all, known: known, claim: claim, plan: view}
}

// Claim implements crud.Owned.
func (s *Store) Claim() owner.Claim { return s.claim }

// Warnings implements crud.Warner.
func (s *Store) Warnings() []service.Problem { return s.warnings }

// nothing at all is left.
func (s *Store) Get(ctx context.Context) (Backup, error) {
	f, err := s.findOwn(ctx)
	switch {
	case err != nil:
		return Backup{}, err
	case f.unseen && len(s.known.Volumes) > 0:
		return Backup{}, &service.UnseenError{
			Why: fmt.Sprintf("No hypervisor of the provider has %s started, which proves nothing about the files, so what is known of them stays. Define and start it to have them checked.", s.known.Target.describeTarget()),
			Err: fmt.Errorf("backup %q: its target cannot be seen", s.known.Name),
		}
	case f.isAbsent():
		return Backup{}, errors.Join(fmt.Errorf("backup %q: %w", s.known.Name, service.ErrAbsent), s.removeMarks(ctx, f))
	}
	return s.describeFound(f), nil
}

// noteFound has the claim be of what was found.
func (s *Store) noteFound(ctx context.Context, f found) error {
	if f.checkpoint != nil {
		s.claim = s.claim.Found(f.note.Mark)
	}
	for _, disk := range slices.Sorted(maps.Keys(f.copies)) {
		marks, err := f.listMarks(ctx, disk)
		if err != nil {
			return err
		}
		if own := slices.IndexFunc(marks, s.ownsMark); own >= 0 {
			s.claim = s.claim.Found(marks[own])
		}
	}
	return nil
}

// describeFound returns the backup as it was found.
func (s *Store) describeFound(f found) Backup {
	got := s.known
	got.Volumes, got.Checkpoint = map[string]string{}, ""
	node := s.known.nodeName(f.node)
	for _, disk := range slices.Sorted(maps.Keys(f.copies)) {
		v := f.copies[disk]
		got.Volumes[disk] = v.Path()
		if base := findBase(v.Backing(), node, disk); base != "" {
			got.IncrementalFrom = base
		}
		if !slices.Contains(got.Disks, disk) {
			got.Disks = append(slices.Clone(got.Disks), disk)
		}
	}
	if (got.Target == Target{}) {
		got.Target = findOrigin(f)
	}
	if got.Quiesce == "" {
		got.Quiesce = guest.Auto
	}
	switch {
	case f.checkpoint != nil:
		got.Checkpoint, got.Frozen, got.Quiesce = f.checkpoint.Name, f.note.Frozen, f.note.Quiesce
	case s.known.Checkpoint != "":
		s.warnings = append(s.warnings, service.Warningf([]any{"checkpoint"}, "Checkpoint lost",
			"The node %q has no checkpoint %q any more: its volumes hold what they held, and no backup can be incremental from this one. Another generation makes a new one.", s.known.Node, s.known.Checkpoint))
	}
	return got
}

// findOrigin returns the target of copies that were imported: the directory, where a pool is there for nothing but to show it.
func findOrigin(f found) Target {
	for _, v := range f.copies {
		if directory := path.Dir(v.Path()); isShownBy(f.pool, directory) {
			return Target{Path: directory}
		}
	}
	return Target{Pool: f.pool}
}

// removeMarks removes the marks of copies that somebody deleted: Terraform forgets a resource whose read says that nothing is there.
func (s *Store) removeMarks(ctx context.Context, f found) error {
	node := s.known.nodeName(f.node)
	for _, c := range s.listPlaces(f.at) {
		pools, err := s.listPools(ctx, c)
		if err != nil {
			return err
		}
		for _, pool := range pools {
			marked, err := storage.ListMarked(ctx, c, pool)
			if err != nil {
				return err
			}
			for name := range marked {
				if splitVolume(name, node, s.known.checkpointName()) == "" {
					continue
				}
				own := func(m owner.Mark) bool { return m.ID == s.claim.Mark().ID }
				if err := (storage.MarkedName{Client: c, Pool: pool, Name: name}).RemoveMarks(ctx, own); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Update notes what changed: it counts when a backup is taken.
func (s *Store) Update(ctx context.Context, _, want Backup) (Backup, error) {
	f, err := s.findOwn(ctx)
	if err != nil {
		return Backup{}, err
	}
	if f.isAbsent() {
		return Backup{}, fmt.Errorf("backup %q: %w", s.known.Name, service.ErrAbsent)
	}
	if err := s.eachCopy(ctx, f, func(v *storage.VolumeStore) error { return v.TakeOver(ctx) }); err != nil {
		return Backup{}, err
	}
	if f.checkpoint != nil {
		n := guest.Note{Mark: s.claim.Finished().Mark(), Quiesce: want.Quiesce, Frozen: f.note.Frozen}
		if err := f.at.DescribeCheckpoint(ctx, f.node.UUID, f.checkpoint.Name, n.String()); err != nil {
			return Backup{}, err
		}
	}
	s.claim = s.claim.Written()
	return s.Get(ctx)
}

// FinishMark implements crud.Owned.
func (s *Store) FinishMark(ctx context.Context) error {
	f, err := s.findBackup(ctx, s.ownsMark)
	if err != nil {
		return err
	}
	if err := s.eachCopy(ctx, f, func(v *storage.VolumeStore) error { return v.FinishMark(ctx) }); err != nil {
		return err
	}
	if f.checkpoint != nil && f.note.Mark.Creating != "" {
		n := f.note
		n.Mark = n.Mark.Finished()
		if err := f.at.DescribeCheckpoint(ctx, f.node.UUID, f.checkpoint.Name, n.String()); err != nil {
			return err
		}
	}
	s.claim = s.claim.Finished()
	return nil
}

// MayCreate implements crud.Previewer.
func (s *Store) MayCreate(ctx context.Context) error {
	f, err := s.findBackup(ctx, s.mayTake)
	if err != nil {
		return err
	}
	if err := s.refuseForeign(ctx, f); err != nil {
		return err
	}
	if f.isAbsent() {
		return fmt.Errorf("backup %q: %w", s.known.Name, service.ErrAbsent)
	}
	return nil
}

// refuseForeign returns an *owner.ForeignError where something under the names of the backup's is somebody else's.
func (s *Store) refuseForeign(ctx context.Context, f found) error {
	if f.node == nil {
		return nil
	}
	all, err := f.at.Checkpoints(ctx, f.node.UUID)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(p hypervisor.Checkpoint) bool { return p.Name == s.known.checkpointName() })
	if at >= 0 && f.checkpoint == nil {
		return s.newForeignError(fmt.Sprintf("checkpoint %q", s.known.checkpointName()), fmt.Sprintf("node %q on hypervisor %s", f.node.Name, f.at.URI()), guest.ParseNote(all[at].Description).Mark)
	}
	disks, err := chooseDisks(ctx, f.at, f.node, s.known.Disks)
	if err != nil {
		return nil //nolint:nilerr // LookAtMachine says so
	}
	pools, err := s.listPools(ctx, f.at)
	if err != nil {
		return err
	}
	named := *s
	named.known.Disks = nil
	for _, d := range disks {
		named.known.Disks = append(named.known.Disks, d.key)
	}
	for _, pool := range pools {
		if _, err := named.findCopies(ctx, f.at, pool, f, s.mayTake); err != nil {
			return err
		}
	}
	return nil
}

// refuseOthers returns an *owner.ForeignError where a copy that was found is another resource's of this state: the names of a node and a disk come to the
// same as those of another node and its disk. Where the resource has another address in the configuration now, the checkpoint of the node carries its mark too.
func (s *Store) refuseOthers(ctx context.Context, f found) error {
	for _, disk := range slices.Sorted(maps.Keys(f.copies)) {
		marks, err := f.listMarks(ctx, disk)
		if err != nil {
			return err
		}
		for _, m := range marks {
			if !s.claim.Owns(m) && !s.claim.Run().LeftBehind(m) && m.ID != f.note.Mark.ID {
				return s.newForeignError(fmt.Sprintf("volume %q", f.copies[disk].Name()), fmt.Sprintf("storage pool %q on hypervisor %s", f.pool, f.c.URI()), m)
			}
		}
	}
	return nil
}

// MayDelete implements crud.Keeper: it says what lies upon a copy and is no backup of this state, which may go in the same plan.
func (s *Store) MayDelete(ctx context.Context) error {
	f, err := s.findOwn(ctx)
	if err != nil {
		return nil //nolint:nilerr // the apply tells
	}
	for _, disk := range slices.Sorted(maps.Keys(f.copies)) {
		users, err := storage.FindUsers(ctx, f.c, f.copies[disk])
		if err == nil && users != nil {
			return users
		}
	}
	return nil
}
