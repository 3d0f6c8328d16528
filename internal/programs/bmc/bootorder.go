package bmc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/drive"
)

// device is one that a machine can boot from.
type device struct {
	// kind is libvirt's: "hd", "cdrom", "network".
	kind string
	// key tells it from others, in the XML of a running machine and in what is defined.
	key string
	// alias is QEMU's name for it; "" where the machine does not run.
	alias string
	boot  **libvirtxml.DomainDeviceBoot
}

// kindOf says what a disk is to the firmware; "" for what nobody boots from, as the stick that a client of the controller plugs in.
func kindOf(disk *libvirtxml.DomainDisk) string {
	if drive.IsStick(disk) {
		return ""
	}
	return map[string]string{"": "hd", "disk": "hd", "lun": "hd", "cdrom": "cdrom"}[disk.Device]
}

// listBootable lists the devices in the order in which the XML has them.
func listBootable(x *libvirtxml.Domain) (all []device) {
	if x.Devices == nil {
		return nil
	}
	alias := func(a *libvirtxml.DomainAlias) string {
		if a == nil {
			return ""
		}
		return a.Name
	}
	for i := range x.Devices.Disks {
		if d := &x.Devices.Disks[i]; kindOf(d) != "" && d.Target != nil {
			all = append(all, device{kindOf(d), d.Target.Dev, alias(d.Alias), &d.Boot})
		}
	}
	for i := range x.Devices.Interfaces {
		if d := &x.Devices.Interfaces[i]; d.MAC != nil {
			all = append(all, device{"network", d.MAC.Address, alias(d.Alias), &d.Boot})
		}
	}
	return all
}

// listTried lists which devices a machine tries, first to last. Where the XML has no order by device, libvirt takes the first of each kind that
// it names, and a disk where it names none.
func listTried(x *libvirtxml.Domain) (tried []device) {
	all := listBootable(x)
	for _, d := range all {
		if *d.boot != nil {
			tried = append(tried, d)
		}
	}
	if len(tried) > 0 {
		slices.SortFunc(tried, func(a, b device) int { return cmp.Compare((*a.boot).Order, (*b.boot).Order) })
		return tried
	}
	kinds := []string{"hd"}
	if x.OS != nil && len(x.OS.BootDevices) > 0 {
		kinds = nil
		for _, b := range x.OS.BootDevices {
			kinds = append(kinds, b.Dev)
		}
	}
	for _, kind := range kinds {
		if at := slices.IndexFunc(all, func(d device) bool { return d.kind == kind }); at >= 0 {
			tried = append(tried, all[at])
		}
	}
	return tried
}

// bootPlaces is the place that each device has in the order, by its key, counted from 1.
func bootPlaces(x *libvirtxml.Domain) map[string]int {
	places := map[string]int{}
	for i, d := range listTried(x) {
		places[d.key] = i + 1
	}
	return places
}

// bootFrom has the devices of a target be tried first, then those that are tried otherwise. A kernel that the hypervisor hands over would
// come before all of them, and goes.
func bootFrom(x *libvirtxml.Domain, target Target) error {
	kind := map[Target]string{Pxe: "network", UefiHTTP: "network", Hdd: "hd", Cd: "cdrom"}[target]
	tried := listTried(x)
	var first []device
	for _, d := range listBootable(x) {
		if d.kind == kind {
			first = append(first, d)
		}
	}
	if len(first) == 0 {
		return &InputError{"BootSourceOverrideTarget", fmt.Sprintf("the machine has nothing to boot from as %s", target)}
	}
	// Those that have a place keep their order among themselves, and the drive for media comes before others.
	rank := func(d device) int {
		if media := mediaDrive(x); media != nil && d.boot == &media.Boot {
			return -1
		}
		if at := slices.IndexFunc(tried, func(t device) bool { return t.key == d.key }); at >= 0 {
			return at
		}
		return len(tried)
	}
	slices.SortStableFunc(first, func(a, b device) int { return cmp.Compare(rank(a), rank(b)) })
	for _, d := range tried {
		if d.kind != kind {
			first = append(first, d)
		}
	}
	for _, d := range listBootable(x) {
		*d.boot = nil
	}
	for i, d := range first {
		*d.boot = &libvirtxml.DomainDeviceBoot{Order: uint(i + 1)}
	}
	if x.OS != nil {
		x.OS.BootDevices, x.OS.Kernel, x.OS.Initrd, x.OS.Cmdline = nil, "", "", ""
	}
	return nil
}

// mediaDrive is the drive for media: the one that says so, or else a drive with nothing in it, or with what a controller put there; nil
// for none.
func mediaDrive(x *libvirtxml.Domain) *libvirtxml.DomainDisk {
	if own := drive.Find(x); own != nil || x.Devices == nil {
		return own
	}
	for i := range x.Devices.Disks {
		if d := &x.Devices.Disks[i]; d.Device == "cdrom" && (drive.Source(d) == "" || strings.Contains(drive.Source(d), "/bmc-"+x.Name+"-")) {
			return d
		}
	}
	return nil
}
