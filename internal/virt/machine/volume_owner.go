package machine

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// volumeOwner tells which volumes are a machine's own. That a domain's mark names one is no proof: the name is written before the
// volume is made, and somebody may have one there. A volume that the provider makes for a machine carries the machine's mark itself.
type volumeOwner struct {
	client *hypervisor.Client
	cache  *HypervisorCache
	// uuid is the machine's, and mark what its volumes get.
	uuid string
	mark owner.Mark
	// owns says whether a volume with a mark is the machine's own.
	owns func(owner.Mark) bool
	// foreign makes the error of a volume that is not.
	foreign func(what, place, importID string, found owner.Mark) *owner.ForeignError
	// named are the volumes that the machine is known to have had, where no mark stands beside them: those of pools that hold no files,
	// and so no marks, those of a version before marks, and those of an imported machine.
	named map[VolumeRef]bool
	// creating is set where the machine's create did not end: then its word proves nothing where marks can stand.
	creating bool
	// noting is held where one of named, or the domain's mark, is changed: volumes are made side by side.
	noting sync.Mutex
	// noteAway notes elsewhere than in the domain's mark that a volume was made; nil where that is the place.
	noteAway func(context.Context, VolumeRef) error
}

func (o *volumeOwner) isNamed(ref VolumeRef) bool {
	o.noting.Lock()
	defer o.noting.Unlock()
	return o.named[ref]
}

// newVolumeOwner returns what owns the volumes of a claim's machine. existing is the machine as it is; nil where there is none.
func (s *Store) newVolumeOwner(existing *Machine) *volumeOwner {
	o := &volumeOwner{client: s.client, cache: s.cache, uuid: s.known.UUID, mark: s.claim.Mark().Finished(), owns: s.claim.Owns, foreign: s.claim.NewForeignError, named: map[VolumeRef]bool{}}
	if existing == nil {
		return o
	}
	o.creating = existing.Mark.Creating != ""
	for _, d := range existing.Mark.Disks {
		if d.Volume != "" && !d.Making {
			o.named[VolumeRef{d.Pool, d.Volume}] = true
		}
	}
	return o
}

func (o *volumeOwner) markedName(ref VolumeRef) storage.MarkedName {
	return storage.MarkedName{Client: o.client, Pool: ref.Pool, Name: ref.Name}
}

// holdsFiles says whether the volumes of a pool are files, beside which marks can stand.
func (o *volumeOwner) holdsFiles(ctx context.Context, pool string) (bool, error) {
	p, err := o.cache.Pool(ctx, o.client, pool)
	return err == nil && p.Files(), err
}

// isOwn says whether a volume is the machine's own, and else whose it is.
func (o *volumeOwner) isOwn(ctx context.Context, ref VolumeRef, v *hypervisor.Volume) (own bool, whose owner.Mark, err error) {
	files, err := o.holdsFiles(ctx, ref.Pool)
	if err != nil || !files {
		return o.isNamed(ref), whose, err
	}
	marks, stale, err := o.markedName(ref).SortMarks(ctx, v)
	switch other := slices.IndexFunc(marks, func(m owner.Mark) bool { return !o.owns(m) }); {
	case err != nil:
		return false, whose, err
	case other >= 0:
		return false, marks[other], nil
	}
	return len(marks) > 0 || len(stale) == 0 && !o.creating && o.isNamed(ref), whose, nil
}

// hasMade says whether there is a volume that is the machine's own.
func (o *volumeOwner) hasMade(ctx context.Context, ref VolumeRef) (bool, error) {
	v, err := o.client.Volume(ctx, ref.Pool, ref.Name)
	if hypervisor.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	own, _, err := o.isOwn(ctx, ref, v)
	return own, err
}

// noteMade has the domain's mark say of a volume, of a pool where no mark can stand beside it, that it was made: the next run has no other proof.
func (o *volumeOwner) noteMade(ctx context.Context, ref VolumeRef) error {
	o.noting.Lock()
	defer o.noting.Unlock()
	o.named[ref] = true
	if o.noteAway != nil {
		return o.noteAway(ctx, ref)
	}
	d, err := o.client.Domain(ctx, o.uuid)
	if err != nil {
		return err
	}
	m := Read(d.Config)
	for i := range m.Mark.Disks {
		if disk := &m.Mark.Disks[i]; disk.Pool == ref.Pool && disk.Volume == ref.Name {
			disk.Making = false
		}
	}
	return writeMark(ctx, o.client, m, false)
}

// newForeignError says that a volume is not the machine's own.
func (o *volumeOwner) newForeignError(ref VolumeRef, whose owner.Mark) error {
	return o.foreign("volume "+ref.Name, "storage pool "+ref.Pool, "", whose)
}

// ownVolumes are volumes that a machine may have, by whose they are.
type ownVolumes struct {
	// own are the machine's, and those that are not there, whose marks may be. there are those of them that are there.
	own   []VolumeRef
	there []*hypervisor.Volume
	// others are somebody else's.
	others []VolumeRef
}

// sortVolumes looks volumes up and says which are the machine's own. A pool that is gone is an error: it proves nothing about its
// files.
func (o *volumeOwner) sortVolumes(ctx context.Context, refs []VolumeRef) (ownVolumes, error) {
	var all ownVolumes
	for _, ref := range refs {
		v, err := o.client.Volume(ctx, ref.Pool, ref.Name)
		switch {
		case hypervisor.IsNoPool(err):
			return all, storage.NewMissingPoolError(ref.Pool, "the node's volume "+ref.Name, err)
		case hypervisor.IsNotFound(err):
			all.own = append(all.own, ref)
			continue
		case err != nil:
			return all, err
		}
		ref.Pool = v.Pool // which may have been given by its UUID
		own, _, err := o.isOwn(ctx, ref, v)
		if err != nil {
			return all, err
		}
		if own {
			all.own, all.there = append(all.own, ref), append(all.there, v)
			continue
		}
		tflog.Warn(ctx, "a volume that is not the node's own stays", map[string]any{"pool": ref.Pool, "volume": ref.Name})
		all.others = append(all.others, ref)
	}
	return all, nil
}

// removeVolumes removes volumes that are the machine's own, with its marks; what is absent already is no error.
func (o *volumeOwner) removeVolumes(ctx context.Context, refs []VolumeRef) error {
	var err error
	for _, ref := range refs {
		err = errors.Join(err, o.removeVolume(ctx, ref))
	}
	return err
}

// removeVolume removes a volume with the machine's marks. One of its name that is not the machine's own stays: it may have come since it was looked for.
func (o *volumeOwner) removeVolume(ctx context.Context, ref VolumeRef) error {
	made, err := o.hasMade(ctx, ref)
	if err == nil && made {
		err = o.client.DeleteVolume(ctx, ref.Pool, ref.Name)
	}
	if err != nil {
		return err
	}
	return o.removeMarks(ctx, ref)
}

// removeMarks removes the machine's marks beside a name: its volume is gone, or is given up.
func (o *volumeOwner) removeMarks(ctx context.Context, ref VolumeRef) error {
	files, err := o.holdsFiles(ctx, ref.Pool)
	if err == nil && files {
		err = o.markedName(ref).RemoveMarks(ctx, o.owns)
	}
	if hypervisor.IsNotFound(err) {
		return nil
	}
	return err
}

// markVolume has a volume of the machine's own carry its mark, and nobody's from whom an import took it.
func (o *volumeOwner) markVolume(ctx context.Context, ref VolumeRef, v *hypervisor.Volume) error {
	files, err := o.holdsFiles(ctx, ref.Pool)
	if err != nil || !files {
		return err
	}
	n := o.markedName(ref)
	if _, err := n.WriteMark(ctx, o.mark, v.Mode()); err != nil {
		return err
	}
	return n.RemoveMarks(ctx, func(m owner.Mark) bool { return m.ID != o.mark.ID && o.owns(m) })
}
