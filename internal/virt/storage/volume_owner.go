package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// ownedVolume is a volume's name in a pool, and whose it is.
type ownedVolume struct {
	client *hypervisor.Client
	place  Place
	claim  owner.Claim
}

// Claim implements crud.Owned.
func (o *ownedVolume) Claim() owner.Claim { return o.claim }

// markedName is the volume's, with its marks.
func (o *ownedVolume) markedName() MarkedName {
	return MarkedName{Client: o.client, Pool: o.place.Pool, Name: o.place.Name}
}

// isOwnMark says whether a mark is of this very resource, which tells nothing of the volume beside it.
func (o *ownedVolume) isOwnMark(m owner.Mark) bool { return m.ID == o.claim.Mark().ID }

// FinishMark implements crud.Owned: the finished mark is there before the other one goes.
func (o *ownedVolume) FinishMark(ctx context.Context) error {
	v, err := o.client.Volume(ctx, o.place.Pool, o.place.Name)
	if err != nil {
		return err
	}
	marks, err := o.markedName().ListMarks(ctx, v)
	if err != nil {
		return err
	}
	unfinished := func(m owner.Mark) bool { return m.Creating != "" && o.claim.Owns(m) }
	for _, m := range marks {
		if !unfinished(m) {
			continue
		}
		if _, err := o.markedName().WriteMark(ctx, m.Finished(), v.Mode()); err != nil {
			return err
		}
	}
	if err := o.markedName().RemoveMarks(ctx, unfinished); err != nil {
		return err
	}
	o.claim = o.claim.Finished()
	return nil
}

// describeVolume names the volume in messages.
func (o *ownedVolume) describeVolume() string { return fmt.Sprintf("volume %q", o.place.Name) }

func (o *ownedVolume) newForeignError(m owner.Mark) error {
	return o.claim.NewForeignError(o.describeVolume(), fmt.Sprintf("storage pool %q", o.place.Pool), o.place.ImportID(), m)
}

// checkOwned returns an *owner.ForeignError where the volume is not the claim's own.
func (o *ownedVolume) checkOwned(ctx context.Context, v *hypervisor.Volume) error {
	// Nearly always this is all that has to be asked.
	if mine, err := o.markedName().isMarked(ctx, v, o.claim.Mark()); err != nil || mine {
		return err
	}
	marks, err := o.markedName().ListMarks(ctx, v)
	if err != nil {
		return err
	}
	if own := slices.IndexFunc(marks, o.claim.Owns); own >= 0 {
		o.claim = o.claim.Found(marks[own])
		return nil
	}
	var found owner.Mark
	if len(marks) > 0 {
		found = marks[0]
	}
	if !o.claim.Owns(found) {
		return o.newForeignError(found)
	}
	o.claim = o.claim.Found(found)
	return nil
}

// MayCreate implements crud.Previewer: it returns an *owner.ForeignError where somebody else has a volume of the name.
func (o *ownedVolume) MayCreate(ctx context.Context) error {
	_, _, err := o.findVolume(ctx)
	return err
}

// markPatience is how long a mark may stand without its volume while another run is about to make that.
var markPatience = 3 * time.Second

// beginCreate marks the name of a volume that is about to be made. It returns the volume that a killed run of the same workspace left
// behind, nil for none; what is anybody else's is an *owner.ForeignError.
func (o *ownedVolume) beginCreate(ctx context.Context) (leftover *hypervisor.Volume, err error) {
	pool, err := o.client.Pool(ctx, o.place.Pool)
	if err != nil {
		return nil, err
	}
	if !pool.Files() {
		return nil, fmt.Errorf("storage pool %q is of type %q, and this needs a pool of files, such as \"dir\"", o.place.Pool, pool.Type())
	}
	// libvirt would write over a file that it has not seen yet.
	if err := o.client.RefreshPool(ctx, o.place.Pool); err != nil {
		return nil, err
	}
	leftover, others, err := o.findVolume(ctx)
	if err == nil && leftover == nil && len(others) > 0 {
		// Either another run is about to make the volume, or somebody removed it and left its mark.
		if err := hypervisor.Pause(ctx, markPatience); err != nil {
			return nil, err
		}
		if leftover, others, err = o.findVolume(ctx); err == nil && leftover == nil {
			err = o.markedName().RemoveMarks(ctx, func(m owner.Mark) bool { return slices.Contains(others, m) })
		}
	}
	if err != nil {
		return nil, err
	}
	return leftover, o.writeMark(ctx, leftover)
}

// findVolume looks the volume up, nil for none, and the marks of those from whom it may not be taken. Where it exists and may not be
// taken, that is an *owner.ForeignError.
func (o *ownedVolume) findVolume(ctx context.Context) (*hypervisor.Volume, []owner.Mark, error) {
	v, err := o.client.Volume(ctx, o.place.Pool, o.place.Name)
	if err != nil && (!hypervisor.IsNotFound(err) || hypervisor.IsNoPool(err)) {
		return nil, nil, err
	}
	var marks []owner.Mark
	if v != nil {
		marks, err = o.markedName().ListMarks(ctx, v)
	} else {
		marks, err = o.markedName().listAllMarks(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	others := slices.DeleteFunc(slices.Clone(marks), o.claim.MayTake)
	switch {
	case v != nil && len(others) > 0:
		return nil, nil, o.newForeignError(others[0])
	case v != nil && len(marks) == 0 && !o.claim.MayTake(owner.Mark{}):
		return nil, nil, o.newForeignError(owner.Mark{})
	}
	return v, others, nil
}

// writeMark writes the claim's mark for a volume that is there, or for one that is to be made where it is nil.
func (o *ownedVolume) writeMark(ctx context.Context, v *hypervisor.Volume) error {
	mode := MarkedMode
	if v != nil {
		mode = v.Mode()
	}
	_, err := o.markedName().WriteMark(ctx, o.claim.Mark(), mode)
	return err
}

// takeOver ends what beginCreate or a change began: the volume carries the claim's mark, and nobody's stands there any more from whom
// it was taken.
func (o *ownedVolume) takeOver(ctx context.Context, v *hypervisor.Volume) error {
	if err := o.writeMark(ctx, v); err != nil {
		return err
	}
	mine := o.claim.Mark()
	if err := o.markedName().RemoveMarks(ctx, func(m owner.Mark) bool { return m != mine && o.claim.MayTake(m) }); err != nil {
		return err
	}
	o.claim = o.claim.Written()
	return nil
}

// withdrawMark takes the claim's mark away where nothing was made in its name; leftover says that what is there was there before.
func (o *ownedVolume) withdrawMark(ctx context.Context, leftover bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
	defer cancel()
	v, err := o.client.Volume(ctx, o.place.Pool, o.place.Name)
	switch {
	case err != nil && !hypervisor.IsNotFound(err):
		return err
	case err == nil && !leftover:
		// Either what was begun could not be removed, or was finished and the answer was lost, or another run was faster: its own mark says which, or that the volume has none
		// of this run's.
		marks, err := o.markedName().ListMarks(ctx, v)
		if err != nil || slices.ContainsFunc(marks, o.isOwnMark) && !slices.ContainsFunc(marks, func(m owner.Mark) bool { return !o.claim.MayTake(m) }) {
			return err
		}
	}
	return o.markedName().RemoveMarks(ctx, o.isOwnMark)
}

// withdrawTimeout bounds what is still done after the caller has given up.
const withdrawTimeout = 30 * time.Second

// deleteVolume removes the volume with its marks. One that is not the claim's own stays with an *owner.ForeignError, without the claim's mark, and
// one that is in use with an *InUseError. A pool that is gone is an error: it proves nothing about its files.
func (o *ownedVolume) deleteVolume(ctx context.Context) error {
	v, err := o.client.Volume(ctx, o.place.Pool, o.place.Name)
	switch {
	case hypervisor.IsNoPool(err):
		return NewMissingPoolError(o.place.Pool, o.describeVolume(), err)
	case hypervisor.IsNotFound(err):
	case err != nil:
		return err
	default:
		err := o.checkOwned(ctx, v)
		if _, foreign := errors.AsType[*owner.ForeignError](err); foreign {
			return errors.Join(err, o.markedName().RemoveMarks(ctx, o.isOwnMark))
		}
		if err != nil {
			return err
		}
		if err := awaitUnused(ctx, o.client, v, o.claim.Mark().Workspace); err != nil {
			return err
		}
		if err := o.client.DeleteVolume(ctx, o.place.Pool, o.place.Name); err != nil {
			return err
		}
	}
	return o.markedName().RemoveMarks(ctx, o.claim.Owns)
}

// NewMissingPoolError says that nothing can be known of a volume, as its pool is gone and its file may be there.
func NewMissingPoolError(pool, what string, err error) error {
	return fmt.Errorf("the storage pool %q is gone, and %s was in it, whose file may be there still: define the pool again (virsh pool-define-as, or an apply of its virtcluster_storage_pool), "+
		"or leave the file to whoever removed the pool, with: terraform state rm ADDRESS: %w", pool, what, err)
}
