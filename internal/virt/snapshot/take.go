package snapshot

import (
	"context"
	"errors"
	"fmt"
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
	left := false
	for _, p := range all.parts {
		if p.isTaken() && !s.claim.MayTake(p.findOwner()) {
			return Snapshot{}, s.newForeignError(p)
		}
		left = left || p.isTaken()
	}
	if left {
		if err := forEach(all.parts, func(p *part) error { return p.removeSnapshot(ctx) }); err != nil {
			return Snapshot{}, err
		}
		if all, err = s.findParts(ctx); err != nil {
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
		err = forEach(all.parts, func(p *part) error {
			if p.isTaken() && p.findOwner().ID == s.claim.Mark().ID {
				return p.removeSnapshot(ctx)
			}
			return p.removeMarks(ctx, func(m owner.Mark) bool { return m.ID == s.claim.Mark().ID })
		})
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
