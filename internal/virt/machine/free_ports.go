package machine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/beevik/etree"
	"libvirt.org/go/libvirtxml"
)

// FreePorts are the ports and slots that a running machine has left for further devices. How many it has is fixed when it starts:
// libvirt adds ports and bridges to a configuration by itself, and to nothing that runs.
type FreePorts struct {
	// pcie is set for a machine with PCI Express, where a paravirtual device needs a port of its own. All other devices, and all
	// of the older chipset, need a slot of conventional PCI.
	pcie bool
	// ports of PCI Express and slots of conventional PCI that are free.
	ports, slots int
	scsi, usb    bool
}

// lastSlot is the last one of a bus of conventional PCI; 0 is the bus's own.
const lastSlot = 31

// CountFreePorts counts what is free in a domain as it runs, or in its configuration as libvirt completed it.
func CountFreePorts(d *libvirtxml.Domain) (*FreePorts, error) {
	used, err := listUsedSlots(d)
	if err != nil {
		return nil, err
	}
	r := &FreePorts{}
	if d.Devices == nil {
		return r, nil
	}
	for _, c := range d.Devices.Controllers {
		switch {
		case c.Type == "scsi":
			r.scsi = true
		case c.Type == "usb" && c.Model != "none":
			r.usb = true
		}
		if c.Type != "pci" || c.Index == nil || c.PCI != nil && c.PCI.Target != nil && c.PCI.Target.Hotplug == "off" {
			continue
		}
		taken := used[*c.Index]
		switch c.Model {
		case "pcie-root":
			r.pcie = true
		case "pcie-root-port", "pcie-switch-downstream-port":
			if len(taken) == 0 {
				r.ports++
			}
		case "pci-root": // its slot 1 is the chipset's own, which the XML does not always say
			delete(taken, 1)
			r.slots += lastSlot - 1 - len(taken)
		case "pci-bridge", "pcie-to-pci-bridge":
			r.slots += lastSlot - len(taken)
		}
	}
	return r, nil
}

// listUsedSlots returns the PCI slots that devices have, by bus.
func listUsedSlots(d *libvirtxml.Domain) (map[uint]map[uint]bool, error) {
	root, err := parseDomain(d)
	if err != nil {
		return nil, err
	}
	used := map[uint]map[uint]bool{}
	visitDevices(root, func(device *etree.Element) {
		for _, address := range device.ChildElements() {
			if !isPCIAddress(address) {
				continue
			}
			bus, slot := parseNumber(address.SelectAttrValue("bus", "")), parseNumber(address.SelectAttrValue("slot", ""))
			if used[bus] == nil {
				used[bus] = map[uint]bool{}
			}
			used[bus][slot] = true
		}
	})
	return used, nil
}

// parseDomain returns a domain's XML: libvirtxml has no common type for devices.
func parseDomain(d *libvirtxml.Domain) (*etree.Element, error) {
	text, err := d.Marshal()
	if err != nil {
		return nil, fmt.Errorf("cannot render domain %q: %w", d.Name, err)
	}
	document := etree.NewDocument()
	if err := document.ReadFromString(text); err != nil {
		return nil, fmt.Errorf("cannot read domain %q: %w", d.Name, err)
	}
	return document.Root(), nil
}

func visitDevices(domain *etree.Element, do func(device *etree.Element)) {
	for _, devices := range domain.SelectElements("devices") {
		for _, device := range devices.ChildElements() {
			do(device)
		}
	}
}

// isPCIAddress says whether an element of a device is its place in the machine. That in the source of a device that is
// passed through is one of the hypervisor's.
func isPCIAddress(e *etree.Element) bool {
	return e.Tag == "address" && e.SelectAttrValue("type", "") == "pci"
}

// parseNumber reads one of libvirt's, which are hexadecimal with 0x; 0 where it says nothing.
func parseNumber(text string) uint {
	n, _ := strconv.ParseUint(text, 0, 32)
	return uint(n)
}

// PlugDisk takes the room that one more disk on a bus needs, or says why it cannot be plugged in.
func (r *FreePorts) PlugDisk(bus string) error {
	switch bus {
	case "virtio":
		return r.takeSlot(true)
	case "scsi":
		if r.scsi {
			return nil
		}
		err := r.takeSlot(true)
		r.scsi = err == nil
		return err
	case "usb":
		if r.usb {
			return nil
		}
		return errors.New("its machine has no USB, and a controller cannot be plugged in")
	}
	return busNeedsRestart(bus)
}

// UnplugDisk gives back the room of a disk, or says why it cannot be unplugged.
func (r *FreePorts) UnplugDisk(bus string) error {
	switch bus {
	case "virtio":
		r.freeSlot(true)
	case "scsi", "usb":
	default:
		return busNeedsRestart(bus)
	}
	return nil
}

// busNeedsRestart is the reason for disks on buses that QEMU cannot change while a machine runs.
func busNeedsRestart(bus string) error {
	return fmt.Errorf("a disk on bus %q cannot be plugged in or out", bus)
}

// PlugInterface takes the room that one more network card needs, or says why it cannot be plugged in.
func (r *FreePorts) PlugInterface(model string) error {
	if model == "usb-net" {
		return r.PlugDisk("usb")
	}
	return r.takeSlot(!isConventionalPCI(model))
}

// UnplugInterface gives back the room of a network card.
func (r *FreePorts) UnplugInterface(model string) {
	if model != "usb-net" {
		r.freeSlot(!isConventionalPCI(model))
	}
}

// isConventionalPCI says whether libvirt holds a network card to be one of conventional PCI. It takes any that it does not
// know for one of PCI Express.
func isConventionalPCI(model string) bool {
	return slices.Contains([]string{"virtio-transitional", "e1000", "rtl8139", "vmxnet3"}, model)
}

func (r *FreePorts) takeSlot(express bool) error {
	free, what := &r.slots, "PCI slot"
	if r.pcie && express {
		free, what = &r.ports, "PCI Express port"
	} else if r.pcie {
		what = "slot of conventional PCI"
	}
	if *free == 0 {
		return fmt.Errorf("its machine has no free %s for it", what)
	}
	*free--
	return nil
}

func (r *FreePorts) freeSlot(express bool) {
	if r.pcie && express {
		r.ports++
	} else {
		r.slots++
	}
}

// addSparePorts adds PCI Express ports to the configuration of a machine whose new devices are more than its free ports: libvirt
// would add just enough for these, and the next one would need a restart again.
func addSparePorts(d *libvirtxml.Domain) error {
	r, err := CountFreePorts(d)
	if err != nil || !r.pcie {
		return err
	}
	added := 0
	for _, x := range d.Devices.Disks {
		if x.Address == nil && x.Target != nil && x.Target.Bus == "virtio" {
			added++
		}
	}
	for _, x := range d.Devices.Interfaces {
		if x.Address == nil && x.Model != nil && !isConventionalPCI(x.Model.Type) {
			added++
		}
	}
	if added <= r.ports {
		return nil
	}
	last := uint(0)
	for _, c := range d.Devices.Controllers {
		if c.Type == "pci" && c.Index != nil {
			last = max(last, *c.Index)
		}
	}
	d.Devices.Controllers = append(d.Devices.Controllers, newPorts(last, added-r.ports+sparePorts)...)
	return nil
}

// newPorts returns places to plug devices in, behind the PCI controller of the last index.
func newPorts(last uint, n int) []libvirtxml.DomainController {
	var all []libvirtxml.DomainController
	for range n {
		last++
		index := last
		all = append(all, libvirtxml.DomainController{Type: "pci", Index: &index, Model: "pcie-root-port"})
	}
	return all
}
