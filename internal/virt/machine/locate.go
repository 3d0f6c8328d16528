package machine

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// readLocatedMachine reads a domain's machine, and finds the disks that its XML names as volumes of pools, as other providers do. One
// whose volume is gone stays without a path.
func readLocatedMachine(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain) (*Machine, error) {
	m := Read(d.Config)
	for i := range m.Disks {
		disk := &m.Disks[i]
		if disk.Path != "" {
			continue
		}
		volume, err := c.Volume(ctx, disk.Pool, disk.Volume)
		if hypervisor.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		disk.Path, disk.Block = volume.Path(), volume.XML.Type == "block"
	}
	return m, nil
}

// HasRootVolume says whether a volume is the root disk of a machine already, and none of the machine's own by its mark.
func HasRootVolume(ctx context.Context, c *hypervisor.Client, uuid, volume string) bool {
	d, err := c.Domain(ctx, uuid)
	if err != nil {
		return false
	}
	m, err := readLocatedMachine(ctx, c, d)
	if err != nil {
		return false
	}
	disk := m.Disk(Root)
	return disk != nil && disk.Path == volume && m.Mark.Disk(Root).Volume == ""
}

// readCapacity returns a disk's size in bytes. libvirt does not find the volume of a stopped domain's disk by its name, and of one
// that runs knows only the disks that are plugged in.
func readCapacity(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain, disk Disk) (uint64, error) {
	if unplugged := d.Active() && FindDisk(d.Live, disk.Target) == nil; disk.Volume == "" && !unplugged {
		return c.DomainDiskCapacity(ctx, d.UUID, disk.Target)
	}
	volume, err := c.VolumeByPath(ctx, disk.currentFile())
	if err != nil {
		return 0, err
	}
	return volume.Capacity(), nil
}
