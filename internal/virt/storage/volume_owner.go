package storage

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// libvirt keeps no notes beside a volume, what is in an image must stay as its checksum has it, and a mark has to outlive a
// killed apply and a lost state. So whose a volume is stands in the name of an empty file beside it, which libvirt makes in one
// step and lists with the pool: NAME.virtcluster-ID-WORKSPACE. It is made before the volume and removed after it.
const markWord = ".virtcluster-"

var markForm = regexp.MustCompile(`^(.+)\.virtcluster-([a-z0-9]+)-([0-9a-f]*)$`)

// buildMarkName returns the name of the file that marks a volume.
func buildMarkName(volume string, m owner.Mark) string {
	return volume + markWord + m.ID + "-" + m.Workspace
}

// parseMarkName reads the name of a file that marks a volume; false for any other name.
func parseMarkName(name string) (volume string, m owner.Mark, ok bool) {
	parts := markForm.FindStringSubmatch(name)
	if parts == nil {
		return "", owner.Mark{}, false
	}
	return parts[1], owner.Mark{ID: parts[2], Workspace: parts[3]}, true
}

// ownedVolume is a volume's name in a pool, and whose it is.
type ownedVolume struct {
	client *hypervisor.Client
	place  Place
	claim  owner.Claim
}

// Claim implements crud.Owned.
func (o *ownedVolume) Claim() owner.Claim { return o.claim }

// describeVolume names the volume in messages.
func (o *ownedVolume) describeVolume() string { return fmt.Sprintf("volume %q", o.place.Name) }

func (o *ownedVolume) newForeignError(m owner.Mark) error {
	return &owner.ForeignError{What: o.describeVolume(), Place: fmt.Sprintf("storage pool %q", o.place.Pool), ImportID: o.place.ImportID(), Owner: m}
}

// listMarks lists whose the volume is said to be: nobody's where a person made it, and more than one's where two runs began it at
// one time and one of them was killed before it could give way.
func (o *ownedVolume) listMarks(ctx context.Context) ([]owner.Mark, error) {
	names, err := o.client.VolumeNames(ctx, o.place.Pool)
	if err != nil {
		return nil, err
	}
	var marks []owner.Mark
	for _, name := range slices.Sorted(slices.Values(names)) {
		if volume, m, ok := parseMarkName(name); ok && volume == o.place.Name {
			marks = append(marks, m)
		}
	}
	return marks, nil
}

// checkOwned returns an *owner.ForeignError where the volume, which exists, is not the claim's own.
func (o *ownedVolume) checkOwned(ctx context.Context) error {
	// Nearly always this is all that has to be asked.
	if mine, err := o.client.HasVolume(ctx, o.place.Pool, buildMarkName(o.place.Name, o.claim.Mark())); err != nil || mine {
		return err
	}
	marks, err := o.listMarks(ctx)
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
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(markPatience):
		}
		if leftover, others, err = o.findVolume(ctx); err == nil && leftover == nil {
			err = o.removeMarks(ctx, others)
		}
	}
	if err != nil {
		return nil, err
	}
	return leftover, o.writeMark(ctx)
}

// findVolume looks the volume up, nil for none, and the marks of those from whom it may not be taken. Where it exists and may not be
// taken, that is an *owner.ForeignError.
func (o *ownedVolume) findVolume(ctx context.Context) (*hypervisor.Volume, []owner.Mark, error) {
	v, err := o.client.Volume(ctx, o.place.Pool, o.place.Name)
	if err != nil && !hypervisor.IsNotFound(err) {
		return nil, nil, err
	}
	marks, err := o.listMarks(ctx)
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

// writeMark writes the claim's mark.
func (o *ownedVolume) writeMark(ctx context.Context) error {
	_, err := o.client.CreateVolume(ctx, o.place.Pool, &libvirtxml.StorageVolume{
		Name:     buildMarkName(o.place.Name, o.claim.Mark()),
		Capacity: &libvirtxml.StorageVolumeSize{Value: 0},
		Target:   &libvirtxml.StorageVolumeTarget{Format: &libvirtxml.StorageVolumeTargetFormat{Type: "raw"}},
	})
	if err != nil && !errors.Is(err, hypervisor.ErrExists) {
		return fmt.Errorf("mark it as this state's: %w", err)
	}
	return nil
}

// removeOtherMarks ends what beginCreate or a change began: nobody's mark stands there any more but the claim's.
func (o *ownedVolume) removeOtherMarks(ctx context.Context) error {
	marks, err := o.listMarks(ctx)
	if err != nil {
		return err
	}
	mine := o.claim.Mark()
	if err := o.removeMarks(ctx, slices.DeleteFunc(marks, func(m owner.Mark) bool { return m == mine || !o.claim.MayTake(m) })); err != nil {
		return err
	}
	o.claim = o.claim.Written()
	return nil
}

// withdrawMark takes the claim's mark away where nothing was made in its name.
func (o *ownedVolume) withdrawMark(ctx context.Context, leftover bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
	defer cancel()
	_, err := o.client.Volume(ctx, o.place.Pool, o.place.Name)
	switch {
	case err != nil && !hypervisor.IsNotFound(err):
		return err
	case err == nil && !leftover:
		// Either what was begun could not be removed, or another run was faster: its own mark says which.
		marks, err := o.listMarks(ctx)
		if err != nil || !slices.ContainsFunc(marks, func(m owner.Mark) bool { return !o.claim.MayTake(m) }) {
			return err
		}
	}
	return o.removeMarks(ctx, []owner.Mark{o.claim.Mark()})
}

// withdrawTimeout bounds what is still done after the caller has given up.
const withdrawTimeout = 30 * time.Second

// removeMarks removes the files of some marks; absent ones are no error.
func (o *ownedVolume) removeMarks(ctx context.Context, marks []owner.Mark) error {
	for _, m := range marks {
		if err := o.client.DeleteVolume(ctx, o.place.Pool, buildMarkName(o.place.Name, m)); err != nil {
			return err
		}
	}
	return nil
}

// deleteVolume removes the volume with its marks. One that is not the claim's own stays with an *owner.ForeignError, and one that is
// in use with an *InUseError.
func (o *ownedVolume) deleteVolume(ctx context.Context) error {
	v, err := o.client.Volume(ctx, o.place.Pool, o.place.Name)
	switch {
	case hypervisor.IsNotFound(err):
	case err != nil:
		return err
	default:
		if err := o.checkOwned(ctx); err != nil {
			return err
		}
		if err := awaitUnused(ctx, o.client, v, o.claim.Mark().Workspace); err != nil {
			return err
		}
		if err := o.client.DeleteVolume(ctx, o.place.Pool, o.place.Name); err != nil {
			return err
		}
	}
	marks, err := o.listMarks(ctx)
	if err != nil && !hypervisor.IsNotFound(err) {
		return err
	}
	return o.removeMarks(ctx, slices.DeleteFunc(marks, func(m owner.Mark) bool { return !o.claim.Owns(m) }))
}
