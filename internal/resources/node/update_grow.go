package node

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// grow gives disks their new sizes; they never shrink.
func (u *changer) grow(ctx context.Context) error {
	for key, gib := range u.v.sizes() {
		disk := u.was.Disk(key)
		if disk == nil || gib == 0 {
			continue
		}
		capacity, err := capacityOf(ctx, u.c, u.d, *disk)
		if err != nil {
			return err
		}
		bytes := uint64(gib) << 30
		if bytes <= capacity {
			continue
		}
		if machine.FindDisk(u.d.Live, disk.Target) != nil {
			err = u.c.ResizeDomainDisk(ctx, u.d.UUID, disk.Target, bytes)
		} else {
			var volume *hypervisor.Volume
			if volume, err = u.c.VolumeByPath(ctx, disk.Path); err == nil {
				err = u.c.GrowVolume(ctx, volume, bytes)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lostDisks are the further disks of a version in state whose volumes are gone.
func (v *version) lostDisks() map[string]bool {
	all := map[string]bool{}
	for key, d := range v.parts.Disks {
		if d.Volume.IsNull() && known(d.SizeGiB) && d.SizeGiB.ValueInt64() == lost {
			all[key] = true
		}
	}
	return all
}

// sizes are the wanted sizes of the node's own disks in GiB.
func (v *version) sizes() map[string]int64 {
	sizes := map[string]int64{}
	if v.Root != nil {
		sizes[machine.Root] = v.Root.SizeGiB.ValueInt64()
	}
	for key, d := range v.parts.Disks {
		if d.Volume.IsNull() {
			sizes[key] = d.SizeGiB.ValueInt64()
		}
	}
	return sizes
}
