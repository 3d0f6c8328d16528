package machine

import (
	"fmt"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
)

// applyDisks keeps the XML of disks that stay, in their order, and those that the machine does not model.
func applyDisks(d *libvirtxml.Domain, m *Machine) error {
	mark, err := readMark(d)
	if err != nil {
		return err
	}
	keys := diskKeys(d, mark)
	var kept []libvirtxml.DomainDisk
	existing := map[string]bool{}
	for i, disk := range d.Devices.Disks {
		want := m.Disk(keys[i])
		switch {
		case keys[i] == "":
			kept = append(kept, disk)
		case want != nil && (disk.Target == nil || disk.Target.Bus == want.Bus):
			source, format := diskSource(*want)
			if readDisk(&disk).Path != want.Path {
				disk.Source, disk.BackingStore = source, nil
			}
			if disk.Driver == nil {
				disk.Driver = &libvirtxml.DomainDiskDriver{Name: "qemu"}
			}
			disk.Driver.Type = format
			want.Target = disk.Target.Dev
			existing[want.Key] = true
			kept = append(kept, disk)
		}
	}
	d.Devices.Disks = kept
	for i := range m.Disks {
		if !existing[m.Disks[i].Key] {
			m.Disks[i].Target = ""
			d.Devices.Disks = append(d.Devices.Disks, *NewDisk(d, &m.Disks[i]))
			addController(d, m.Disks[i].Bus)
		}
	}
	return nil
}

// NewDisk makes the XML of a disk that the domain does not have yet, and gives it a free target.
func NewDisk(d *libvirtxml.Domain, disk *Disk) *libvirtxml.DomainDisk {
	if disk.Target == "" {
		disk.Target = freeTarget(d, disk.Bus)
	}
	source, format := diskSource(*disk)
	x := &libvirtxml.DomainDisk{
		Device: "disk", Driver: &libvirtxml.DomainDiskDriver{Name: "qemu", Type: format}, Source: source,
		Target: &libvirtxml.DomainDiskTarget{Dev: disk.Target, Bus: disk.Bus}, Serial: disk.Key,
	}
	if disk.ReadOnly {
		x.ReadOnly = &libvirtxml.DomainDiskReadOnly{}
	} else {
		// What the guest trims is given back to the pool.
		x.Driver.Discard = "unmap"
	}
	return x
}

func diskSource(disk Disk) (*libvirtxml.DomainDiskSource, string) {
	if disk.Block {
		return &libvirtxml.DomainDiskSource{Block: &libvirtxml.DomainDiskSourceBlock{Dev: disk.Path}}, disk.Format
	}
	return &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: disk.Path}}, disk.Format
}

// freeTarget is the first name that no disk of the domain has. Names say nothing about the order in which a
// guest finds its disks, but libvirt sorts by them.
func freeTarget(d *libvirtxml.Domain, bus string) string {
	prefix := map[string]string{"virtio": "vd", "ide": "hd"}[bus]
	if prefix == "" {
		prefix = "sd"
	}
	for n := 0; ; n++ {
		name := prefix + letters(n)
		if !slices.ContainsFunc(d.Devices.Disks, func(x libvirtxml.DomainDisk) bool { return x.Target != nil && x.Target.Dev == name }) {
			return name
		}
	}
}

// letters counts a, b, … z, aa, ab, …
func letters(n int) string {
	if n < 26 {
		return string(rune('a' + n))
	}
	return letters(n/26-1) + string(rune('a'+n%26))
}

// addController adds the controller that a bus needs. USB is switched off in the skeleton.
func addController(d *libvirtxml.Domain, bus string) {
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

// applyInterfaces keeps the XML of interfaces that stay and of kinds that the machine does not model.
func applyInterfaces(d *libvirtxml.Domain, m *Machine) {
	byMAC := map[string]libvirtxml.DomainInterface{}
	var others []libvirtxml.DomainInterface
	for _, x := range d.Devices.Interfaces {
		if i, ok := readInterface(&x); ok {
			byMAC[i.MAC] = x
			continue
		}
		others = append(others, x)
	}
	d.Devices.Interfaces = nil
	for _, want := range m.Interfaces {
		x, exists := byMAC[want.MAC]
		if !exists {
			x = *NewInterface(&want)
		}
		changeInterface(&x, &want)
		d.Devices.Interfaces = append(d.Devices.Interfaces, x)
	}
	d.Devices.Interfaces = append(d.Devices.Interfaces, others...)
}

// NewInterface makes the XML of an interface that the domain does not have yet.
func NewInterface(i *Interface) *libvirtxml.DomainInterface {
	x := &libvirtxml.DomainInterface{MAC: &libvirtxml.DomainInterfaceMAC{Address: i.MAC}, Source: &libvirtxml.DomainInterfaceSource{}}
	changeInterface(x, i)
	return x
}

// changeInterface puts an interface into its XML where that says something else.
func changeInterface(x *libvirtxml.DomainInterface, want *Interface) {
	was, _ := readInterface(x)
	if was.Network != want.Network || was.Bridge != want.Bridge {
		x.Source, x.VirtualPort = &libvirtxml.DomainInterfaceSource{}, nil
		if want.Network != "" {
			x.Source.Network = &libvirtxml.DomainInterfaceSourceNetwork{Network: want.Network}
		} else {
			x.Source.Bridge = &libvirtxml.DomainInterfaceSourceBridge{Bridge: want.Bridge}
		}
	}
	if was.Model != want.Model {
		x.Model = &libvirtxml.DomainInterfaceModel{Type: want.Model}
	}
	if was.MTU != want.MTU {
		x.MTU = nil
		if want.MTU != 0 {
			x.MTU = &libvirtxml.DomainInterfaceMTU{Size: uint(want.MTU)}
		}
	}
	if was.Filter != want.Filter {
		x.FilterRef = nil
		if want.Filter != "" {
			x.FilterRef = &libvirtxml.DomainInterfaceFilterRef{Filter: want.Filter}
		}
	}
}

// readInterface reads an interface of a kind that is modelled; a macvtap or a passed-through one is not.
func readInterface(x *libvirtxml.DomainInterface) (Interface, bool) {
	var i Interface
	if x.MAC != nil {
		i.MAC = x.MAC.Address
		if canonical, err := alloc.CanonicalMAC(x.MAC.Address); err == nil {
			i.MAC = canonical
		}
	}
	if x.Model != nil {
		i.Model = x.Model.Type
	}
	if x.MTU != nil {
		i.MTU = int64(x.MTU.Size)
	}
	if x.FilterRef != nil && strings.HasPrefix(x.FilterRef.Filter, FilterPrefix) {
		i.Filter = x.FilterRef.Filter
	}
	switch {
	case x.Source == nil:
		return i, false
	case x.Source.Network != nil:
		i.Network = x.Source.Network.Network
	case x.Source.Bridge != nil:
		i.Bridge = x.Source.Bridge.Bridge
	default:
		return i, false
	}
	return i, true
}

// FindInterface finds an interface's XML by its MAC address; nil where there is none.
func FindInterface(d *libvirtxml.Domain, mac string) *libvirtxml.DomainInterface {
	if d == nil || d.Devices == nil {
		return nil
	}
	for i := range d.Devices.Interfaces {
		if got, _ := readInterface(&d.Devices.Interfaces[i]); got.MAC == mac {
			return &d.Devices.Interfaces[i]
		}
	}
	return nil
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

// ChangeInterface returns an interface's XML with what the machine models changed to what is wanted.
func ChangeInterface(x *libvirtxml.DomainInterface, want *Interface) *libvirtxml.DomainInterface {
	changed := *x
	changeInterface(&changed, want)
	return &changed
}

// ReplugInterface makes the XML of an interface that is plugged in anew of the one that it had, without what libvirt
// chose for that.
func ReplugInterface(x *libvirtxml.DomainInterface, want *Interface) *libvirtxml.DomainInterface {
	changed := ChangeInterface(x, want)
	changed.Address, changed.Alias, changed.Target = nil, nil, nil
	return changed
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
