package snapshot

import (
	"context"
	"errors"
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// removeSnapshot takes the snapshot away from the machine: what its layers hold is written into what lies below them, then the files go with
// their marks, and libvirt's record last, so that whatever is left when it ends early is found again.
func (p *part) removeSnapshot(ctx context.Context) error {
	if err := p.wakeGuest(ctx); err != nil {
		return err
	}
	if err := p.mergeLayers(ctx); err != nil {
		return err
	}
	failpoint.Hit("snapshot/merged")
	if err := p.removeFiles(ctx); err != nil {
		return err
	}
	failpoint.Hit("snapshot/removed")
	if p.record == nil || p.note.mark.ID == "" {
		return nil
	}
	return p.c.ForgetSnapshot(ctx, p.d.UUID, p.snapshot)
}

// removeFiles removes the files of the snapshot, of which the machine uses none, with their marks.
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

// mergeLayers has the disks do without the snapshot's layers. A machine that is off is started for it, without letting its guest run.
func (p *part) mergeLayers(ctx context.Context) (err error) {
	if !p.hasLayers() {
		return nil
	}
	if !p.d.Active() {
		if err := p.c.StartDomainPaused(ctx, p.d.UUID); err != nil {
			return fmt.Errorf("it is off, and has to be started, without letting its guest run, for its layers to be merged: %w", err)
		}
		defer func() { err = errors.Join(err, p.stopPaused(context.WithoutCancel(ctx))) }()
	}
	for _, d := range p.disks {
		if d.layer == nil {
			continue
		}
		if err := p.c.MergeLayer(ctx, p.d.UUID, d.target, d.layer.Path(), d.layer.Backing(), d.layer.Path() == d.top.Path()); err != nil {
			return err
		}
		failpoint.Hit("snapshot/disk-merged")
		// libvirt does not see by itself that the layer above lies upon another file now.
		if err := p.c.RefreshPool(ctx, d.volume.Pool); err != nil {
			return err
		}
	}
	return nil
}

// stopPaused switches a machine off that was started without letting its guest run. One whose guest somebody has let run meanwhile goes on.
func (p *part) stopPaused(ctx context.Context) error {
	d, err := p.c.Domain(ctx, p.d.UUID)
	if hypervisor.IsNotFound(err) {
		return nil
	}
	if err != nil || d.State != "paused" {
		return err
	}
	return p.c.StopDomain(ctx, p.d.UUID, 0)
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
