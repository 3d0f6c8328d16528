package machine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// checkLayers finds disks that are to go and that a snapshot lies upon: their layers would be of no disk, and the snapshot of no use.
func (k storageChecker) checkLayers(ctx context.Context) error {
	if k.Fresh || k.Want.Unknown.Has("disks") {
		return nil
	}
	var going []string
	for _, key := range slices.Sorted(maps.Keys(k.Was.Disks)) {
		now, stays := k.Want.Disks[key]
		was := k.Was.Disks[key]
		if !stays || now.Volume != was.Volume || now.Pool != was.Pool && was.Volume == "" {
			going = append(going, key)
		}
	}
	if len(going) == 0 {
		return nil
	}
	d, err := k.Client.Domain(ctx, k.Was.UUID)
	if hypervisor.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for m := Read(d.Config); len(going) > 0; going = going[1:] {
		// A volume may be called by another path than it was resolved to, and a pool by its id.
		disk := m.Disk(going[0])
		if disk == nil || disk.Layer == "" || k.Want.Disks[going[0]].Volume == disk.Path {
			continue
		}
		if now, stays := k.Want.Disks[going[0]]; stays && now.Volume == "" && k.Cache.SamePool(ctx, k.Client, now.Pool, k.Was.Disks[going[0]].Pool) {
			continue
		}
		k.addProblem(pathTo("disks", service.Key(going[0])), "Disk with a snapshot", "%v", refuseUnplug(*disk))
	}
	return nil
}

// checkLayers is Checker.checkLayers of what the change comes to: an error at the disk.
func (u *update) checkLayers() error {
	for _, disk := range u.existing.Disks {
		now := u.machine.Disk(disk.Key)
		if disk.Layer != "" && (now == nil || now.Path != disk.Path) {
			return service.At(u.want.diskPath(disk.Key), refuseUnplug(disk))
		}
	}
	return nil
}

// refuseUnplug says why a disk with a layer stays.
func refuseUnplug(disk Disk) error {
	_, snapshot := storage.SplitLayer(disk.Layer)
	return fmt.Errorf("the disk %q goes on in the layer of snapshot %q, which would be lost: destroy that snapshot in an apply of its own first, which merges it", disk.Key, snapshot)
}
