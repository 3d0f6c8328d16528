package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// disk is one that is copied.
type disk struct {
	key string
	guest.Disk
	// below is the copy that the new one lies upon, nil where all of the disk is copied.
	below *hypervisor.Volume
}

// The attributes that errors are at.
var (
	nodePath   = []any{"node"}
	disksPath  = []any{"disks"}
	targetPath = []any{"target"}
	basePath   = []any{"incremental_from"}
)

// chooseDisks returns the disks of a node that are to be copied, by their keys; all that its guest writes to where there are none. The error is one at
// an attribute.
func chooseDisks(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain, keys []string) ([]disk, error) {
	if !guest.IsOwn(d) {
		return nil, service.At(nodePath, &guest.NotOwnError{Node: d.Name, URI: c.URI(), Taken: "backups"})
	}
	all, err := guest.ReadDisks(ctx, c, d)
	if err != nil {
		return nil, err
	}
	fit, unfit := map[string]guest.Disk{}, map[string]error{}
	var has []string
	for _, known := range machine.Read(d.Config).Disks {
		if at := slices.IndexFunc(all.Written, func(w guest.Disk) bool { return w.Target == known.Target }); at >= 0 {
			fit[known.Key] = all.Written[at]
			has = append(has, known.Key)
		}
		if at := slices.IndexFunc(all.Unfit, func(u guest.UnfitDisk) bool { return u.Target == known.Target }); at >= 0 {
			unfit[known.Key] = all.Unfit[at].Why
			has = append(has, known.Key)
		}
	}
	slices.Sort(has)
	if len(keys) == 0 {
		keys = has
	}
	var chosen []disk
	for _, key := range slices.Sorted(slices.Values(keys)) {
		is, fits := fit[key]
		switch {
		case unfit[key] != nil:
			return nil, service.At(disksPath, fmt.Errorf("disk %q of node %q cannot be copied: %w", key, d.Name, unfit[key]))
		case !fits:
			return nil, service.At(disksPath, fmt.Errorf("node %q has no disk %q that its guest writes to: it has %s", d.Name, key, strings.Join(has, ", ")))
		}
		chosen = append(chosen, disk{key: key, Disk: is})
	}
	if len(chosen) == 0 {
		return nil, service.At(nodePath, fmt.Errorf("node %q has no disk that its guest writes to, so that there is nothing to copy", d.Name))
	}
	return chosen, nil
}

// findBases finds the copies that those of an incremental backup lie upon: of the disks that keep what was written since its checkpoint. The others are
// copied as a whole.
func (s *Store) findBases(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain, disks []disk) error {
	from := s.known.IncrementalFrom
	if from == "" {
		return nil
	}
	all, err := c.Checkpoints(ctx, d.UUID)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(p hypervisor.Checkpoint) bool { return p.Name == from })
	if at < 0 {
		return service.At(basePath, fmt.Errorf("node %q has no checkpoint %q, since which its disks would have kept what was written: refer to a backup of the node, as in virtcluster_backup.NAME.checkpoint, or leave it out", d.Name, from))
	}
	some := false
	for i := range disks {
		if !slices.Contains(all[at].Disks, disks[i].Target) {
			continue
		}
		if disks[i].below, err = s.findBase(ctx, c, nameVolume(d.Name, disks[i].key, from)); err != nil {
			return err
		}
		if disks[i].below == nil {
			return service.At(basePath, fmt.Errorf("no storage pool of hypervisor %s that is started has the volume %s of backup %q, upon which this one's would lie: make that one anew, or leave incremental_from out", c.URI(), nameVolume(d.Name, disks[i].key, from), from))
		}
		some = true
	}
	if !some {
		return service.At(basePath, fmt.Errorf("checkpoint %q of node %q is of none of the disks: leave it out, so that all of them is copied", from, d.Name))
	}
	return nil
}

// findBase finds a volume of a name in the pools of a hypervisor, the target first; nil where none has it.
func (s *Store) findBase(ctx context.Context, c *hypervisor.Client, name string) (*hypervisor.Volume, error) {
	pools, err := s.listPools(ctx, c)
	if err != nil {
		return nil, err
	}
	all, err := c.Pools(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if p.Active && p.Files() && !slices.Contains(pools, p.Name()) {
			pools = append(pools, p.Name())
		}
	}
	for _, pool := range pools {
		v, err := c.Volume(ctx, pool, name)
		if hypervisor.IsNotFound(err) || errors.Is(err, hypervisor.ErrPoolStopped) {
			continue
		}
		return v, err
	}
	return nil, nil
}

// LookAtMachine implements crud.Looker: it says what keeps the backup from being taken. A node that is not there yet may be made before, unless it is
// meant by an id, which it would not have yet.
func (s *Store) LookAtMachine(ctx context.Context, want Backup) error {
	c, d, err := guest.Find(ctx, s.hypervisors, want.Node)
	if hypervisor.IsNotFound(err) && hypervisor.IsUUID(want.Node) {
		return service.At(nodePath, guest.NewGoneError(want.Node))
	}
	if err != nil {
		if hypervisor.IsNotFound(err) {
			return nil
		}
		return err
	}
	disks, err := chooseDisks(ctx, c, d, want.Disks)
	if err != nil {
		return err
	}
	if err := s.findBases(ctx, c, d, disks); err != nil {
		return err
	}
	return s.checkTarget(ctx, c, disks)
}

// checkTarget says what keeps the copies from being made in the target. A pool that the plan makes is none there yet.
func (s *Store) checkTarget(ctx context.Context, c *hypervisor.Client, disks []disk) error {
	pools, err := s.listPools(ctx, c)
	switch {
	case err != nil:
		return err
	case len(pools) > 0:
		return s.checkRoom(ctx, c, pools[0], disks)
	case s.known.Target.Path != "":
		return nil // Create starts one, where there is the directory
	}
	return s.refuseTarget(ctx, c)
}

// refuseTarget says why a hypervisor has no pool that is the target.
func (s *Store) refuseTarget(ctx context.Context, c *hypervisor.Client) error {
	at := append(slices.Clone(targetPath), "pool")
	p, err := c.Pool(ctx, s.known.Target.Pool)
	switch {
	case err == nil && !p.Files():
		return service.At(at, fmt.Errorf("the pool %q is of type %q, and backups need a pool of files, such as \"dir\"", p.Name(), p.Type()))
	case err == nil:
		return service.At(at, fmt.Errorf("the storage pool %q of hypervisor %s is stopped: start it", p.Name(), c.URI()))
	case !hypervisor.IsNotFound(err):
		return err
	case s.plan != nil && s.planMakesPool(c):
		return nil
	}
	return service.At(at, fmt.Errorf("the hypervisor %s of the node has no storage pool %q: name one that exists, or make it and refer to it: virtcluster_storage_pool.NAME.name", c.URI(), s.known.Target.Pool))
}

// planMakesPool says whether a resource of the plan makes the target, by any name of the hypervisor.
func (s *Store) planMakesPool(c *hypervisor.Client) bool {
	for name, other := range s.hypervisors {
		if other.URI() == c.URI() && storage.PlansPool(s.plan, name, s.known.Target.Pool) {
			return true
		}
	}
	return false
}

// checkRoom says that a pool has less room than the copies take for sure: what the files of disks take that are copied as a whole.
func (s *Store) checkRoom(ctx context.Context, c *hypervisor.Client, pool string, disks []disk) error {
	p, err := c.Pool(ctx, pool)
	if err != nil {
		return err
	}
	if p.XML.Available == nil || p.XML.Capacity == nil || p.XML.Capacity.Value == 0 {
		return nil // a kind of pool that does not know
	}
	const mib = 1 << 20
	var needed uint64
	for _, d := range disks {
		if d.below == nil {
			needed += d.File.Allocation()
		}
	}
	if left := p.XML.Available.Value; needed > left {
		return service.At(targetPath, fmt.Errorf("storage pool %q of hypervisor %s has %d MiB left, and the copies take %d MiB or more: make room there, or choose another one", pool, c.URI(), left/mib, needed/mib))
	}
	return nil
}
