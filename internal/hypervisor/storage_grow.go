package hypervisor

import (
	"context"
	"fmt"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// GrowVolume gives a volume a larger capacity, in bytes, whether or not a running machine uses it. The
// machine's own view follows at once; its partitions and file systems are its own affair.
func (c *Client) GrowVolume(ctx context.Context, v *Volume, capacity uint64) error {
	uuid, disk, err := c.runningUser(ctx, v)
	if err != nil {
		return err
	}
	if uuid != "" {
		// QEMU holds the file: only through it can the file grow.
		return c.ResizeDomainDisk(ctx, uuid, disk, capacity)
	}
	_, err = callIdempotent(ctx, c, fmt.Sprintf("grow volume %q of storage pool %q", v.Name(), v.Pool), withoutResult(func(l *libvirt.Libvirt) error {
		p, err := activePool(l, v.Pool)
		if err != nil {
			return err
		}
		ref, err := l.StorageVolLookupByName(p, v.Name())
		if err != nil {
			return err
		}
		return l.StorageVolResize(ref, capacity, 0)
	}))
	return err
}

// runningUser finds the running domain that has a volume as a disk, and the disk's target name; "" for none.
func (c *Client) runningUser(ctx context.Context, v *Volume) (uuid, disk string, err error) {
	domains, err := c.Domains(ctx)
	if err != nil {
		return "", "", err
	}
	for _, d := range domains {
		if !d.Active() || d.Live.Devices == nil {
			continue
		}
		for _, disk := range d.Live.Devices.Disks {
			if disk.Target != nil && v.IsSource(disk.Source) {
				return d.UUID, disk.Target.Dev, nil
			}
		}
	}
	return "", "", nil
}

// IsSource says whether a disk's source is the volume, by its path or by the names of pool and volume.
func (v *Volume) IsSource(source *libvirtxml.DomainDiskSource) bool {
	switch {
	case source == nil:
		return false
	case source.File != nil:
		return source.File.File == v.Path()
	case source.Block != nil:
		return source.Block.Dev == v.Path()
	case source.Volume != nil:
		return source.Volume.Pool == v.Pool && source.Volume.Volume == v.Name()
	}
	return false
}
