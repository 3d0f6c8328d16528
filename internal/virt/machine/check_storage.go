package machine

import (
	"cmp"
	"context"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// storageChecker finds pools, images, volumes, discs and layers of snapshots that a planned machine cannot have as it wants them.
type storageChecker struct{ *Checker }

// checkStorage finds pools, images and volumes that do not exist and that nothing in the plan makes.
func (k storageChecker) checkStorage(ctx context.Context) error {
	pool := func(ref string, sizeGiB int64, disk []any) error {
		if ref == "" {
			return nil
		}
		path := pathBelow(disk, "pool")
		found, err := k.Cache.Pool(ctx, k.Client, ref)
		if err == nil && sizeGiB != 0 && !storage.MakesDisks(found.Type()) {
			k.addProblem(path, "Unsuitable storage pool", "storage pool %q of hypervisor %s is of type %q, in which libvirt makes no disks that a node could have: write one of files, or of type \"logical\" or \"zfs\"", found.Name(), k.Client.URI(), found.Type())
		} else if err == nil {
			k.problems = append(k.problems, storage.WarnIfLargerThanPool(found, pathBelow(disk, "size_gib"), sizeGiB)...)
		}
		if !IsMissing(err) {
			return err
		}
		if !storage.PlansPool(k.Plan, k.Want.Hypervisor, ref) {
			k.addProblem(path, "Unknown storage pool", "hypervisor %s has no storage pool %q: make it with virtcluster_storage_pool and refer to that resource", k.Client.URI(), ref)
		}
		return nil
	}
	if r := k.Want.Root; r != nil && k.isNewHere() {
		if err := pool(r.Pool, r.SizeGiB, pathTo("root_disk")); err != nil {
			return err
		}
		if err := k.checkImage(ctx, r); err != nil {
			return err
		}
		if err := k.checkVolume(ctx, DiskSpec{Volume: r.Volume, Format: r.Format, DiskTuning: r.DiskTuning}, pathTo("root_disk")); err != nil {
			return err
		}
	}
	for key, d := range k.Want.Disks {
		if was, existed := k.Was.Disks[key]; existed && was.Volume == d.Volume && was.Shareable == d.Shareable && !k.isNewHere() {
			continue
		}
		here := pathTo("disks", service.Key(key))
		if err := pool(d.Pool, d.SizeGiB, here); err != nil {
			return err
		}
		if err := k.checkVolume(ctx, d, here); err != nil {
			return err
		}
	}
	return nil
}

// checkVolume finds a volume that is to be attached, where one is, and does not exist or cannot be shared.
func (k storageChecker) checkVolume(ctx context.Context, d DiskSpec, disk []any) error {
	ref, path := d.Volume, pathBelow(disk, "volume")
	if ref == "" {
		return nil
	}
	v, err := k.Cache.Volume(ctx, k.Client, ref)
	if err == nil && d.Shareable && cmp.Or(d.Format, formatOrRaw(v.Format())) != "raw" {
		k.addProblem(path, "Shared volume with a format", "volume %s is %s, of which only one machine at a time may write: write a volume with format = \"raw\", or leave out shareable", v.Name(), v.Format())
	}
	if err == nil && d.Format == "" && slices.Contains(formatsToSay, v.Format()) && !k.Want.Unknown.Has(pathBelow(disk, "format")...) {
		k.addProblem(pathBelow(disk, "format"), "Format to be said", "what is in volume %s looks like %s, and anybody who could write to it may have made it so: write format = %q to have the guest see the disk that is in it, or format = \"raw\" for the file as it is", v.Name(), v.Format(), v.Format())
	}
	if IsMissing(err) {
		return k.checkDevice(ctx, d, path)
	}
	if err == nil && v.XML.Type == "network" {
		k.addProblem(path, "Volume without a path", "volume %s of storage pool %q is no file and no device of hypervisor %s, and a node can have only these: write another one", v.Name(), v.Pool, k.Client.URI())
	}
	if err == nil && v.XML.Type == "block" {
		return k.checkDeviceUsers(ctx, d, path)
	}
	if err == nil {
		return k.checkVolumeUsers(ctx, v, d.DiskTuning, path)
	}
	return err
}

// checkVolumeUsers finds a volume that another machine has as a disk: both would write to it.
func (k storageChecker) checkVolumeUsers(ctx context.Context, v *hypervisor.Volume, want DiskTuning, path []any) error {
	user, err := k.findMachineWith(ctx, want, func(disk Disk) bool {
		return disk.Path != "" && disk.Path == v.Path() || disk.Volume == v.Name() && disk.Pool == v.Pool
	})
	if user != "" {
		k.addProblem(path, "Volume in use", "%s on hypervisor %s has volume %s of storage pool %q: write another volume, or take it from there before", user, k.Client.URI(), v.Name(), v.Pool)
	}
	return err
}

func (k storageChecker) checkImage(ctx context.Context, r *RootSpec) error {
	if r.Image == "" {
		return nil
	}
	image, err := k.Cache.Volume(ctx, k.Client, r.Image)
	if IsMissing(err) {
		k.addProblem(pathTo("root_disk", "image"), "Unknown image", "hypervisor %s has no volume %s in a storage pool that is started: write the id of a virtcluster_image", k.Client.URI(), r.Image)
		return nil
	}
	if err != nil {
		return err
	}
	if gib := r.SizeGiB; gib != 0 && uint64(gib)<<30 < image.Capacity() {
		k.addProblem(pathTo("root_disk", "size_gib"), "Smaller than the image", "image %s has %.2f GiB: write at least %d", image.Name(), float64(image.Capacity())/(1<<30), image.CapacityGiB())
	}
	return nil
}
