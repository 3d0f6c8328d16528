package snapshot

import (
	"context"
	"fmt"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// revertParts takes all machines back to the moment of the snapshot: all of them are off before the first goes back, and all are back before the
// first goes on. Those that ran run again; with their memory, where the snapshot has it. What they wrote since is gone.
func revertParts(ctx context.Context, parts []*part, gone []string) error {
	if len(gone) > 0 {
		return fmt.Errorf("nothing was reverted: no hypervisor of the provider has a domain %q any more", gone[0])
	}
	for _, p := range parts {
		if err := p.mayRevert(ctx); err != nil {
			return fmt.Errorf("nothing was reverted: node %q: %w", p.d.Name, err)
		}
	}
	if err := forEach(parts, func(p *part) error { return p.noteRun(ctx) }); err != nil {
		return err
	}
	if err := forEach(parts, func(p *part) error { return p.c.StopDomain(ctx, p.d.UUID, 0) }); err != nil {
		return err
	}
	failpoint.Hit("snapshot/stopped")
	if err := forEach(parts, func(p *part) error { return p.renewLayers(ctx) }); err != nil {
		return fmt.Errorf("%w. The nodes are off until the next revert, after which those go on that ran", err)
	}
	failpoint.Hit("snapshot/reverted")
	return forEach(parts, func(p *part) error { return p.goOn(ctx) })
}

// mayRevert says what keeps the machine from going back. What a revert removes is the snapshot's own, and nobody else needs it.
func (p *part) mayRevert(ctx context.Context) error {
	switch {
	case !guest.IsOwn(p.d):
		return p.newNotOwnError()
	case !p.isWhole():
		return fmt.Errorf("it has lost snapshot %q, or a part of it", p.snapshot)
	}
	for _, d := range p.disks {
		switch {
		case d.layer == nil && p.hasMemory():
			return fmt.Errorf("its disk %s was plugged in since, and what the snapshot has of its memory knows nothing of it: unplug the disk first", d.target)
		case d.layer != nil && d.layer.Path() != d.top.Path():
			_, later := storage.SplitLayer(d.top.Path())
			return fmt.Errorf("snapshot %q was taken later, and would be lost: destroy that one first", later)
		}
	}
	var layers []*hypervisor.Volume
	for _, d := range p.disks {
		layers = append(layers, d.listLayers()...)
	}
	saved, err := p.c.HasSavedState(ctx, p.d.UUID)
	switch {
	case err != nil:
		return err
	case saved:
		return fmt.Errorf("it is off with its memory saved (virsh managedsave), which knows nothing of its disks as they were: start it first, or have it give its memory up (virsh managedsave-remove %s)", p.d.Name)
	}
	users, err := storage.FindUsersOfLayers(ctx, p.c, p.d.UUID, layers...)
	if err != nil {
		return err
	}
	if users != nil {
		return fmt.Errorf("what it wrote since the snapshot would be lost to others: %w", users)
	}
	// Now that somebody asked for users, libvirt knows what became of files since the machine was read.
	if err := p.readMemory(ctx); err != nil {
		return err
	}
	if p.hasMemory() && p.memory == nil {
		return fmt.Errorf("no storage pool that is started has %s, the file with its memory, without which it cannot go on from there", p.record.Memory)
	}
	return p.checkUnused(ctx)
}

// checkUnused refuses files under the names of layers that are none of the snapshot's.
func (p *part) checkUnused(ctx context.Context) error {
	for i := range p.disks {
		d := &p.disks[i]
		if d.layer == nil {
			continue
		}
		if err := p.readUnused(ctx, d); err != nil {
			return err
		}
		for _, v := range d.unused {
			own, err := p.isOwn(ctx, v)
			if err != nil {
				return err
			}
			if !own {
				return fmt.Errorf("%s is none of the snapshot's files, and the revert needs its name: move it away", v.Path())
			}
		}
	}
	return nil
}

func (p *part) hasMemory() bool { return p.record != nil && p.record.Memory != "" }

// noteRun has libvirt's record say of a machine that it runs, before it is stopped: where the revert breaks, the next one has it go on. One whose memory is
// kept goes on anyway.
func (p *part) noteRun(ctx context.Context) error {
	if p.record == nil || p.hasMemory() || !p.d.Active() {
		return nil
	}
	p.note.Ran = true
	return p.describePart(ctx)
}

// renewLayers has the disks of a machine that is off go on in empty layers, and removes those that they were in. A disk is at any moment
// either as it was or as it shall be.
func (p *part) renewLayers(ctx context.Context) error {
	mark := p.findOwner()
	fresh := map[string]string{}
	for i := range p.disks {
		d := &p.disks[i]
		if d.layer == nil {
			continue
		}
		for _, v := range d.unused { // what an earlier revert left
			if err := p.c.DeleteVolume(ctx, v.Pool, v.Name()); err != nil {
				return err
			}
		}
		name := p.layerNames(*d)[0]
		if d.layer.Name() == name {
			name = p.layerNames(*d)[1]
		}
		if err := p.makeLayer(ctx, mark, *d, name, d.below); err != nil {
			return err
		}
		made, err := p.c.Volume(ctx, d.volume.Pool, name)
		if err != nil {
			return err
		}
		fresh[d.target] = made.Path()
		d.unused, d.layer = []*hypervisor.Volume{d.layer}, made
	}
	failpoint.Hit("snapshot/layers-made")
	now, err := p.c.Domain(ctx, p.d.UUID)
	if err != nil {
		return err
	}
	for i := range now.Config.Devices.Disks {
		x := &now.Config.Devices.Disks[i]
		if x.Target != nil && fresh[x.Target.Dev] != "" {
			x.Source = &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: fresh[x.Target.Dev]}}
			x.BackingStore = nil
		}
	}
	if err := p.c.DefineDomain(ctx, now.Config); err != nil {
		return err
	}
	failpoint.Hit("snapshot/switched")
	for i := range p.disks {
		d := &p.disks[i]
		for _, v := range d.unused {
			if err := p.c.DeleteVolume(ctx, v.Pool, v.Name()); err != nil {
				return err
			}
			if err := p.nameMarked(v.Pool, v.Name()).RemoveMarks(ctx, func(m owner.Mark) bool { return m.ID == mark.ID }); err != nil {
				return err
			}
		}
		d.unused = nil
	}
	return nil
}

// goOn has a machine that ran before the revert, or before an earlier one that broke, run again.
func (p *part) goOn(ctx context.Context) error {
	if !p.hasMemory() {
		return p.startAgain(ctx)
	}
	disks := map[string]string{}
	for _, d := range p.disks {
		disks[d.target] = d.layer.Path()
	}
	return p.c.RestoreDomain(ctx, p.record.Memory, disks)
}

func (p *part) startAgain(ctx context.Context) error {
	if !p.d.Active() && !p.note.Ran {
		return nil
	}
	if err := p.c.StartDomain(ctx, p.d.UUID); err != nil || !p.note.Ran {
		return err
	}
	p.note.Ran = false
	return p.describePart(ctx)
}

// Revert reverts the nodes of this state to a snapshot, by its id or its name, and reports how far it is.
func Revert(ctx context.Context, all map[string]*hypervisor.Client, id string, report func(message string)) error {
	s, err := openByID(all, id)
	if err != nil {
		return err
	}
	found, unlock, err := s.findLocked(ctx)
	defer unlock()
	if err == nil {
		err = found.checkOwn(s.known.Name)
	}
	if err != nil {
		return err
	}
	for _, p := range found.parts {
		report(fmt.Sprintf("node %s goes back to %s of %s", p.d.Name, s.known.Name, p.record.Created.Format("2006-01-02 15:04:05 MST")))
	}
	if err := revertParts(ctx, found.parts, found.gone); err != nil {
		return err
	}
	report(fmt.Sprintf("snapshot %s: all %d nodes are back", s.known.Name, len(found.parts)))
	return nil
}

// MayRevert says while planning what would keep Revert from being done. A snapshot that is not there yet may be taken before.
func MayRevert(ctx context.Context, all map[string]*hypervisor.Client, id string) error {
	s, err := openByID(all, id)
	if err != nil {
		return err
	}
	found, err := s.findParts(ctx)
	if err == nil {
		err = found.checkOwn(s.known.Name)
	}
	if err != nil {
		return err
	}
	for _, p := range found.parts {
		if err := p.mayRevert(ctx); err != nil {
			return fmt.Errorf("node %q: %w", p.d.Name, err)
		}
	}
	return nil
}

// openByID returns the store of a snapshot by its id or its name, for an action, which makes nothing.
func openByID(all map[string]*hypervisor.Client, id string) (*Store, error) {
	name, nodes, err := SplitID(id)
	return Open(all, Snapshot{Name: name, Nodes: nodes}, owner.Claim{}), err
}

// checkOwn refuses machines of a snapshot that this state did not take. The error is hypervisor.ErrNotFound where there is no snapshot of the name.
func (f found) checkOwn(name string) error {
	for _, p := range f.parts {
		switch {
		case p.record == nil:
			return fmt.Errorf("node %q has no snapshot %q: %w", p.d.Name, name, hypervisor.ErrNotFound)
		case !p.note.Mark.IsHere():
			return fmt.Errorf("node %q on hypervisor %s has a snapshot %q %s: only one of this state is reverted to", p.d.Name, p.c.URI(), name, p.note.Mark.Whose())
		}
	}
	if len(f.parts) == 0 {
		return fmt.Errorf("no node of the provider's hypervisors has a snapshot %q: %w", name, hypervisor.ErrNotFound)
	}
	return nil
}
