package backup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// found is what there is of a backup.
type found struct {
	// at and node are the node's hypervisor and its domain, nil where it is gone.
	at   *hypervisor.Client
	node *hypervisor.Domain
	// c is the hypervisor that has the volumes in a pool, nil where there are none, and copies are these, by their disks' keys.
	c      *hypervisor.Client
	pool   string
	copies map[string]*hypervisor.Volume
	// unseen says that no hypervisor has the pool.
	unseen bool
	// checkpoint is nil where the node has none of the name, and note is its description.
	checkpoint *hypervisor.Checkpoint
	note       guest.Note
}

// isAbsent says that there is nothing.
func (f found) isAbsent() bool { return len(f.copies) == 0 && f.checkpoint == nil }

// listVolumes lists the names of the copies.
func (f found) listVolumes() []string {
	var names []string
	for _, v := range f.copies {
		names = append(names, v.Name())
	}
	slices.Sort(names)
	return names
}

// listMarks lists the marks of a disk's copy.
func (f found) listMarks(ctx context.Context, disk string) ([]owner.Mark, error) {
	v := f.copies[disk]
	return storage.MarkedName{Client: f.c, Pool: f.pool, Name: v.Name()}.ListMarks(ctx, v)
}

// findBackup finds what there is under the backup's names, of which are says whose marks count. A volume with another one's mark is not there; one of the
// disks that the state knows with none that counts is an error.
func (s *Store) findBackup(ctx context.Context, are func(owner.Mark) bool) (f found, err error) {
	f.at, f.node, err = guest.Find(ctx, s.hypervisors, s.known.Node)
	if err != nil && !hypervisor.IsNotFound(err) {
		return f, err
	}
	if err := s.findCheckpoint(ctx, &f, are); err != nil {
		return f, err
	}
	seen := false
	for _, c := range s.listPlaces(f.at) {
		if s.known.Target.Path != "" && len(s.known.Volumes) > 0 {
			// libvirt forgets the pool that shows a directory when its machine starts anew. What cannot be shown is not seen.
			if _, done, unshown := s.startTarget(ctx, c); unshown == nil {
				defer func() { err = errors.Join(err, s.stopTarget(ctx, c)) }()
				defer done()
			}
		}
		pools, err := s.listPools(ctx, c)
		if err != nil {
			return f, err
		}
		for _, pool := range pools {
			seen = true
			copies, err := s.findCopies(ctx, c, pool, f, are)
			switch {
			case err != nil:
				return f, err
			case len(copies) == 0:
			case f.c != nil && s.known.Target == Target{}:
				return f, fmt.Errorf("both the storage pool %q and the storage pool %q have volumes of a backup %q of node %q: only one of them can be imported", f.pool, pool, s.known.checkpointName(), s.known.Node)
			default:
				f.c, f.pool, f.copies = c, pool, copies
			}
		}
		if f.c != nil {
			break
		}
	}
	f.unseen = !seen
	return f, nil
}

// findOwn finds what there is of the backup that is its own. A claim that does not know its mark yet, of an import or of a tainted resource, learns it
// from the checkpoint, or else from a copy, before any other copy counts: it owns more than this backup until then.
func (s *Store) findOwn(ctx context.Context) (found, error) {
	first, err := s.findBackup(ctx, s.ownsMark)
	if err != nil || first.isAbsent() {
		return first, err
	}
	wide := s.claim.Anonymous()
	if err := s.noteFound(ctx, first); err != nil || !wide {
		return first, err
	}
	f, err := s.findBackup(ctx, s.ownsMark)
	if err == nil && first.checkpoint == nil && len(f.copies) < len(first.copies) {
		err = fmt.Errorf("the volumes in storage pool %q that have names of backup %q of node %q are of several backups, and nothing says which: %s", first.pool, s.known.checkpointName(), s.known.Node, strings.Join(first.listVolumes(), ", "))
	}
	return f, err
}

// findCheckpoint finds the checkpoint of the backup, where whose it is counts.
func (s *Store) findCheckpoint(ctx context.Context, f *found, are func(owner.Mark) bool) error {
	if f.node == nil {
		return nil
	}
	all, err := f.at.Checkpoints(ctx, f.node.UUID)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(p hypervisor.Checkpoint) bool { return p.Name == s.known.checkpointName() })
	if at < 0 {
		return nil
	}
	if n := guest.ParseNote(all[at].Description); n.Mark.ID != "" && are(n.Mark) {
		f.checkpoint, f.note = &all[at], n
	}
	return nil
}

// listPlaces lists the hypervisors, the node's first.
func (s *Store) listPlaces(first *hypervisor.Client) []*hypervisor.Client {
	var all []*hypervisor.Client
	if first != nil {
		all = append(all, first)
	}
	for _, name := range slices.Sorted(maps.Keys(s.hypervisors)) {
		c := s.hypervisors[name]
		if !slices.ContainsFunc(all, func(other *hypervisor.Client) bool { return other.URI() == c.URI() }) {
			all = append(all, c)
		}
	}
	return all
}

// listPools lists the started pools of a hypervisor in which volumes of the backup may be: its target, or all where that is not known.
func (s *Store) listPools(ctx context.Context, c *hypervisor.Client) ([]string, error) {
	all, err := c.Pools(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range all {
		if p.Active && p.Files() && (s.known.Target == Target{} || s.known.Target.isPool(p)) {
			names = append(names, p.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// isPool says whether a pool is the target.
func (t Target) isPool(p *hypervisor.Pool) bool {
	if t.Path != "" {
		return p.Path() != "" && storage.SamePath(p.Path(), t.Path)
	}
	return p.Name() == t.Pool || p.UUID() == t.Pool
}

// hasDisk says whether a disk, by its key, is one that the backup may have a copy of. NODE-DISK-MOMENT alone does not tell: to a node "db" the copy of
// another one's, "db-replica", is that of a disk "replica-root". Of a node that is gone nothing tells where the backup is imported.
func (s *Store) hasDisk(node *hypervisor.Domain, disk string) bool {
	_, copied := s.known.Volumes[disk]
	switch {
	case copied, slices.Contains(s.known.Disks, disk):
		return true
	case node == nil:
		return s.known.Target == Target{}
	}
	return machine.Read(node.Config).Disk(disk) != nil
}

// findCopies finds the volumes of a pool that have names of the backup's and marks that count: the claim's own and that of the checkpoint, which no other
// backup carries, and beside a copy of one of its disks any that are says.
func (s *Store) findCopies(ctx context.Context, c *hypervisor.Client, pool string, f found, are func(owner.Mark) bool) (map[string]*hypervisor.Volume, error) {
	if err := c.RefreshPool(ctx, pool); err != nil {
		return nil, err
	}
	names, err := c.VolumeNames(ctx, pool)
	if err != nil {
		return nil, err
	}
	copies := map[string]*hypervisor.Volume{}
	for _, name := range slices.Sorted(slices.Values(names)) {
		disk := splitVolume(name, s.known.nodeName(f.node), s.known.checkpointName())
		if disk == "" {
			continue
		}
		counts := func(m owner.Mark) bool {
			return are(m) && (m.ID == s.claim.Mark().ID || m.ID == f.note.Mark.ID || s.hasDisk(f.node, disk))
		}
		v, err := c.KnownVolume(ctx, pool, name)
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		marks, err := storage.MarkedName{Client: c, Pool: pool, Name: name}.ListMarks(ctx, v)
		switch {
		case err != nil:
			return nil, err
		case slices.ContainsFunc(marks, counts):
			copies[disk] = v
		case slices.Contains(s.known.Disks, disk):
			return nil, s.newForeignError(fmt.Sprintf("volume %q", name), fmt.Sprintf("storage pool %q on hypervisor %s", pool, c.URI()), append(marks, owner.Mark{})[0])
		}
	}
	return copies, nil
}

// newForeignError says that something under the backup's names is somebody else's.
func (s *Store) newForeignError(what, where string, whose owner.Mark) error {
	return s.claim.NewForeignError(what, where, ID(s.known.Name, s.known.Node, s.known.Generation), whose)
}

// ownsMark says whether what carries a mark is the backup's own: what carries none is no backup of this provider's.
func (s *Store) ownsMark(m owner.Mark) bool { return m.ID != "" && s.claim.Owns(m) }

// mayTake says whether a create may take what carries a mark.
func (s *Store) mayTake(m owner.Mark) bool { return m.ID != "" && s.claim.MayTake(m) }

// openVolume returns the store of a copy.
func (s *Store) openVolume(ctx context.Context, c *hypervisor.Client, pool, name string) (*storage.VolumeStore, error) {
	return storage.OpenVolume(ctx, c, storage.Place{Pool: pool, Name: name}, s.claim)
}

// eachCopy does something to each copy, in one order.
func (s *Store) eachCopy(ctx context.Context, f found, do func(*storage.VolumeStore) error) error {
	for _, disk := range slices.Sorted(maps.Keys(f.copies)) {
		store, err := s.openVolume(ctx, f.c, f.pool, f.copies[disk].Name())
		if err != nil {
			return err
		}
		if err := do(store); err != nil {
			return fmt.Errorf("copy of disk %q: %w", disk, err)
		}
	}
	return nil
}

// Get reads the backup. A copy that is gone is not among its volumes, and a checkpoint that is gone is none; the error is service.ErrAbsent where
