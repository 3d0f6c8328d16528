package machine

import (
	"errors"
	"fmt"
	"slices"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Filesystem is a directory of the hypervisor that the guest can mount.
type Filesystem struct {
	// Source is the directory, and Target the name by which the guest mounts it.
	Source string `attr:"source"`
	Target string `attr:"target"`
	// Driver is "virtiofs" or "9p".
	Driver   string `attr:"driver"`
	ReadOnly bool   `attr:"readonly"`
}

// virtiofs is the driver that needs memory which another program sees too.
const virtiofs = "virtiofs"

// filesystemDrivers are libvirt's names of the drivers.
var filesystemDrivers = map[string]string{virtiofs: virtiofs, "9p": "path"}

// readFilesystem reads a share of a kind that is modelled: a directory.
func readFilesystem(x *libvirtxml.DomainFilesystem) (Filesystem, bool) {
	f := Filesystem{Driver: "9p", ReadOnly: x.ReadOnly != nil}
	if x.Driver != nil && x.Driver.Type == virtiofs {
		f.Driver = virtiofs
	}
	if x.Source == nil || x.Source.Mount == nil || x.Source.Mount.Dir == "" || x.Target == nil {
		return f, false
	}
	f.Source, f.Target = x.Source.Mount.Dir, x.Target.Dir
	return f, true
}

// shareDevices are the directories of the hypervisor. Guests know them by their targets, of which each is there once.
var shareDevices = deviceKind[Filesystem, libvirtxml.DomainFilesystem]{
	attribute: "filesystems",
	list:      func(h *Hardware) []Filesystem { return h.Filesystems },
	drop: func(h *Hardware, are func(Filesystem) bool) {
		h.Filesystems = slices.DeleteFunc(slices.Clone(h.Filesystems), are)
	},
	place: func(d *libvirtxml.DomainDeviceList) *[]libvirtxml.DomainFilesystem { return &d.Filesystems },
	read:  readFilesystem, render: newFilesystem,
	adjust: func(d *libvirtxml.Domain, was, want []Filesystem) {
		shareMemory(d, usesVirtiofs(was), usesVirtiofs(want))
	},
	excludes: func(a, b Filesystem) bool { return a.Target == b.Target },
	takeRoom: (*FreePorts).plugShare, freeRoom: (*FreePorts).unplugShare,
}

// plugShare takes the room that one more share needs, or says why it cannot be plugged into what runs.
func (r *FreePorts) plugShare(f Filesystem, live *libvirtxml.Domain) error {
	switch {
	case f.Driver != virtiofs:
		return r.unplugShare(f)
	case !sharesMemory(live):
		return errors.New("its memory is shared with virtiofsd from its next start on")
	}
	return r.takeSlot(true)
}

// unplugShare gives back the room of a share, or says why it cannot be unplugged.
func (r *FreePorts) unplugShare(f Filesystem) error {
	if f.Driver != virtiofs {
		return fmt.Errorf("a share of driver %q cannot be plugged in or out", f.Driver)
	}
	r.freeSlot(true)
	return nil
}

func newFilesystem(f Filesystem) libvirtxml.DomainFilesystem {
	x := libvirtxml.DomainFilesystem{
		AccessMode: "passthrough", Driver: &libvirtxml.DomainFilesystemDriver{Type: filesystemDrivers[f.Driver]},
		Source: &libvirtxml.DomainFilesystemSource{Mount: &libvirtxml.DomainFilesystemSourceMount{Dir: f.Source}},
		Target: &libvirtxml.DomainFilesystemTarget{Dir: f.Target},
	}
	if f.Driver != virtiofs {
		x.AccessMode = "mapped" // QEMU need not be root: owners and modes are kept in extended attributes
	}
	if f.ReadOnly {
		x.ReadOnly = &libvirtxml.DomainFilesystemReadOnly{}
	}
	return x
}

func usesVirtiofs(all []Filesystem) bool {
	return slices.ContainsFunc(all, func(f Filesystem) bool { return f.Driver == virtiofs })
}

// shareMemory gives a machine with virtiofs memory that virtiofsd sees too, and takes that back with the last such share, unless a device of somebody's
// needs it. What somebody said of the memory otherwise stays.
func shareMemory(d *libvirtxml.Domain, was, want bool) {
	b := d.MemoryBacking
	switch {
	case want && !sharesMemory(d):
		if b == nil {
			b = &libvirtxml.DomainMemoryBacking{}
			d.MemoryBacking = b
		}
		if b.MemorySource == nil && b.MemoryHugePages == nil {
			b.MemorySource = &libvirtxml.DomainMemorySource{Type: "memfd"}
		}
		b.MemoryAccess = &libvirtxml.DomainMemoryAccess{Mode: "shared"}
	case was && !want && b != nil && !usesVhostUser(d) && *b == (libvirtxml.DomainMemoryBacking{MemorySource: b.MemorySource, MemoryAccess: b.MemoryAccess}):
		d.MemoryBacking = nil
	}
}

// usesVhostUser says whether a domain has a card or a disk that another program serves, by the domain's memory.
func usesVhostUser(d *libvirtxml.Domain) bool {
	return d.Devices != nil && (slices.ContainsFunc(d.Devices.Interfaces, func(i libvirtxml.DomainInterface) bool { return i.Source != nil && i.Source.VHostUser != nil }) ||
		slices.ContainsFunc(d.Devices.Disks, func(disk libvirtxml.DomainDisk) bool { return disk.Source != nil && disk.Source.VHostUser != nil }))
}

// sharesMemory says whether other programs see the memory of a domain, which only its start can have them do.
func sharesMemory(d *libvirtxml.Domain) bool {
	return d.MemoryBacking != nil && d.MemoryBacking.MemoryAccess != nil && d.MemoryBacking.MemoryAccess.Mode == "shared"
}

// validateFilesystems finds two shares of one name.
func (s *Spec) validateFilesystems() []service.Problem {
	var all []service.Problem
	for n, f := range s.Filesystems {
		if f.Target != "" && slices.ContainsFunc(s.Filesystems[:n], func(other Filesystem) bool { return other.Target == f.Target }) {
			all = append(all, service.Problemf(pathTo("filesystems", n, "target"), "Duplicate share", "the guest mounts another share of this node by %q already: write another target", f.Target))
		}
	}
	return all
}
