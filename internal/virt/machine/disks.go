package machine

import (
	"fmt"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/drive"
)

// applyDisks keeps the XML of disks that stay, in their order, and those that the machine does not model.
func applyDisks(d *libvirtxml.Domain, m *Machine) error {
	mark, err := readMark(d)
	if err != nil {
		return err
	}
	keys := listDiskKeys(d, mark)
	var kept []libvirtxml.DomainDisk
	existing, moved := map[string]bool{}, map[string]*libvirtxml.DomainDisk{}
	for i, disk := range d.Devices.Disks {
		want := m.Disk(keys[i])
		switch {
		case keys[i] == "":
			kept = append(kept, disk)
		case want != nil && (disk.Target == nil || disk.Target.Bus == want.Bus):
			had := readDisk(&disk)
			source, format := diskSource(*want)
			if !had.sameSource(want) {
				disk.Source, disk.BackingStore = source, nil
			}
			if disk.Driver == nil {
				disk.Driver = &libvirtxml.DomainDiskDriver{Name: "qemu"}
			}
			disk.Driver.Type = format
			applyTuning(&disk, want.DiskTuning)
			want.Target = disk.Target.Dev
			existing[want.Key] = true
			kept = append(kept, disk)
		case want != nil:
			moved[want.Key] = &disk
		}
	}
	d.Devices.Disks = kept
	for i := range m.Disks {
		want := &m.Disks[i]
		if existing[want.Key] {
			continue
		}
		want.Target = ""
		fresh := NewDisk(d, want)
		if had := moved[want.Key]; had != nil {
			fresh = ReplugDisk(had, want, fresh)
		}
		d.Devices.Disks = append(d.Devices.Disks, *fresh)
		drive.AddController(d, want.Bus)
	}
	applyIOThreads(d, m)
	return nil
}

// NewDisk makes the XML of a disk that the domain does not have yet, and gives it a free target.
func NewDisk(d *libvirtxml.Domain, disk *Disk) *libvirtxml.DomainDisk {
	if disk.Target == "" {
		disk.Target = findFreeTarget(d, disk.Bus)
	}
	source, format := diskSource(*disk)
	x := &libvirtxml.DomainDisk{
		Device: "disk", Driver: &libvirtxml.DomainDiskDriver{Name: "qemu", Type: format}, Source: source,
		Target: &libvirtxml.DomainDiskTarget{Dev: disk.Target, Bus: disk.Bus}, Serial: disk.Key,
	}
	if !disk.ReadOnly && disk.Discard == "" {
		// What the guest trims is given back to the pool.
		x.Driver.Discard = "unmap"
	}
	applyTuning(x, disk.DiskTuning)
	return x
}

// ReplugDisk returns the XML of a disk that is plugged in anew, on another bus or with another volume. It is made of the disk's
// XML so far and of that of a new disk: what somebody said of its caching or its limits stays, and what belongs to the bus that it
// leaves goes.
func ReplugDisk(existing *libvirtxml.DomainDisk, want *Disk, fresh *libvirtxml.DomainDisk) *libvirtxml.DomainDisk {
	again, was := *existing, readDisk(existing)
	again.Target, again.Address, again.Alias = fresh.Target, nil, nil
	if !was.sameSource(want) {
		again.Source, again.BackingStore, again.Mirror = fresh.Source, nil, nil
	}
	if again.Serial == "" {
		again.Serial = fresh.Serial // by which it is known while the mark is not written yet
	}
	driver := *fresh.Driver
	if existing.Driver != nil {
		driver = *existing.Driver
		driver.Type = fresh.Driver.Type
	}
	again.Driver = &driver
	defer applyTuning(&again, want.DiskTuning)
	if was.Bus == want.Bus {
		return &again
	}
	driver.IOThread, driver.IOThreads, driver.Queues, driver.QueueSize = nil, nil, nil, nil
	driver.IOEventFD, driver.EventIDX, driver.IOMMU, driver.ATS, driver.Packed, driver.PagePerVQ = "", "", "", "", "", ""
	again.Model, again.Geometry, again.Vendor, again.Product, again.WWN = "", nil, "", "", ""
	return &again
}

func diskSource(disk Disk) (*libvirtxml.DomainDiskSource, string) {
	if disk.Block {
		return &libvirtxml.DomainDiskSource{Block: &libvirtxml.DomainDiskSourceBlock{Dev: disk.Path}}, disk.Format
	}
	return &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: disk.currentFile()}}, disk.Format
}

// findFreeTarget returns the first target name that no disk of the domain has. Names say nothing about the order in which a guest
// finds its disks, but libvirt sorts by them.
func findFreeTarget(d *libvirtxml.Domain, bus string) string {
	prefix := map[string]string{"virtio": "vd", "ide": "hd"}[bus]
	if prefix == "" {
		prefix = "sd"
	}
	for n := 0; ; n++ {
		name := prefix + spellDiskLetters(n)
		if !slices.ContainsFunc(d.Devices.Disks, func(x libvirtxml.DomainDisk) bool { return x.Target != nil && x.Target.Dev == name }) {
			return name
		}
	}
}

// spellDiskLetters returns the letters of the disk of an index: a, b, … z, aa, ab, …
func spellDiskLetters(n int) string {
	if n < 26 {
		return string(rune('a' + n))
	}
	return spellDiskLetters(n/26-1) + string(rune('a'+n%26))
}

// FindDisk finds a disk's XML by its target name; nil where there is none.
func FindDisk(d *libvirtxml.Domain, target string) *libvirtxml.DomainDisk {
	if d == nil || d.Devices == nil {
		return nil
	}
	for i := range d.Devices.Disks {
		if t := d.Devices.Disks[i].Target; t != nil && t.Dev == target {
			return &d.Devices.Disks[i]
		}
	}
	return nil
}

// DiskAt finds the XML of a disk by its file or device; nil where there is none.
func DiskAt(d *libvirtxml.Domain, path string) *libvirtxml.DomainDisk {
	if d == nil || d.Devices == nil {
		return nil
	}
	for i := range d.Devices.Disks {
		if x := &d.Devices.Disks[i]; x.Target != nil && readDisk(x).Path == path {
			return x
		}
	}
	return nil
}

// CheckKey says what is wrong with a user's name for a disk: the guest sees it as a serial number, of which
// virtio hands over twenty characters.
func CheckKey(key string) error {
	if key == Root || key == Seed || key == Ignition {
		return fmt.Errorf("%q is taken by the machine itself: choose another name", key)
	}
	if key == "" || len(key) > 20 || strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != "" {
		return fmt.Errorf("%q must be 1 to 20 letters, digits, \"_\", \".\" or \"-\": the guest sees it as the disk's serial number", key)
	}
	return nil
}
