package machine

import (
	"context"
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// reclaimVolume adopts a volume that the mark names and that no disk of the machine refers to: somebody took the disk out of the
// domain, and its content is wanted again, or an apply was interrupted between making the volume and plugging it in. A volume
// whose content is the provider's is deleted and made anew, as it may have been written by half.
func (u *update) reclaimVolume(ctx context.Context, own *ownVolume) error {
	marked := u.existing.Mark.Disk(own.key)
	if marked.Pool != own.pool.Name() || marked.Volume != own.xml.Name || u.existing.Disk(own.key) != nil {
		return nil
	}
	if own.content != nil {
		return u.c.DeleteVolume(ctx, marked.Pool, marked.Volume)
	}
	volume, err := u.c.Volume(ctx, marked.Pool, marked.Volume)
	if hypervisor.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	own.there = true
	wanted := own.xml.Capacity.Value
	switch live := DiskAt(u.d.Live, volume.Path()); {
	case volume.Capacity() > wanted:
		err = fmt.Errorf("its volume %s is there, with %d GiB, and a disk cannot shrink: write that size, or delete the volume first", volume.Path(), volume.CapacityGiB())
	case volume.Capacity() == wanted:
	case live != nil:
		err = u.c.ResizeDomainDisk(ctx, u.d.UUID, live.Target.Dev, wanted)
	default:
		err = u.c.GrowVolume(ctx, volume, wanted)
	}
	return service.At(own.path, err)
}
