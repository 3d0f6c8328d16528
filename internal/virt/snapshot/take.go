package snapshot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// Create takes the snapshot. What a killed run of this workspace took of it is of some of the machines, or of none: it is merged away first.
func (s *Store) Create(ctx context.Context, want Snapshot) (Snapshot, error) {
	all, unlock, err := s.findLocked(ctx)
	defer unlock()
	if err != nil {
		return Snapshot{}, err
	}
	if len(all.gone) > 0 {
		return Snapshot{}, service.At(nodesPath, guest.NewGoneError(all.gone[0]))
	}
	if err := s.refuseForeign(all.parts); err != nil {
		return Snapshot{}, err
	}
	if slices.ContainsFunc(all.parts, (*part).isTaken) {
		if err := removeSnapshots(ctx, all.parts); err != nil {
			return Snapshot{}, err
		}
		if all, err = s.findParts(ctx); err != nil {
			return Snapshot{}, err
		}
		if err := s.refuseForeign(all.parts); err != nil { // what lay beside its files
			return Snapshot{}, err
		}
	}
	if err := checkParts(ctx, all.parts, want.Memory); err != nil {
		return Snapshot{}, service.At(nodesPath, err)
	}
	// A run that was killed may have written a mark and not made its file.
	if err := forEach(all.parts, func(p *part) error { return p.removeMarks(ctx, s.claim.MayTake) }); err != nil {
		return Snapshot{}, err
	}
	if err := s.takeAll(ctx, want, all.parts); err != nil {
		return Snapshot{}, errors.Join(err, s.withdrawSnapshot(ctx))
	}
	s.claim = s.claim.Written()
	return s.Get(ctx)
}

// withdrawLimit bounds what is still done after the snapshot could not be taken.
const withdrawLimit = 5 * time.Minute

// withdrawSnapshot merges away what was taken of a snapshot that could not be taken as a whole. Where that fails too, the state keeps it.
func (s *Store) withdrawSnapshot(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawLimit)
	defer cancel()
	all, err := s.findParts(ctx)
	if err == nil {
		mine := func(m owner.Mark) bool { return m.ID == s.claim.Mark().ID }
		var taken, marked []*part
		for _, p := range all.parts {
			if p.isTaken() && mine(p.findOwner()) {
				taken = append(taken, p)
			} else {
				marked = append(marked, p)
			}
		}
		err = errors.Join(removeSnapshots(ctx, taken), forEach(marked, func(p *part) error { return p.removeMarks(ctx, mine) }))
	}
	if err != nil {
		s.claim = s.claim.Written()
	}
	return err
}

// takeAll takes the snapshot of machines that have nothing of it: at one moment, at which none of them runs.
func (s *Store) takeAll(ctx context.Context, want Snapshot, parts []*part) (err error) {
	if err := forEach(parts, func(p *part) error { return p.makeLayers(ctx, s.claim.Mark(), want.Memory) }); err != nil {
		return err
	}
	failpoint.Hit("snapshot/prepared")
	// Whatever happens from here on, the guests go on.
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawLimit)
	defer cancel()
	defer func() { err = errors.Join(err, forEach(parts, func(p *part) error { return p.thawGuest(after) })) }()
	if err := forEach(parts, func(p *part) error { return p.freezeGuest(ctx, want.Quiesce) }); err != nil {
		return err
	}
	failpoint.Hit("snapshot/frozen")
	defer func() { err = errors.Join(err, forEach(parts, func(p *part) error { return p.resumeGuest(after) })) }()
	if err := forEach(parts, func(p *part) error { return p.suspendGuest(ctx) }); err != nil {
		return err
	}
	failpoint.Hit("snapshot/suspended")
	err = forEach(parts, func(p *part) error {
		return p.takePart(ctx, guest.Note{Mark: s.claim.Mark(), Quiesce: want.Quiesce, Frozen: p.frozen, Memory: want.Memory, Revert: want.Revert})
	})
	failpoint.Hit("snapshot/taken")
	return err
}

// makeLayers makes an empty layer upon each disk of the machine, and a file for its memory, each with a mark.
func (p *part) makeLayers(ctx context.Context, mark owner.Mark, memory bool) error {
	for _, d := range p.disks {
		if err := p.makeLayer(ctx, mark, d, p.layerNames(d)[0], d.top); err != nil {
			return err
		}
	}
	if !memory || !p.d.Active() {
		return nil
	}
	file := storage.NewMarkedVolume(p.memoryName(), "raw", 0)
	if _, err := p.nameMarked(p.disks[0].volume.Pool, p.memoryName()).WriteMark(ctx, mark, storage.MarkedMode); err != nil {
		return err
	}
	_, err := p.c.CreateVolume(ctx, p.disks[0].volume.Pool, file)
	return err
}

// makeLayer makes an empty layer of a name upon a file, with a mark.
func (p *part) makeLayer(ctx context.Context, mark owner.Mark, d disk, name string, below *hypervisor.Volume) error {
	// libvirt would write over a file that it has not seen yet.
	if err := p.c.RefreshPool(ctx, d.volume.Pool); err != nil {
		return err
	}
	if _, err := p.nameMarked(d.volume.Pool, name).WriteMark(ctx, mark, storage.MarkedMode); err != nil {
		return err
	}
	layer := storage.NewMarkedVolume(name, "qcow2", d.top.Capacity())
	layer.Allocation = &libvirtxml.StorageVolumeSize{Unit: "bytes", Value: 0}
	layer.BackingStore = storage.NewBacking(below)
	_, err := p.c.CreateVolume(ctx, d.volume.Pool, layer)
	return err
}

// freezeGuest has the guest agent hold the file systems, where that is wanted and it answers.
func (p *part) freezeGuest(ctx context.Context, quiesce string) (err error) {
	p.frozen, err = guest.Freeze(ctx, p.c, p.d, quiesce)
	return err
}

func (p *part) thawGuest(ctx context.Context) error {
	if !p.frozen {
		return nil
	}
	return p.c.ThawDomain(ctx, p.d.UUID)
}

func (p *part) suspendGuest(ctx context.Context) error {
	if p.d.State != "running" {
		return nil
	}
	p.suspended = true
	return p.c.SuspendDomain(ctx, p.d.UUID)
}

func (p *part) resumeGuest(ctx context.Context) error {
	if !p.suspended {
		return nil
	}
	return p.c.ResumeDomain(ctx, p.d.UUID)
}

// takePart has libvirt take its snapshot of the machine.
func (p *part) takePart(ctx context.Context, n guest.Note) error {
	// Somebody else may have put a layer upon a disk since: ours would leave out what is in that.
	now, err := p.c.Domain(ctx, p.d.UUID)
	if err != nil {
		return err
	}
	for _, d := range p.disks {
		if !slices.ContainsFunc(now.Config.Devices.Disks, func(x libvirtxml.DomainDisk) bool {
			return x.Target != nil && x.Target.Dev == d.target && d.top.IsSource(x.Source)
		}) {
			return fmt.Errorf("its disk %s is not in %s any more: somebody changed it meanwhile", d.target, d.top.Path())
		}
	}
	s := hypervisor.Snapshot{Name: p.snapshot, Description: n.String(), Layers: map[string]string{}}
	for _, d := range p.disks {
		s.Layers[d.target] = storage.LayersOf(d.volume.Path(), p.snapshot)[0]
	}
	if n.Memory && p.d.Active() {
		s.Memory = p.memoryPath()
	}
	return p.actBesideCheckpoints(ctx, func() error { return p.c.TakeSnapshot(ctx, p.d.UUID, s, p.kept) })
}

// actBesideCheckpoints has libvirt take or describe a snapshot, which it refuses of a machine that is off and has checkpoints: that is started
// for it without letting its guest run.
func (p *part) actBesideCheckpoints(ctx context.Context, act func() error) error {
	checkpoints, err := p.c.Checkpoints(ctx, p.d.UUID)
	switch {
	case err != nil:
		return err
	case len(checkpoints) == 0:
		return act()
	}
	return guest.WhileStarted(ctx, p.c, p.d, "a snapshot beside checkpoints", act)
}

// describePart has libvirt's record of the snapshot say what the part's note says.
func (p *part) describePart(ctx context.Context) error {
	return p.actBesideCheckpoints(ctx, func() error { return p.c.DescribeSnapshot(ctx, p.d.UUID, p.snapshot, p.note.String()) })
}

// place is a storage pool of a hypervisor.
type place struct {
	c    *hypervisor.Client
	pool string
}

// checkRoom says which pool has less room than a snapshot of machines takes for sure: their memory, where that is kept, and all of their raw
// disks, whose room is theirs already, and which may be written anew as a whole into their layers. Thin disks have no room of their own to
// begin with.
func checkRoom(ctx context.Context, parts []*part, memory bool) error {
	needs := map[place]uint64{}
	for _, p := range parts {
		for _, d := range p.disks {
			if storage.DiskFormat(d.top) == "raw" {
				needs[place{p.c, d.volume.Pool}] += d.top.Capacity()
			}
		}
		if memory && p.d.Active() {
			needs[place{p.c, p.disks[0].volume.Pool}] += p.memoryBytes()
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(needs), cmpPlaces) {
		if err := at.c.RefreshPool(ctx, at.pool); err != nil {
			return err
		}
		pool, err := at.c.Pool(ctx, at.pool)
		if err != nil {
			return err
		}
		if pool.XML.Available == nil || pool.XML.Capacity == nil || pool.XML.Capacity.Value == 0 {
			continue // a kind of pool that does not know
		}
		if left := pool.XML.Available.Value; needs[at] > left {
			const mib = 1 << 20
			return fmt.Errorf("storage pool %q of hypervisor %s has %d MiB left, and the snapshot may take %d MiB there, for raw disks that are written anew and for memory: make room there, or leave out memory",
				at.pool, at.c.URI(), left/mib, needs[at]/mib)
		}
	}
	return nil
}

// memoryBytes is the most that the machine's memory takes.
func (p *part) memoryBytes() uint64 {
	m := p.d.Config.Memory
	if m == nil {
		return 0
	}
	unit := map[string]uint64{"b": 1, "bytes": 1, "MiB": 1 << 20, "GiB": 1 << 30}[m.Unit]
	if unit == 0 {
		unit = 1 << 10 // libvirt's own
	}
	return uint64(m.Value) * unit
}

func cmpPlaces(a, b place) int {
	return slices.Compare([]string{a.c.URI(), a.pool}, []string{b.c.URI(), b.pool})
}
