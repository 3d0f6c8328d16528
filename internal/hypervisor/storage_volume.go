package hypervisor

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// ErrPoolStopped says that a volume cannot be seen because its pool is not started. It proves nothing
// about the volume.
var ErrPoolStopped = errors.New("the storage pool is stopped")

// ErrExists says that a volume of that name is in the pool already.
var ErrExists = errors.New("already exists")

// Volume is one storage volume as the hypervisor has it.
type Volume struct {
	// Pool is the name of its pool.
	Pool string
	// XML is the volume's definition; sizes in it are bytes.
	XML libvirtxml.StorageVolume
}

// Name of the volume within its pool.
func (v *Volume) Name() string { return v.XML.Name }

// Path is where the volume is on the hypervisor: the id that disks refer to.
func (v *Volume) Path() string {
	if v.XML.Target == nil {
		return ""
	}
	return v.XML.Target.Path
}

// Format is "qcow2", "raw", …; pools of block devices have none.
func (v *Volume) Format() string {
	if v.XML.Target == nil || v.XML.Target.Format == nil {
		return ""
	}
	return v.XML.Target.Format.Type
}

// Capacity is the size that a machine sees, in bytes.
func (v *Volume) Capacity() uint64 { return sizeOrZero(v.XML.Capacity) }

// CapacityGiB is the same in whole GiB, rounded up.
func (v *Volume) CapacityGiB() int64 { return WholeGiB(v.Capacity()) }

// WholeGiB is the least number of whole GiB that holds so many bytes.
func WholeGiB(bytes uint64) int64 {
	const gib = 1 << 30
	n := bytes / gib
	if bytes%gib > 0 {
		n++
	}
	return int64(n)
}

// Allocation is the room that the volume takes up, in bytes.
func (v *Volume) Allocation() uint64 { return sizeOrZero(v.XML.Allocation) }

// Physical is the length of the volume's file, in bytes.
func (v *Volume) Physical() uint64 { return sizeOrZero(v.XML.Physical) }

// Mode is the mode of the volume's file in octal, "0600"; "" where it is no file.
func (v *Volume) Mode() string {
	if v.XML.Target == nil || v.XML.Target.Permissions == nil {
		return ""
	}
	return v.XML.Target.Permissions.Mode
}

// Backing is the path of the image that the volume is an overlay of; "" for none.
func (v *Volume) Backing() string {
	if v.XML.BackingStore == nil {
		return ""
	}
	return v.XML.BackingStore.Path
}

func sizeOrZero(s *libvirtxml.StorageVolumeSize) uint64 {
	if s == nil {
		return 0
	}
	return s.Value
}

// Volume reads a volume by its pool's name or UUID and its own name. The error is ErrNotFound where libvirt
// says that there is no such pool or, after it looked at the pool anew, no such volume; it is ErrPoolStopped
// where it cannot look.
func (c *Client) Volume(ctx context.Context, pool, name string) (*Volume, error) {
	what := fmt.Sprintf("read volume %q of storage pool %q", name, pool)
	v, err := c.readVolume(ctx, what, pool, name)
	if err == nil || ctx.Err() != nil || errors.Is(err, ErrPoolStopped) || Code(err) == 0 || Code(err) == int(libvirt.ErrNoStoragePool) {
		return v, err
	}
	// What libvirt remembers of a pool is as old as its last look: a file that was removed by hand cannot
	// be read, one that was added is not there.
	p, looked := c.Pool(ctx, pool)
	if looked == nil {
		looked = c.LookIntoPool(ctx, p)
	}
	v, err = c.readVolume(ctx, what, pool, name)
	// libvirt stops a pool into which it cannot look, as one whose directory is gone.
	if looked != nil && !errors.Is(err, ErrPoolStopped) {
		return nil, looked
	}
	return v, err
}

func (c *Client) readVolume(ctx context.Context, what, pool, name string) (*Volume, error) {
	return callIdempotent(ctx, c, what, func(l *libvirt.Libvirt) (*Volume, error) {
		p, err := activePool(l, pool)
		if err != nil {
			return nil, err
		}
		ref, err := l.StorageVolLookupByName(p, name)
		if err != nil {
			return nil, err
		}
		return readVolume(l, ref)
	})
}

// VolumeByPath reads a volume by its path on the hypervisor. The error is ErrNotFound where no started pool
// has it, which does not prove that the file is absent.
func (c *Client) VolumeByPath(ctx context.Context, path string) (*Volume, error) {
	return callIdempotent(ctx, c, fmt.Sprintf("read volume %s", path), func(l *libvirt.Libvirt) (*Volume, error) {
		ref, err := l.StorageVolLookupByPath(path)
		if err != nil {
			return nil, err
		}
		return readVolume(l, ref)
	})
}

// Volumes reads all volumes of a started pool. One that vanishes meanwhile is left out.
func (c *Client) Volumes(ctx context.Context, pool string) ([]*Volume, error) {
	return callIdempotent(ctx, c, fmt.Sprintf("list the volumes of storage pool %q", pool), func(l *libvirt.Libvirt) ([]*Volume, error) {
		refs, err := listVolumes(l, pool)
		if err != nil {
			return nil, err
		}
		return readAll(refs, func(ref libvirt.StorageVol) (*Volume, error) { return readVolume(l, ref) })
	})
}

// VolumeNames lists the names of a started pool's volumes as libvirt remembers them: RefreshPool first where files come and
// go behind its back.
func (c *Client) VolumeNames(ctx context.Context, pool string) ([]string, error) {
	return callIdempotent(ctx, c, fmt.Sprintf("list the volumes of storage pool %q", pool), func(l *libvirt.Libvirt) ([]string, error) {
		refs, err := listVolumes(l, pool)
		names := make([]string, len(refs))
		for i, ref := range refs {
			names[i] = ref.Name
		}
		return names, err
	})
}

// KnownVolume reads the volume of a name that libvirt remembers in a started pool; nil where it remembers none. Unlike Volume it
// never looks anew.
func (c *Client) KnownVolume(ctx context.Context, pool, name string) (*Volume, error) {
	v, err := c.readVolume(ctx, fmt.Sprintf("look for volume %q of storage pool %q", name, pool), pool, name)
	if Code(err) == int(libvirt.ErrNoStorageVol) {
		return nil, nil
	}
	return v, err
}

// CreateVolume makes a volume in a started pool and returns it as libvirt then has it. The error is
// ErrExists where the pool has one of that name. libvirt writes over a file that it has not seen yet:
// RefreshPool first where files come and go behind its back.
func (c *Client) CreateVolume(ctx context.Context, pool string, volume *libvirtxml.StorageVolume) (*Volume, error) {
	what := fmt.Sprintf("create volume %q in storage pool %q", volume.Name, pool)
	text, err := volume.Marshal()
	if err != nil {
		return nil, fmt.Errorf("write the XML of volume %q: %w", volume.Name, err)
	}
	var absent atomic.Bool
	create := func(l *libvirt.Libvirt) (*Volume, error) {
		p, err := activePool(l, pool)
		if err != nil {
			return nil, err
		}
		if _, err := l.StorageVolLookupByName(p, volume.Name); IsNotFound(explainError("", err)) {
			absent.Store(true)
		}
		ref, err := l.StorageVolCreateXML(p, text, 0)
		if err != nil {
			return nil, err
		}
		return readVolume(l, ref)
	}
	v, err := callOnce(ctx, c, what, create)
	if _, broke := errors.AsType[*BrokenError](err); broke && absent.Load() {
		v, err = c.createAgain(ctx, what, pool, volume, create)
	}
	if Code(err) == int(libvirt.ErrStorageVolExist) {
		return nil, fmt.Errorf("%w: %w", ErrExists, err)
	}
	if err != nil && volume.Capacity != nil && volume.Target != nil && volume.Target.Format != nil {
		err = explainRawSize(err, volume.Target.Format.Type, volume.Capacity.Value)
	}
	return v, err
}

// largestOnExt4 is the most bytes of a file on ext4 with blocks of 4 KiB, whose extents count them in 32 bits.
const largestOnExt4 = 16 << 40

// explainRawSize adds to an error about a raw volume that is larger than a file can be on ext4 what may be the cause, and the way out:
// its file is as long as what a machine sees. Of the pool's file system libvirt says nothing.
func explainRawSize(err error, format string, bytes uint64) error {
	if format != "raw" || bytes < largestOnExt4 {
		return err
	}
	return fmt.Errorf("a raw volume is a file of its whole size, here %d GiB, which may be more than the file system of the pool has for a file (ext4: less than 16384 GiB): "+
		"write a smaller size_gib or format = \"qcow2\", or choose a pool on a file system with longer files, such as XFS: %w", bytes>>30, err)
}

// underWay is how long a request may still be on its way to the daemon after its connection broke.
const underWay = time.Second

// createAgain creates a volume that was not there when the connection broke in the middle of creating it. The daemon may
// do what it was asked only after that: whoever looked for the volume, to remove it, would find none. After a second
// attempt it is there one way or the other: one that is not what was asked for is somebody else's, made meanwhile.
func (c *Client) createAgain(ctx context.Context, what, pool string, volume *libvirtxml.StorageVolume, create func(*libvirt.Libvirt) (*Volume, error)) (*Volume, error) {
	if err := Pause(ctx, underWay); err != nil {
		return nil, fmt.Errorf("%s on hypervisor %s: %w", what, c.uri, err)
	}
	v, err := callOnce(ctx, c, what, create)
	if Code(err) != int(libvirt.ErrStorageVolExist) {
		return v, err
	}
	if err := c.RefreshPool(ctx, pool); err != nil { // it waits for one that is still being made
		return nil, err
	}
	v, found := c.readVolume(ctx, what, pool, volume.Name)
	if found == nil && !v.isAsAsked(volume) {
		return nil, err
	}
	return v, found
}

// roundedUp is how much larger than it was asked for a volume may be: a volume group gives out whole extents.
const roundedUp = 64 << 20

// isAsAsked says whether a volume may be the one that was asked for.
func (v *Volume) isAsAsked(want *libvirtxml.StorageVolume) bool {
	backing := ""
	if want.BackingStore != nil {
		backing = want.BackingStore.Path
	}
	asked, is := sizeOrZero(want.Capacity), sizeOrZero(v.XML.Capacity)
	return v.Backing() == backing && (want.Capacity == nil || want.Capacity.Unit != "" && want.Capacity.Unit != "bytes" || is >= asked && is <= asked+roundedUp)
}

// DeleteVolume removes a volume of a started pool; an absent one, or an absent pool, is no error.
func (c *Client) DeleteVolume(ctx context.Context, pool, name string) error {
	_, err := callIdempotent(ctx, c, fmt.Sprintf("delete volume %q of storage pool %q", name, pool), withoutResult(func(l *libvirt.Libvirt) error {
		p, err := activePool(l, pool)
		if err != nil {
			return err
		}
		ref, err := l.StorageVolLookupByName(p, name)
		if err != nil {
			return err
		}
		return l.StorageVolDelete(ref, libvirt.StorageVolDeleteNormal)
	}))
	return ignoreAbsence(err)
}

// activePool looks a pool up and makes sure that it is started.
func activePool(l *libvirt.Libvirt, pool string) (libvirt.StoragePool, error) {
	ref, err := lookupPool(l, pool)
	if err != nil {
		return ref, err
	}
	active, err := l.StoragePoolIsActive(ref)
	if err == nil && active == 0 {
		err = ErrPoolStopped
	}
	return ref, err
}

// listVolumes lists what libvirt remembers of a started pool. One that is stopped in the middle is a stopped one.
func listVolumes(l *libvirt.Libvirt, pool string) ([]libvirt.StorageVol, error) {
	p, err := activePool(l, pool)
	if err != nil {
		return nil, err
	}
	refs, _, err := l.StoragePoolListAllVolumes(p, 1, 0)
	if said, ok := errors.AsType[libvirt.Error](err); ok && said.Code == uint32(libvirt.ErrOperationInvalid) {
		err = ErrPoolStopped
	}
	return refs, err
}

func readVolume(l *libvirt.Libvirt, ref libvirt.StorageVol) (*Volume, error) {
	text, err := l.StorageVolGetXMLDesc(ref, 0)
	if err != nil {
		return nil, err
	}
	v := &Volume{Pool: ref.Pool}
	if err := v.XML.Unmarshal(text); err != nil {
		return nil, fmt.Errorf("parse the XML of volume %q: %w", ref.Name, err)
	}
	return v, nil
}
