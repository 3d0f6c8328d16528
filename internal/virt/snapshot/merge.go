package snapshot

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// removeSnapshots takes the snapshot away from machines: from all of them, or from none where something keeps it with one.
func removeSnapshots(ctx context.Context, parts []*part) error {
	for _, step := range []func(*part, context.Context) error{(*part).wakeGuest, (*part).mayRemove, (*part).removeSnapshot} {
		if err := forEach(parts, func(p *part) error { return step(p, ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// mayRemove says what keeps the snapshot with the machine: what would be lost, or is used by others.
func (p *part) mayRemove(ctx context.Context) error {
	if err := p.refuseLoss(ctx); err != nil {
		return err
	}
	files, err := p.listMerged(ctx)
	if err != nil || len(files) == 0 {
		return err
	}
	return storage.AwaitUnusedLayers(ctx, p.c, p.d.UUID, files...)
}

// listMerged lists the files that a removal changes: the snapshot's own, which go, and those that its layers are written into.
func (p *part) listMerged(ctx context.Context) ([]*hypervisor.Volume, error) {
	var files []*hypervisor.Volume
	err := p.eachFile(ctx, func(v *hypervisor.Volume) error {
		files = append(files, v)
		return nil
	})
	for _, d := range p.disks {
		if d.below != nil {
			files = append(files, d.below)
		}
	}
	return files, err
}

// removeSnapshot takes the snapshot away from the machine: what its layers hold is written into what lies below them, then the files go with
// their marks, and libvirt's record last, so that whatever is left when it ends early is found again.
func (p *part) removeSnapshot(ctx context.Context) error {
	if err := p.mergeLayers(ctx); err != nil {
		return err
	}
	failpoint.Hit("snapshot/merged")
	if err := p.removeFiles(ctx); err != nil {
		return err
	}
	failpoint.Hit("snapshot/removed")
	if p.record == nil || p.note.Mark.ID == "" {
		return nil
	}
	return p.c.ForgetSnapshot(ctx, p.d.UUID, p.snapshot)
}

// refuseLoss refuses to remove layers that the machine's disks are not in where libvirt has no record of the snapshot: its domain was undefined, and defined
// again with its disks in what lies below them, so that they hold what the guest wrote meanwhile. A merge leaves the record until the files are gone.
func (p *part) refuseLoss(ctx context.Context) error {
	if p.record != nil {
		return nil
	}
	for _, d := range p.disks {
		for _, v := range d.unused {
			if err := refuseLoss(ctx, p.c, v, p.d.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeFiles removes the snapshot's own files, of which the machine uses none, with their marks.
func (p *part) removeFiles(ctx context.Context) error {
	whose := p.findOwner()
	own := func(m owner.Mark) bool { return m.ID == whose.ID }
	err := p.eachFile(ctx, func(v *hypervisor.Volume) error {
		if err := p.c.DeleteVolume(ctx, v.Pool, v.Name()); err != nil {
			return err
		}
		return p.nameMarked(v.Pool, v.Name()).RemoveMarks(ctx, own)
	})
	if err != nil {
		return err
	}
	return p.removeMarks(ctx, own) // of what was to be made, or has lost its file
}

// wakeGuest has the guest of a machine go on whose snapshot was not taken to its end: it may stand still, and hold its file systems.
func (p *part) wakeGuest(ctx context.Context) error {
	if p.findOwner().Creating == "" {
		return nil
	}
	if p.d.State == "paused" {
		if err := p.c.ResumeDomain(ctx, p.d.UUID); err != nil {
			return err
		}
	}
	if p.d.Active() {
		_ = p.c.ThawDomain(ctx, p.d.UUID) // where an agent answers, and holds any
	}
	return nil
}

// mergeLayers has the disks do without the snapshot's layers.
func (p *part) mergeLayers(ctx context.Context) error {
	if !p.hasLayers() {
		return nil
	}
	return guest.WhileStarted(ctx, p.c, p.d, "its layers to be merged", func() error {
		for _, d := range p.disks {
			if d.layer == nil {
				continue
			}
			if err := p.c.MergeLayer(ctx, p.d.UUID, d.target, d.layer, d.layer.Path() == d.top.Path()); err != nil {
				return err
			}
			failpoint.Hit("snapshot/disk-merged")
			// libvirt does not see by itself that the layer above lies upon another file now.
			if err := p.c.RefreshPool(ctx, d.volume.Pool); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p *part) hasLayers() bool {
	for _, d := range p.disks {
		if d.layer != nil {
			return true
		}
	}
	return false
}

// removeMarks removes the marks that are some from beside the names of all files that the snapshot may have of the machine.
func (p *part) removeMarks(ctx context.Context, are func(owner.Mark) bool) error {
	for _, d := range p.disks {
		for _, name := range p.layerNames(d) {
			if err := p.nameMarked(d.volume.Pool, name).RemoveMarks(ctx, are); err != nil {
				return err
			}
		}
	}
	if len(p.disks) == 0 {
		return nil
	}
	return p.nameMarked(p.disks[0].volume.Pool, p.memoryName()).RemoveMarks(ctx, are)
}
