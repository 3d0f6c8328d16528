package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"libvirt.org/go/libvirtxml"
)

// hostDevices are the devices of a hypervisor as libvirt lists them.
type hostDevices []*libvirtxml.NodeDevice

// findNamed returns those that a name means, by the names that are theirs alone: PCI addresses, and places of USB devices.
func (all hostDevices) findNamed(h HostDevice) []HostDevice {
	var found []HostDevice
	for _, d := range all {
		switch pci, usb, mdev := d.Capability.PCI, d.Capability.USBDevice, d.Capability.MDev; {
		case pci != nil && h.PCI != "":
			at := spellPCI(pci.Domain, pci.Bus, pci.Slot, pci.Function)
			if h.PCI == at || h.PCI == trimHex(pci.Vendor.ID)+":"+trimHex(pci.Product.ID) {
				found = append(found, HostDevice{PCI: at})
			}
		case usb != nil && h.USB != "":
			at := fmt.Sprintf("%d.%d", usb.Bus, usb.Device)
			if h.USB == at || h.USB == trimHex(usb.Vendor.ID)+":"+trimHex(usb.Product.ID) {
				found = append(found, HostDevice{USB: at})
			}
		case mdev != nil && h.MDEV != "" && h.MDEV == mdev.UUID:
			found = append(found, HostDevice{MDEV: mdev.UUID})
		}
	}
	return found
}

// findRecord returns that of a device by the name that is its alone; nil where there is none.
func (all hostDevices) findRecord(h HostDevice) *libvirtxml.NodeDevice {
	at := slices.IndexFunc(all, func(d *libvirtxml.NodeDevice) bool { return slices.Contains(hostDevices{d}.findNamed(h), h) })
	if at < 0 {
		return nil
	}
	return all[at]
}

// findUsers says what the hypervisor does with a device by itself: interfaces that are up, and disks, which its kernel has by the device.
func (all hostDevices) findUsers(h HostDevice) []string {
	device := all.findRecord(h)
	if device == nil || device.Path == "" {
		return nil
	}
	var users []string
	for _, d := range all {
		net, disk := d.Capability.Net, d.Capability.Storage
		switch below := strings.HasPrefix(d.Path, device.Path+"/"); {
		case below && net != nil && net.Link != nil && net.Link.State == "up":
			users = append(users, "interface "+net.Interface+" is up")
		case below && disk != nil:
			users = append(users, "disk "+disk.Block)
		}
	}
	return users
}

// findCompanions returns the devices of the IOMMU group of a PCI device that the hypervisor, or a domain that holds one, would lose with it, and whether it
// is in a group.
func (all hostDevices) findCompanions(address string, holders map[HostDevice]string) (beside []string, grouped bool) {
	device := all.findRecord(HostDevice{PCI: address})
	if device == nil || device.Capability.PCI.IOMMUGroup == nil {
		return nil, false
	}
	for _, a := range device.Capability.PCI.IOMMUGroup.Address {
		at := spellPCI(a.Domain, a.Bus, a.Slot, a.Function)
		if other := all.findRecord(HostDevice{PCI: at}); at != address && (other == nil || holders[HostDevice{PCI: at}] != "" || !staysOrIsGivenUp(other)) {
			beside = append(beside, at)
		}
	}
	return beside, true
}

// staysOrIsGivenUp says of a PCI device that it does not keep one of its group from a guest: bridges to buses stay with the hypervisor
// (vfio_dev_driver_allowed), and what such a driver has was given up by somebody.
func staysOrIsGivenUp(d *libvirtxml.NodeDevice) bool {
	bridge := slices.ContainsFunc([]string{"0x0600", "0x0604"}, func(class string) bool { return strings.HasPrefix(d.Capability.PCI.Class, class) })
	return bridge || d.Driver != nil && slices.Contains([]string{"vfio-pci", "pci-stub"}, d.Driver.Name)
}

// locateHostDevices finds where the PCI devices are that a machine's user names by what they are.
func (r *resolver) locateHostDevices(ctx context.Context, m *Machine) error {
	m.HostDevices = slices.Clone(r.spec.HostDevices)
	for n, h := range m.HostDevices {
		if !idPair.MatchString(h.PCI) {
			continue
		}
		devices, err := r.cache.listHostDevices(ctx, r.client)
		if err != nil {
			return err
		}
		found := devices.findNamed(h)
		if r.existing != nil && n < len(r.existing.HostDevices) && slices.Contains(found, r.existing.HostDevices[n]) {
			m.HostDevices[n] = r.existing.HostDevices[n] // another one of that kind may have come since
			continue
		}
		if len(found) != 1 {
			return service.At(pathTo("host_devices", n, "pci"), fmt.Errorf("hypervisor %s has %d devices that %s means: write the address of one (lspci -nn -D)", r.client.URI(), len(found), h.spellName()))
		}
		m.HostDevices[n] = found[0]
	}
	return nil
}

// nameHostDevices calls devices as they are known, where that means them.
func (s *Store) nameHostDevices(ctx context.Context, known, found []HostDevice) ([]HostDevice, error) {
	if !slices.ContainsFunc(known, func(h HostDevice) bool { return idPair.MatchString(h.PCI) }) {
		return found, nil
	}
	devices, err := s.cache.listHostDevices(ctx, s.client)
	if err != nil {
		return nil, err
	}
	return devices.nameAs(known, found), nil
}

// nameAs returns found devices by the names that those in the same places are known by.
func (all hostDevices) nameAs(known, found []HostDevice) []HostDevice {
	named := slices.Clone(found)
	for n := range named {
		if n < len(known) && slices.Contains(all.findNamed(known[n]), named[n]) {
			named[n] = known[n]
		}
	}
	return named
}
