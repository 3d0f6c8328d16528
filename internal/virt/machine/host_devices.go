package machine

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/drive"
)

// HostDevice is a device of the hypervisor that a guest has to itself. One of its texts is set.
type HostDevice struct {
	// PCI is an address such as "0000:03:00.0", or "vendor:product", as lspci -n has them.
	PCI string `attr:"pci"`
	// USB is "vendor:product", as lsusb has it, or "bus.device".
	USB string `attr:"usb"`
	// MDEV is the UUID of a mediated device.
	MDEV string `attr:"mdev"`
}

// spellName returns what messages call a device.
func (h HostDevice) spellName() string {
	switch {
	case h.PCI != "":
		return "PCI device " + h.PCI
	case h.USB != "":
		return "USB device " + h.USB
	}
	return "mediated device " + h.MDEV
}

// chooseAttribute returns the one that a device is named by.
func (h HostDevice) chooseAttribute() string {
	switch {
	case h.USB != "":
		return "usb"
	case h.MDEV != "":
		return "mdev"
	}
	return "pci"
}

var (
	pciAddress = regexp.MustCompile(`^([0-9a-f]{4}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])$`)
	idPair     = regexp.MustCompile(`^([0-9a-f]{4}):([0-9a-f]{4})$`)
	usbPlace   = regexp.MustCompile(`^([1-9][0-9]{0,2})\.([1-9][0-9]{0,2})$`)
)

// CheckPCI says what is wrong with the name of a PCI device.
func CheckPCI(text string) error {
	if pciAddress.MatchString(text) || idPair.MatchString(text) {
		return nil
	}
	return fmt.Errorf("%q is no PCI device: write its address in small letters, such as 0000:03:00.0, or vendor:product, such as 8086:1572 (lspci -nn -D)", text)
}

// CheckUSB says what is wrong with the name of a USB device.
func CheckUSB(text string) error {
	if idPair.MatchString(text) || usbPlace.MatchString(text) {
		return nil
	}
	return fmt.Errorf("%q is no USB device: write vendor:product in small letters, such as 046d:c52b, or bus.device, such as 1.4 (lsusb)", text)
}

// parseHex reads digits of a number that an expression has found.
func parseHex(digits string) *uint {
	n, _ := strconv.ParseUint(digits, 16, 32)
	u := uint(n)
	return &u
}

func parseDecimal(digits string) *uint {
	n, _ := strconv.ParseUint(digits, 10, 32)
	u := uint(n)
	return &u
}

// spellPCI spells an address as lspci -D does.
func spellPCI(domain, bus, slot, function *uint) string {
	value := func(n *uint) uint {
		if n == nil {
			return 0
		}
		return *n
	}
	return fmt.Sprintf("%04x:%02x:%02x.%d", value(domain), value(bus), value(slot), value(function))
}

// newHostDevice makes the XML of a device whose PCI address, where it has one, is known.
func newHostDevice(h HostDevice) libvirtxml.DomainHostdev {
	switch {
	case h.PCI != "":
		at := pciAddress.FindStringSubmatch(h.PCI)
		address := &libvirtxml.DomainAddressPCI{Domain: parseHex(at[1]), Bus: parseHex(at[2]), Slot: parseHex(at[3]), Function: parseHex(at[4])}
		return libvirtxml.DomainHostdev{Managed: "yes", SubsysPCI: &libvirtxml.DomainHostdevSubsysPCI{Source: &libvirtxml.DomainHostdevSubsysPCISource{Address: address}}}
	case h.USB != "":
		source := &libvirtxml.DomainHostdevSubsysUSBSource{}
		if at := usbPlace.FindStringSubmatch(h.USB); at != nil {
			source.Address = &libvirtxml.DomainAddressUSB{Bus: parseDecimal(at[1]), Device: parseDecimal(at[2])}
		} else if ids := idPair.FindStringSubmatch(h.USB); ids != nil {
			source.Vendor, source.Product = &libvirtxml.DomainHostDevProductVendorID{ID: "0x" + ids[1]}, &libvirtxml.DomainHostDevProductVendorID{ID: "0x" + ids[2]}
		}
		return libvirtxml.DomainHostdev{SubsysUSB: &libvirtxml.DomainHostdevSubsysUSB{Source: source}}
	}
	return libvirtxml.DomainHostdev{SubsysMDev: &libvirtxml.DomainHostdevSubsysMDev{Model: "vfio-pci", Source: &libvirtxml.DomainHostdevSubsysMDevSource{Address: &libvirtxml.DomainAddressMDev{UUID: h.MDEV}}}}
}

// readHostDevice reads a device of a kind that is modelled.
func readHostDevice(x *libvirtxml.DomainHostdev) (HostDevice, bool) {
	switch {
	case x.SubsysPCI != nil && x.SubsysPCI.Source != nil && x.SubsysPCI.Source.Address != nil:
		a := x.SubsysPCI.Source.Address
		return HostDevice{PCI: spellPCI(a.Domain, a.Bus, a.Slot, a.Function)}, true
	case x.SubsysMDev != nil && x.SubsysMDev.Source != nil && x.SubsysMDev.Source.Address != nil:
		return HostDevice{MDEV: x.SubsysMDev.Source.Address.UUID}, true
	case x.SubsysUSB != nil && x.SubsysUSB.Source != nil:
		s := x.SubsysUSB.Source
		if s.Vendor != nil && s.Product != nil {
			return HostDevice{USB: trimHex(s.Vendor.ID) + ":" + trimHex(s.Product.ID)}, true
		}
		if a := s.Address; a != nil && a.Bus != nil && a.Device != nil {
			return HostDevice{USB: fmt.Sprintf("%d.%d", *a.Bus, *a.Device)}, true
		}
	}
	return HostDevice{}, false
}

// listPassedOn lists the PCI devices that a domain has as its interfaces and disks.
func listPassedOn(d *libvirtxml.Domain) []HostDevice {
	var all []HostDevice
	note := func(a *libvirtxml.DomainAddressPCI) {
		if a != nil {
			all = append(all, HostDevice{PCI: spellPCI(a.Domain, a.Bus, a.Slot, a.Function)})
		}
	}
	if d.Devices == nil {
		return nil
	}
	for _, i := range d.Devices.Interfaces {
		if i.Source != nil && i.Source.Hostdev != nil && i.Source.Hostdev.PCI != nil {
			note(i.Source.Hostdev.PCI.Address)
		}
	}
	for _, disk := range d.Devices.Disks {
		if disk.Source != nil && disk.Source.NVME != nil && disk.Source.NVME.PCI != nil {
			note(disk.Source.NVME.PCI.Address)
		}
	}
	return all
}

// trimHex spells a number of libvirt's, such as 0x46d, in four digits.
func trimHex(id string) string {
	n, _ := strconv.ParseUint(id, 0, 32)
	return fmt.Sprintf("%04x", n)
}

// hostedDevices are the devices of the hypervisor that a machine has.
var hostedDevices = deviceKind[HostDevice, libvirtxml.DomainHostdev]{
	attribute: "host_devices",
	list:      func(h *Hardware) []HostDevice { return h.HostDevices },
	drop: func(h *Hardware, are func(HostDevice) bool) {
		h.HostDevices = slices.DeleteFunc(slices.Clone(h.HostDevices), are)
	},
	place: func(d *libvirtxml.DomainDeviceList) *[]libvirtxml.DomainHostdev { return &d.Hostdevs },
	read:  readHostDevice, render: newHostDevice,
	adjust: func(d *libvirtxml.Domain, _, want []HostDevice) {
		if slices.ContainsFunc(want, func(h HostDevice) bool { return h.USB != "" }) {
			drive.AddController(d, "usb")
		}
	},
	takeRoom: (*FreePorts).plugHostDevice, freeRoom: (*FreePorts).unplugHostDevice,
}

// plugHostDevice takes the room that one more device of the hypervisor needs, or says why it cannot be plugged in.
func (r *FreePorts) plugHostDevice(h HostDevice, _ *libvirtxml.Domain) error {
	if h.USB != "" {
		return r.PlugDisk("usb")
	}
	return r.takeSlot(true)
}

// unplugHostDevice gives back the room of a device.
func (r *FreePorts) unplugHostDevice(h HostDevice) error {
	if h.USB == "" {
		r.freeSlot(true)
	}
	return nil
}

// validateHostDevices finds a device without a name, or with two, and one that is written twice.
func (s *Spec) validateHostDevices() []service.Problem {
	var all []service.Problem
	for n, h := range s.HostDevices {
		here := pathTo("host_devices", n)
		unknown := slices.ContainsFunc([]string{"pci", "usb", "mdev"}, func(attribute string) bool { return s.Unknown.Has(pathBelow(here, attribute)...) })
		named := 0
		for _, text := range []string{h.PCI, h.USB, h.MDEV} {
			if text != "" {
				named++
			}
		}
		switch {
		case named > 1 || named == 0 && !unknown:
			all = append(all, service.Problemf(here, "Device without a name", "write one of pci, usb and mdev"))
		case slices.Contains(s.HostDevices[:n], h) && named == 1:
			all = append(all, service.Problemf(here, "Duplicate device", "the node has %s already: write each once", h.spellName()))
		}
	}
	return all
}
