package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// A block device that no pool has is a disk like an attached volume: it is there before the machine, and outlives it. Nothing here writes to one,
// and none is marked.

// attachDevice adds a disk that is a block device. missing is why it is no volume.
func (r *resolver) attachDevice(ctx context.Context, b *blueprint, key string, d DiskSpec, missing error) error {
	_, err := r.client.BlockDevice(ctx, d.Volume)
	switch {
	case errors.Is(err, hypervisor.ErrNoBlockDevice):
		return fmt.Errorf("%w, and the hypervisor has no block device there either", missing)
	case errors.Is(err, hypervisor.ErrNoAccess) && !strings.HasPrefix(d.Volume, devices):
		return missing
	case err != nil && !errors.Is(err, hypervisor.ErrNoAccess): // else libvirt says whether it is there
		return err
	}
	b.machine.Disks = append(b.machine.Disks, Disk{Key: key, Path: d.Volume, Block: true, Format: cmp.Or(d.Format, "raw"), Bus: d.Bus, DiskTuning: d.DiskTuning})
	return nil
}

// devices is where a machine has its block devices.
const devices = "/dev/"

// checkDevice finds what is neither a volume nor a block device, and one that somebody has.
func (k storageChecker) checkDevice(ctx context.Context, d DiskSpec, path []any) error {
	ref := d.Volume
	switch _, err := k.Client.BlockDevice(ctx, ref); {
	case errors.Is(err, hypervisor.ErrNoAccess) && strings.HasPrefix(ref, devices):
		k.problems = append(k.problems, service.Warningf(path, "Device not looked at",
			"hypervisor %s cannot be looked at closely: whether it has a block device %s, and whether it uses that itself, nobody can tell", k.Client.URI(), ref))
		return nil
	case errors.Is(err, hypervisor.ErrNoAccess), errors.Is(err, hypervisor.ErrNoBlockDevice):
		k.addProblem(path, "Unknown volume", "hypervisor %s has no volume %s in a storage pool that is started, and no block device there: write the id of a virtcluster_volume, or the path of a device, such as /dev/disk/by-id/…", k.Client.URI(), ref)
		return nil
	case err != nil:
		return err
	}
	return k.checkDeviceUsers(ctx, d, path)
}

// checkDeviceUsers finds a block device that the hypervisor uses by itself, that a pool is made from, or that another machine has.
func (k storageChecker) checkDeviceUsers(ctx context.Context, d DiskSpec, path []any) error {
	ref := d.Volume
	device, err := k.Client.BlockDevice(ctx, ref)
	if errors.Is(err, hypervisor.ErrNoAccess) || errors.Is(err, hypervisor.ErrNoBlockDevice) {
		return nil // a volume that only its pool's driver sees
	}
	if err != nil {
		return err
	}
	if len(device.Users) > 0 {
		k.addProblem(path, "Device in use", "hypervisor %s uses %s itself: %s. Write another device, or take it from the hypervisor before (umount, swapoff, vgchange -an, mdadm --stop)", k.Client.URI(), ref, strings.Join(device.Users, ", "))
		return nil
	}
	user, err := k.findDeviceUser(ctx, d, device)
	if err != nil {
		return err
	}
	switch {
	case user != "":
		k.addProblem(path, "Device in use", "%s on hypervisor %s has %s: write another device, or take it from there before", user, k.Client.URI(), ref)
	case slices.Contains(membersOfHosts, device.Holds):
		k.problems = append(k.problems, service.Warningf(path, "Device with something of a hypervisor's on it",
			"%s on hypervisor %s holds %s. Where that is a guest's, all is well; where it is the hypervisor's own, the guest would destroy it, and the hypervisor what the guest writes: see pvs, cat /proc/mdstat and zpool import", ref, k.Client.URI(), device.Holds))
	}
	return nil
}

// membersOfHosts are the signatures of what machines put several devices together by, as libblkid names them.
var membersOfHosts = []string{"LVM2_member", "linux_raid_member", "zfs_member", "ceph_bluestore", "mpath_member", "drbd"}

// findDeviceUser says which pool is made from a block device, or which other machine has it as a disk; "" for none. What machines in state do with it
// is in the plan.
func (k storageChecker) findDeviceUser(ctx context.Context, d DiskSpec, device hypervisor.BlockDevice) (string, error) {
	is := func(path string) bool { return k.isDevice(ctx, path, d.Volume, device) }
	pools, err := k.Client.Pools(ctx)
	if err != nil {
		return "", err
	}
	for _, p := range pools {
		if s := p.Config.Source; s != nil && slices.ContainsFunc(s.Device, func(d libvirtxml.StoragePoolSourceDevice) bool { return is(d.Path) }) {
			return fmt.Sprintf("storage pool %q", p.Name()), nil
		}
	}
	return k.findMachineWith(ctx, d.DiskTuning, func(disk Disk) bool { return disk.Block && is(disk.Path) })
}

// findMachineWith returns which stranger has a disk that cannot be had beside it as is wanted; "" for none.
func (k storageChecker) findMachineWith(ctx context.Context, want DiskTuning, is func(Disk) bool) (string, error) {
	domains, err := k.Cache.listDomains(ctx, k.Client)
	if err != nil {
		return "", err
	}
	for _, d := range domains {
		m := Read(d.Config)
		if k.isStranger(d, m) && slices.ContainsFunc(m.Disks, func(disk Disk) bool { return is(disk) && !canShare(disk.DiskTuning, want) }) {
			return fmt.Sprintf("domain %q", d.Name), nil
		}
	}
	return "", nil
}

// canShare says whether two machines may have one disk: one of them does not write, or both know that the other one does.
func canShare(a, b DiskTuning) bool {
	return a.ReadOnly || b.ReadOnly || a.Shareable && b.Shareable
}

// isDevice says whether a path is a way to a block device that was looked at by another one.
func (k storageChecker) isDevice(ctx context.Context, path, ref string, device hypervisor.BlockDevice) bool {
	if path == "" || path == ref || path == device.Path {
		return path != ""
	}
	other, err := k.Client.BlockDevice(ctx, path)
	return err == nil && other.Path == device.Path
}

// AskFormat returns how QEMU reads a volume, or a block device, where nobody says it, and whether that is known; "" where it has to be said.
func (f *HypervisorCache) AskFormat(ctx context.Context, c *hypervisor.Client, path string) (format string, known bool) {
	v, err := f.Volume(ctx, c, path)
	switch {
	case IsMissing(err):
		_, err = c.BlockDevice(ctx, path)
		return "raw", err == nil
	case err != nil:
		return "", false
	case slices.Contains(formatsToSay, v.Format()):
		return "", true
	}
	return formatOrRaw(v.Format()), true
}
