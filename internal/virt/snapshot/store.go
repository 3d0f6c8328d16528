package snapshot

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// Store is where one snapshot lives: on the hypervisors of its machines. It implements crud.Store.
type Store struct {
	// hypervisors are all of the provider's, by name.
	hypervisors map[string]*hypervisor.Client
	// known is the snapshot as state or plan has it.
	known    Snapshot
	claim    owner.Claim
	warnings []service.Problem
	// lost are the names of the hypervisors that are lost.
	lost []string
}

// Open returns the store of a snapshot by what state or plan knows of it: its name, and the machines, or none where it was imported by its
// name alone.
func Open(all map[string]*hypervisor.Client, known Snapshot, claim owner.Claim) *Store {
	return &Store{hypervisors: all, known: known, claim: claim}
}

// NoteLost tells the store which hypervisors are lost: a machine that none of the others has may be there.
func (s *Store) NoteLost(names []string) *Store {
	s.lost = names
	return s
}

// Claim implements crud.Owned.
func (s *Store) Claim() owner.Claim { return s.claim }

// Warnings implements crud.Warner.
func (s *Store) Warnings() []service.Problem { return s.warnings }

// Get reads the snapshot. A machine that has lost it is not among its nodes; the error is service.ErrAbsent where nothing at all is left.
func (s *Store) Get(ctx context.Context) (Snapshot, error) {
	all, err := s.findParts(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	if len(all.gone) > 0 && len(s.lost) > 0 {
		err := fmt.Errorf("nodes %q are on no hypervisor that is asked", all.gone)
		return Snapshot{}, &service.UnseenError{Err: err, Why: fmt.Sprintf("No hypervisor that is asked has its nodes %q, and %q are lost, which may have them: what is known of it stays. "+
			"To go on with the other nodes, take those out of `nodes`.", all.gone, s.lost)}
	}
	got, left := s.known, false
	got.Nodes, got.PerNode, got.CreatedAt = nil, map[string]Part{}, ""
	for _, p := range all.parts {
		if !p.isTaken() {
			continue
		}
		if !s.claim.Owns(p.findOwner()) {
			return Snapshot{}, s.newForeignError(p)
		}
		s.claim, left = s.claim.Found(p.findOwner()), true
		got.addPart(p)
	}
	for _, node := range all.gone {
		orphans, err := s.listOrphans(ctx, node)
		if err != nil {
			return Snapshot{}, err
		}
		if len(orphans) > 0 {
			got.PerNode[node], left = s.known.PerNode[node], true
		}
	}
	if left {
		return got, nil
	}
	for _, node := range all.gone { // Terraform forgets a resource whose read says that nothing is there
		if err := s.removeStrayMarks(ctx, node); err != nil {
			return Snapshot{}, err
		}
	}
	return Snapshot{}, fmt.Errorf("snapshot %q: %w", s.known.Name, service.ErrAbsent)
}

// addPart adds what was taken of a machine. One that could not be reverted is none of the nodes.
func (s *Snapshot) addPart(p *part) {
	if p.isWhole() {
		s.Nodes = append(s.Nodes, p.node)
	}
	was := Part{Frozen: p.note.Frozen}
	for _, d := range p.disks {
		if d.layer != nil {
			was.Layers = append(was.Layers, d.layer.Path())
		}
	}
	if p.record != nil {
		was.MemoryFile = p.record.Memory
		s.Quiesce, s.Memory = p.note.Quiesce, p.note.Memory
		if s.CreatedAt == "" {
			s.CreatedAt = p.record.Created.Format(time.RFC3339)
			s.Revert = p.note.Revert
		}
		// The least of what the machines have is what was done to all of them.
		s.Revert = min(s.Revert, p.note.Revert)
	}
	s.PerNode[p.node] = was
}

// MayCreate implements crud.Previewer.
func (s *Store) MayCreate(ctx context.Context) error {
	all, err := s.findParts(ctx)
	if err != nil {
		return err
	}
	taken := slices.IndexFunc(all.parts, (*part).isTaken)
	if taken < 0 {
		return fmt.Errorf("snapshot %q: %w", s.known.Name, service.ErrAbsent)
	}
	return s.refuseForeign(all.parts)
}

// refuseForeign returns an *owner.ForeignError where a machine has something of the snapshot that a create may not take.
func (s *Store) refuseForeign(parts []*part) error {
	for _, p := range parts {
		if p.isTaken() && !s.claim.MayTake(p.findOwner()) {
			return s.newForeignError(p)
		}
	}
	return nil
}

// nodesPath is the attribute of what a snapshot is of.
var nodesPath = []any{"nodes"}

// LookAtMachine implements crud.Looker: it says what keeps the snapshot from being taken. A machine that is not there yet may be made before,
// unless it is meant by an id, which it would not have yet.
func (s *Store) LookAtMachine(ctx context.Context, want Snapshot) error {
	all, err := s.findParts(ctx)
	if err != nil {
		return err
	}
	for _, node := range all.gone {
		if hypervisor.IsUUID(node) {
			return service.At(nodesPath, guest.NewGoneError(node))
		}
	}
	return service.At(nodesPath, checkParts(ctx, all.parts, want.Memory))
}

// checkParts says what keeps a snapshot from being taken of machines.
func checkParts(ctx context.Context, parts []*part, memory bool) error {
	seen := map[string]string{}
	for _, p := range parts {
		if other, twice := seen[p.d.UUID]; twice {
			return fmt.Errorf("%q and %q are one node: write it once", other, p.node)
		}
		seen[p.d.UUID] = p.node
		if err := p.checkDisks(); err != nil {
			return err
		}
	}
	return checkRoom(ctx, parts, memory)
}

// lockParts takes the locks of machines, always in one order.
func lockParts(parts []*part) (unlock func()) {
	sorted := slices.SortedFunc(slices.Values(parts), func(a, b *part) int { return slices.Compare([]string{a.d.UUID}, []string{b.d.UUID}) })
	var held []func()
	for i, p := range sorted {
		if i > 0 && sorted[i-1].d.UUID == p.d.UUID {
			continue
		}
		held = append(held, guest.Lock(p.c, p.d.UUID))
	}
	return func() {
		for _, unlock := range held {
			unlock()
		}
	}
}

// findLocked finds the machines and holds them: as they are once nobody else of this process changes their snapshots.
func (s *Store) findLocked(ctx context.Context) (all found, unlock func(), err error) {
	if all, err = s.findParts(ctx); err != nil {
		return all, func() {}, err
	}
	unlock = lockParts(all.parts)
	if all, err = s.findParts(ctx); err != nil {
		unlock()
		return all, func() {}, err
	}
	return all, unlock, nil
}

// forEach does something to all machines side by side.
func forEach(parts []*part, do func(p *part) error) error {
	var group errgroup.Group
	for _, p := range parts {
		group.Go(func() error {
			if err := do(p); err != nil {
				return fmt.Errorf("node %q: %w", p.d.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// Update reverts all machines where the number says so, and notes what else changed. Nothing else can change in place.
func (s *Store) Update(ctx context.Context, was, want Snapshot) (Snapshot, error) {
	all, unlock, err := s.findLocked(ctx)
	defer unlock()
	if err != nil {
		return Snapshot{}, err
	}
	for _, p := range all.parts {
		if !s.claim.Owns(p.findOwner()) {
			return Snapshot{}, s.newForeignError(p)
		}
	}
	if want.Revert != 0 && want.Revert != was.Revert {
		if err := revertParts(ctx, all.parts, all.gone); err != nil {
			return Snapshot{}, err
		}
	}
	s.claim = s.claim.Written()
	err = forEach(all.parts, func(p *part) error {
		if err := s.markFiles(ctx, p, s.claim.Mark()); err != nil || p.record == nil {
			return err
		}
		p.note.Mark, p.note.Quiesce, p.note.Revert = s.claim.Mark(), want.Quiesce, want.Revert
		return p.describePart(ctx)
	})
	if err != nil {
		return Snapshot{}, err
	}
	return s.Get(ctx)
}

// FinishMark implements crud.Owned.
func (s *Store) FinishMark(ctx context.Context) error {
	all, err := s.findParts(ctx)
	if err != nil {
		return err
	}
	mine := s.claim.Finished().Mark()
	err = forEach(all.parts, func(p *part) error {
		if !p.isTaken() || p.findOwner().ID != mine.ID {
			return nil
		}
		if err := s.markFiles(ctx, p, mine); err != nil || p.record == nil || p.note.Mark.Creating == "" {
			return err
		}
		p.note.Mark = mine
		return p.describePart(ctx)
	})
	if err == nil {
		s.claim = s.claim.Finished()
	}
	return err
}

// markFiles has the files of a machine's snapshot carry a mark of the claim, and no other that it may replace.
func (s *Store) markFiles(ctx context.Context, p *part, mine owner.Mark) error {
	return p.eachFile(ctx, func(v *hypervisor.Volume) error {
		marked := p.nameMarked(v.Pool, v.Name())
		if _, err := marked.WriteMark(ctx, mine, v.Mode()); err != nil {
			return err
		}
		return marked.RemoveMarks(ctx, func(m owner.Mark) bool { return m != mine && (m.ID == mine.ID || s.claim.Owns(m)) })
	})
}

// eachFile does something to every file of a machine's snapshot that is its own.
func (p *part) eachFile(ctx context.Context, do func(*hypervisor.Volume) error) error {
	for _, v := range p.listFiles() {
		own, err := p.isOwn(ctx, v)
		if err == nil && own {
			err = do(v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// MayDelete implements crud.Keeper: it says what uses a file of the snapshot, or one that a layer is merged into, and is nothing of this state, which may go in
// the same plan.
func (s *Store) MayDelete(ctx context.Context) error {
	all, err := s.findParts(ctx)
	if err != nil {
		return nil //nolint:nilerr // the apply tells
	}
	for _, p := range all.parts {
		if !p.isTaken() || !s.claim.Owns(p.findOwner()) {
			continue
		}
		files, err := p.listMerged(ctx)
		if err != nil {
			return nil //nolint:nilerr // the apply tells
		}
		if users, err := storage.FindUsers(ctx, p.c, files...); err == nil && users != nil {
			return users
		}
	}
	return nil
}

// Delete merges the snapshot away: what the machines wrote since stays, and its files go.
func (s *Store) Delete(ctx context.Context) error {
	all, unlock, err := s.findLocked(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	var foreign error
	var own []*part
	for _, p := range all.parts {
		switch {
		case !p.isTaken():
		case s.claim.Owns(p.findOwner()):
			own = append(own, p)
		default:
			foreign = s.newForeignError(p)
		}
	}
	if err := removeSnapshots(ctx, own); err != nil {
		return err
	}
	err = forEach(own, func(p *part) error {
		orphans, err := s.listOrphans(ctx, p.node)
		if err == nil && len(orphans) > 0 {
			err = fmt.Errorf("its layer %s in storage pool %q is of no disk of it any more: somebody took that disk out. Write what it holds into the volume below it (qemu-img commit), and remove it (virsh vol-delete)", orphans[0].Name, orphans[0].Pool)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, node := range all.gone {
		if err := s.removeOrphans(ctx, node); err != nil {
			return err
		}
	}
	return foreign
}
