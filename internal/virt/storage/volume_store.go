package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// VolumeStore is where one volume lives. It implements crud.Store.
type VolumeStore struct{ ownedVolume }

// OpenVolume returns the store of the volume at a place.
func OpenVolume(ctx context.Context, c *hypervisor.Client, place Place, claim owner.Claim) (*VolumeStore, error) {
	o, err := openOwned(ctx, c, place, claim)
	return &VolumeStore{o}, err
}

// openOwned completes a place that is a path, by asking the hypervisor.
func openOwned(ctx context.Context, c *hypervisor.Client, place Place, claim owner.Claim) (ownedVolume, error) {
	if place.Path != "" {
		v, err := c.VolumeByPath(ctx, place.Path)
		if err != nil {
			return ownedVolume{}, asStoreError(err)
		}
		place = Place{Hypervisor: place.Hypervisor, Pool: v.Pool, Name: v.Name()}
	}
	if len(buildMarkName(place.Name, claim.Mark())) > maxFileName {
		claim = claim.Finished() // no room to say that it is being made: what a killed run leaves of it has to be imported
	}
	return ownedVolume{client: c, place: place, claim: claim}, nil
}

// asStoreError tells a proven absence, and a pool that cannot be looked into, from other errors.
func asStoreError(err error) error {
	switch {
	case errors.Is(err, hypervisor.ErrPoolStopped):
		return &service.UnseenError{Why: "Its storage pool is stopped, so what is known of it stays. Start the pool to have it checked.", Err: err}
	case hypervisor.IsNoPool(err):
		return &service.UnseenError{Why: "Its storage pool is gone, which proves nothing about its file, so what is known of it stays. Define the pool again to have it checked, or take this resource out of the state with `terraform state rm`.", Err: err, Placeless: true}
	case hypervisor.IsNotFound(err):
		return fmt.Errorf("%w: %w", service.ErrAbsent, err)
	}
	return err
}

// readVolume reads the volume, which must be the claim's own. Where somebody deleted the volume its mark goes too: Terraform forgets a
// resource whose read says that nothing is there, and would never ask for the mark to be removed.
func (o *ownedVolume) readVolume(ctx context.Context) (*hypervisor.Volume, error) {
	v, err := o.client.Volume(ctx, o.place.Pool, o.place.Name)
	if err == nil {
		err = o.checkOwned(ctx, v)
	}
	if err = asStoreError(err); errors.Is(err, service.ErrAbsent) {
		if left := o.markedName().RemoveMarks(ctx, o.isOwnMark); left != nil {
			return nil, fmt.Errorf("remove the mark of %s, which is gone: %w", o.describeVolume(), left)
		}
	}
	return v, err
}

// ListUnmodelled lists what of the volume no attribute says; an error says why there is no volume that a resource could be. It implements
// crud.Inspector, for images too.
func (o *ownedVolume) ListUnmodelled(ctx context.Context) ([]service.Unmodelled, error) {
	v, err := o.readVolume(ctx)
	if err != nil {
		return nil, err
	}
	if format := DiskFormat(v); format != "qcow2" && format != "raw" {
		return nil, fmt.Errorf("it is of format %q, and only \"qcow2\" and \"raw\" can be managed", format)
	}
	if v.XML.Target != nil && v.XML.Target.Encryption != nil {
		return []service.Unmodelled{{Place: "/volume/target/encryption", What: v.XML.Target.Encryption.Format}}, nil
	}
	return nil, nil
}

// ListUnmodelled implements crud.Inspector: of a volume without a whole GiB no resource can tell the size.
func (s *VolumeStore) ListUnmodelled(ctx context.Context) ([]service.Unmodelled, error) {
	v, err := s.readVolume(ctx)
	if err == nil && v.Capacity() < gib && v.Backing() == "" {
		return nil, fmt.Errorf("it has %d bytes, and the size of a volume is at least 1 GiB", v.Capacity())
	}
	if err != nil {
		return nil, err
	}
	return s.ownedVolume.ListUnmodelled(ctx)
}

// Get reads the volume.
func (s *VolumeStore) Get(ctx context.Context) (Volume, error) {
	v, err := s.readVolume(ctx)
	if err != nil {
		return Volume{}, err
	}
	return newVolume(v), nil
}

// Create makes the volume. What a killed run of this workspace left of it, with nothing written to it yet, is taken over.
func (s *VolumeStore) Create(ctx context.Context, want Volume) (_ Volume, err error) {
	image, err := FindImage(ctx, s.client, want)
	if err != nil {
		return Volume{}, fmt.Errorf("image: %w", err)
	}
	if image != nil && want.capacityBytes(image) < image.Capacity() {
		return Volume{}, fmt.Errorf("the image %s has %d bytes, so the overlay needs size_gib = %d or more", image.Path(), image.Capacity(), image.CapacityGiB())
	}
	leftover, err := s.beginCreate(ctx)
	if err != nil {
		return Volume{}, err
	}
	v, err := s.makeVolume(ctx, want, image, leftover)
	if err != nil {
		return Volume{}, errors.Join(err, s.withdrawMark(ctx, leftover != nil))
	}
	if err := s.takeOver(ctx, v); err != nil {
		return newVolume(v), &service.Unfinished{Made: true, Err: err}
	}
	return newVolume(v), nil
}

func (s *VolumeStore) makeVolume(ctx context.Context, want Volume, image, leftover *hypervisor.Volume) (*hypervisor.Volume, error) {
	if leftover == nil {
		v, err := s.client.CreateVolume(ctx, want.Pool, want.renderXML(image))
		if errors.Is(err, hypervisor.ErrExists) { // another run was faster
			if _, _, foreign := s.findVolume(ctx); foreign != nil {
				return nil, foreign
			}
		}
		return v, err
	}
	if fresh, err := isUntouched(ctx, s.client, leftover, want, image); err != nil {
		return nil, err
	} else if !fresh {
		return nil, fmt.Errorf("there is a volume %q in storage pool %q already, which an earlier run of this configuration made and which differs from what is wanted or holds data: choose another name, delete it, or take it over with: terraform import ADDRESS %s", want.Name, want.Pool, s.place.ImportID())
	}
	return leftover, nil
}

// CreateAnew makes a qcow2 volume of so many bytes that is to be written to by others than machines, upon a volume below it or on its own. What a
// killed run of this workspace left of it goes first, whatever it holds.
func (s *VolumeStore) CreateAnew(ctx context.Context, bytes uint64, below *hypervisor.Volume) (v *hypervisor.Volume, err error) {
	leftover, err := s.beginCreate(ctx)
	if err != nil {
		return nil, err
	}
	x := NewMarkedVolume(s.place.Name, "qcow2", bytes)
	x.Allocation = &libvirtxml.StorageVolumeSize{Unit: "bytes", Value: 0}
	if below != nil {
		x.BackingStore = NewBacking(below)
	}
	if leftover != nil {
		err = s.client.DeleteVolume(ctx, s.place.Pool, s.place.Name)
	}
	if err == nil {
		v, err = s.client.CreateVolume(ctx, s.place.Pool, x)
	}
	if err != nil {
		return nil, errors.Join(err, s.withdrawMark(ctx, false))
	}
	return v, s.takeOver(ctx, v)
}

// Find reads the volume as the hypervisor has it, which must be the claim's own.
func (s *VolumeStore) Find(ctx context.Context) (*hypervisor.Volume, error) { return s.readVolume(ctx) }

// TakeOver has the volume carry the claim's mark, and no other that it may replace.
func (s *VolumeStore) TakeOver(ctx context.Context) error {
	v, err := s.readVolume(ctx)
	if err != nil {
		return err
	}
	return s.takeOver(ctx, v)
}

// AwaitUnused returns when nothing on the hypervisor uses a volume but the machines of a workspace, or an *InUseError after a while.
func AwaitUnused(ctx context.Context, c *hypervisor.Client, v *hypervisor.Volume, workspace string) error {
	return awaitUnused(ctx, c, v, workspace)
}

// FindImage looks the image up that a volume names; it is nil where none is named. The error is service.ErrAbsent where there is
// no such image.
func FindImage(ctx context.Context, c *hypervisor.Client, v Volume) (image *hypervisor.Volume, err error) {
	switch {
	case v.Image == "":
		return nil, nil
	case strings.HasPrefix(v.Image, "/"):
		image, err = c.VolumeByPath(ctx, v.Image)
	default:
		image, err = c.Volume(ctx, v.Pool, v.Image)
	}
	if hypervisor.IsNotFound(err) {
		err = fmt.Errorf("%w: %w", service.ErrAbsent, err)
	}
	return image, err
}

// isUntouched says that a volume is what is wanted and that nothing was ever written to it.
func isUntouched(ctx context.Context, c *hypervisor.Client, v *hypervisor.Volume, want Volume, image *hypervisor.Volume) (bool, error) {
	backing := ""
	if image != nil {
		backing = image.Path()
	}
	if v.Format() != want.Format || v.Capacity() != want.capacityBytes(image) || v.Backing() != backing {
		return false, nil
	}
	if v.Format() == "raw" {
		return v.Allocation() == 0, nil
	}
	return IsEmptyQCOW2(func(offset, length uint64) ([]byte, error) { return c.PeekVolume(ctx, v, offset, length) })
}

// IsEmptyQCOW2 says whether a qcow2 file, of which peek reads a part, maps no cluster: its level 1 table is all zero (QEMU's
// docs/interop/qcow2.txt).
func IsEmptyQCOW2(peek func(offset, length uint64) ([]byte, error)) (bool, error) {
	// A table of 32 MiB is the largest that QEMU takes (block/qcow2.h, QCOW_MAX_L1_SIZE).
	const largestTable = 32 << 20
	header, err := peek(0, 72)
	if err != nil || len(header) < 72 || !bytes.HasPrefix(header, []byte("QFI\xfb")) {
		return false, err
	}
	length, offset := 8*uint64(binary.BigEndian.Uint32(header[36:])), binary.BigEndian.Uint64(header[40:])
	if length > largestTable {
		return false, nil
	}
	table, err := peek(offset, length)
	return err == nil && uint64(len(table)) == length && len(bytes.Trim(table, "\x00")) == 0, err
}

// Update grows the volume: nothing else can change in place.
func (s *VolumeStore) Update(ctx context.Context, _, want Volume) (Volume, error) {
	v, err := s.readVolume(ctx)
	if err != nil {
		return Volume{}, err
	}
	if v.Capacity() < want.capacityBytes(nil) {
		if why, err := refuseLayered(ctx, s.client, want); why != nil || err != nil {
			return Volume{}, service.At([]any{"size_gib"}, errors.Join(why, err))
		}
		if err := s.client.GrowVolume(ctx, v, want.capacityBytes(nil)); err != nil {
			return Volume{}, err
		}
	}
	if err := s.takeOver(ctx, v); err != nil {
		return Volume{}, err
	}
	return s.Get(ctx)
}

// Delete removes the volume. One that is in use stays, with an *InUseError.
func (s *VolumeStore) Delete(ctx context.Context) error { return s.deleteVolume(ctx) }
