package machine

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// growDisks gives disks that stay their new sizes; they never shrink. One that takes the place of an attached volume is made with its size, and that
// volume keeps its own.
func (u *update) growDisks(ctx context.Context) error {
	for key, gib := range u.want.listDiskSizes() {
		disk, now := u.existing.Disk(key), u.machine.Disk(key)
		if disk == nil || gib == 0 || !disk.sameSource(now) {
			continue
		}
		asked := *disk
		if !u.d.Active() {
			asked.Target = now.Target // of one that is stopped the new configuration is in force
		}
		capacity, err := readCapacity(ctx, u.c, u.d, asked)
		if err != nil {
			return err
		}
		bytes := uint64(gib) << 30
		if bytes <= capacity {
			continue
		}
		if FindDisk(u.d.Live, disk.Target) != nil {
			err = u.c.ResizeDomainDisk(ctx, u.d.UUID, disk.Target, bytes)
		} else {
			var volume *hypervisor.Volume
			if volume, err = u.c.VolumeByPath(ctx, disk.currentFile()); err == nil {
				err = u.c.GrowVolume(ctx, volume, bytes)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// listLostDisks returns the further disks of a version in state whose volumes are gone.
func (s *Spec) listLostDisks() map[string]bool {
	all := map[string]bool{}
	for key, d := range s.Disks {
		if d.isMissing() {
			all[key] = true
		}
	}
	return all
}

// listDiskSizes returns the wanted sizes of the machine's own disks in GiB.
func (s *Spec) listDiskSizes() map[string]int64 {
	sizes := map[string]int64{}
	if s.Root != nil && !s.isAttached(Root) {
		sizes[Root] = s.Root.SizeGiB
	}
	for key, d := range s.Disks {
		if d.Volume == "" {
			sizes[key] = d.SizeGiB
		}
	}
	return sizes
}
