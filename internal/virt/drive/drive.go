// Package drive is what media of a machine are in: the one CD drive into which its node's configuration, or its controller, puts discs, and
// the one USB stick, which is its controller's alone.
package drive

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"
)

// Alias is what the drive is called in a domain's XML: that tells it from drives that somebody else gave the machine.
const Alias = "ua-media"

// stickAlias is what the stick is called there.
const stickAlias = "ua-stick"

// Find returns the drive of a domain; nil where it has none.
func Find(x *libvirtxml.Domain) *libvirtxml.DomainDisk { return findCalled(x, "cdrom", Alias) }

// FindStick returns the stick of a domain; nil where none is plugged in.
func FindStick(x *libvirtxml.Domain) *libvirtxml.DomainDisk { return findCalled(x, "disk", stickAlias) }

// IsStick says whether a disk is the stick, and so none of the machine's own disks.
func IsStick(d *libvirtxml.DomainDisk) bool { return isCalled(d, "disk", stickAlias) }

func findCalled(x *libvirtxml.Domain, device, alias string) *libvirtxml.DomainDisk {
	if x == nil || x.Devices == nil {
		return nil
	}
	for i := range x.Devices.Disks {
		if d := &x.Devices.Disks[i]; isCalled(d, device, alias) {
			return d
		}
	}
	return nil
}

func isCalled(d *libvirtxml.DomainDisk, device, alias string) bool {
	return d.Device == device && d.Alias != nil && d.Alias.Name == alias
}

// Source is what is in a drive: a file, a device, or "pool/volume"; "" for nothing.
func Source(d *libvirtxml.DomainDisk) string {
	switch {
	case d.Source == nil:
		return ""
	case d.Source.File != nil:
		return d.Source.File.File
	case d.Source.Block != nil:
		return d.Source.Block.Dev
	case d.Source.Volume != nil:
		return d.Source.Volume.Pool + "/" + d.Source.Volume.Volume
	}
	return "something that is no file"
}

// Bus is the bus that every firmware and every installer finds a drive at: the one that a domain's chipset has for drives. Nothing can
// be plugged into it while the machine runs.
func Bus(x *libvirtxml.Domain) string {
	if x.OS != nil && x.OS.Type != nil && !strings.Contains(x.OS.Type.Machine, "q35") && strings.HasPrefix(x.OS.Type.Machine, "pc") {
		return "ide"
	}
	return "sata"
}

// New returns an empty drive on a bus, at the first free place among disks.
func New(bus string, disks []libvirtxml.DomainDisk) *libvirtxml.DomainDisk {
	prefix := "sd"
	if bus == "ide" {
		prefix = "hd"
	}
	return newReadOnly("cdrom", Alias, &libvirtxml.DomainDiskTarget{Dev: findPlace(prefix, disks), Bus: bus})
}

// NewStick returns a stick with nothing in it, at the first free place among disks.
func NewStick(disks []libvirtxml.DomainDisk) *libvirtxml.DomainDisk {
	return newReadOnly("disk", stickAlias, &libvirtxml.DomainDiskTarget{Dev: findPlace("sd", disks), Bus: "usb", Removable: "on"})
}

func newReadOnly(device, alias string, target *libvirtxml.DomainDiskTarget) *libvirtxml.DomainDisk {
	return &libvirtxml.DomainDisk{
		Device: device, ReadOnly: &libvirtxml.DomainDiskReadOnly{}, Alias: &libvirtxml.DomainAlias{Name: alias},
		Driver: &libvirtxml.DomainDiskDriver{Name: "qemu", Type: "raw"}, Target: target,
	}
}

// findPlace returns the first target name that none of the disks has.
func findPlace(prefix string, disks []libvirtxml.DomainDisk) string {
	letter := byte('a')
	for slices.ContainsFunc(disks, func(d libvirtxml.DomainDisk) bool { return d.Target != nil && d.Target.Dev == prefix+string(letter) }) {
		letter++
	}
	return prefix + string(letter)
}

// SetSource puts a source into a drive, nil for nothing.
func SetSource(d *libvirtxml.DomainDisk, source *libvirtxml.DomainDiskSource) {
	d.Source, d.BackingStore = source, nil
}

// HeadLength is how much of an image Check looks at: ECMA-119 (ISO 9660) and ECMA-167 (UDF) have the name of their standard at byte 32769.
const HeadLength = 32769 + 5

// Check refuses what is no image of a disc. The reader has a buffer of HeadLength at least, and stays at its beginning.
func Check(r *bufio.Reader) error {
	head, err := r.Peek(HeadLength)
	for _, name := range []string{"CD001", "BEA01"} {
		if err == nil && bytes.HasSuffix(head, []byte(name)) {
			return nil
		}
	}
	if err != nil && err != io.EOF { //nolint:errorlint // an EOF that is wrapped is a source that broke off
		return fmt.Errorf("the image cannot be read: %w", err)
	}
	return fmt.Errorf("this is no ISO image: neither ISO 9660 nor UDF begins so")
}

// AddController adds the controller that a disk on a bus needs to a domain, in place of one that says there is to be none.
func AddController(d *libvirtxml.Domain, bus string) {
	controller := MissingController(d, bus)
	if controller == nil {
		return
	}
	d.Devices.Controllers = slices.DeleteFunc(d.Devices.Controllers, func(c libvirtxml.DomainController) bool { return c.Type == controller.Type && c.Model == "none" })
	d.Devices.Controllers = append(d.Devices.Controllers, *controller)
}

// MissingController is the controller that a disk on a bus needs and that the domain does not have; nil where
// it has one or libvirt adds the right one by itself. For SCSI it would add one that few guests have a driver for.
func MissingController(d *libvirtxml.Domain, bus string) *libvirtxml.DomainController {
	controller, needed := map[string]libvirtxml.DomainController{
		"scsi": {Type: "scsi", Model: "virtio-scsi"}, "usb": {Type: "usb", Model: "qemu-xhci"},
	}[bus]
	has := func(c libvirtxml.DomainController) bool { return c.Type == controller.Type && c.Model != "none" }
	if !needed || slices.ContainsFunc(d.Devices.Controllers, has) {
		return nil
	}
	return &controller
}
