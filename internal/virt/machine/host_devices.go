package machine

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
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

// CheckMDEV says what is wrong with the name of a mediated device.
func CheckMDEV(text string) error {
	if hypervisor.IsUUID(text) && strings.ToLower(text) == text {
		return nil
	}
	return fmt.Errorf("%q is no UUID in small letters", text)
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

// trimHex spells a number of libvirt's, such as 0x46d, in four digits.
func trimHex(id string) string {
	n, _ := strconv.ParseUint(id, 0, 32)
	return fmt.Sprintf("%04x", n)
}

func readHostDevices(d *libvirtxml.Domain) []HostDevice {
	if d.Devices == nil {
		return nil
	}
	var all []HostDevice
	for i := range d.Devices.Hostdevs {
		if h, modelled := readHostDevice(&d.Devices.Hostdevs[i]); modelled {
			all = append(all, h)
		}
	}
	return all
}

// hostedDevices are the devices of the hypervisor that a machine has.
var hostedDevices = deviceKind[HostDevice]{
	attribute: "host_devices",
	list:      func(h *Hardware) []HostDevice { return h.HostDevices },
	find:      findHostDevice, apply: applyHostDevices,
	render:   func(h HostDevice) any { x := newHostDevice(h); return &x },
	takeRoom: (*FreePorts).plugHostDevice, freeRoom: (*FreePorts).unplugHostDevice,
}

// findHostDevice returns the XML of a device in a domain. What runs has the place of a USB device beside its name.
func findHostDevice(d *libvirtxml.Domain, device HostDevice) []any {
	var all []any
	for i := range d.Devices.Hostdevs {
		if h, modelled := readHostDevice(&d.Devices.Hostdevs[i]); modelled && h == device {
			all = append(all, &d.Devices.Hostdevs[i])
		}
	}
	return all
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

// applyHostDevices keeps the XML of devices that stay, and of kinds that the machine does not model, which come last.
func applyHostDevices(d *libvirtxml.Domain, was, want []HostDevice) {
	existing, others := map[HostDevice]libvirtxml.DomainHostdev{}, []libvirtxml.DomainHostdev(nil)
	for _, x := range d.Devices.Hostdevs {
		if h, modelled := readHostDevice(&x); modelled {
			existing[h] = x
		} else {
			others = append(others, x)
		}
	}
	d.Devices.Hostdevs = nil
	for _, h := range want {
		if h.USB != "" {
			drive.AddController(d, "usb")
		}
		x, stays := existing[h]
		if !stays {
			x = newHostDevice(h)
		}
		d.Devices.Hostdevs = append(d.Devices.Hostdevs, x)
	}
	d.Devices.Hostdevs = append(d.Devices.Hostdevs, others...)
}

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

// findCompanions returns the devices of the IOMMU group of a PCI device that the hypervisor would lose with it, and whether it is in one.
func (all hostDevices) findCompanions(address string) (beside []string, grouped bool) {
	device := all.findRecord(HostDevice{PCI: address})
	if device == nil || device.Capability.PCI.IOMMUGroup == nil {
		return nil, false
	}
	for _, a := range device.Capability.PCI.IOMMUGroup.Address {
		at := spellPCI(a.Domain, a.Bus, a.Slot, a.Function)
		if other := all.findRecord(HostDevice{PCI: at}); at != address && (other == nil || !staysOrIsGivenUp(other)) {
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

// checkHostDevices finds devices that the hypervisor does not have, has several of, or does not have to give.
func (k *Checker) checkHostDevices(ctx context.Context) error {
	stay := !k.isNewHere() && slices.Equal(k.Want.HostDevices, k.Was.HostDevices)
	if len(k.Want.HostDevices) == 0 || stay && (k.Was.Runs() || !k.Want.Running) {
		return nil
	}
	devices, err := k.Cache.listHostDevices(ctx, k.Client)
	if err != nil {
		return err
	}
	domains, err := k.Cache.listDomains(ctx, k.Client)
	if err != nil {
		return err
	}
	holders := map[HostDevice]string{}
	for _, d := range domains {
		if d.UUID == k.Was.UUID || !d.Active() || !k.Want.Running {
			continue
		}
		for _, h := range readHostDevices(d.Live) {
			for _, found := range devices.findNamed(h) {
				holders[found] = d.Name
			}
		}
	}
	shown, err := k.findBootDisplays(ctx, devices)
	if err != nil {
		return err
	}
	k.findUnfreeDevices(devices, holders, shown)
	return nil
}

// findBootDisplays finds those of the wanted devices that the hypervisor's firmware chose for its own screen. libvirt does not tell, and where the
// transport gives no access to the machine nobody does.
func (k *Checker) findBootDisplays(ctx context.Context, devices hostDevices) (map[HostDevice]bool, error) {
	shown := map[HostDevice]bool{}
	for _, h := range k.Want.HostDevices {
		for _, found := range devices.findNamed(h) {
			d := devices.findRecord(found)
			if d.Capability.PCI == nil || !strings.HasPrefix(d.Capability.PCI.Class, displayClass) || staysOrIsGivenUp(d) {
				continue
			}
			boot, err := k.Client.IsBootDisplay(ctx, found.PCI)
			if err != nil {
				return nil, err
			}
			shown[found] = boot
		}
	}
	return shown, nil
}

// displayClass is how the class of a display controller begins.
const displayClass = "0x03"

// findUnfreeDevices finds those of the wanted devices that are not free. holders are the domains that run with devices, and shown are the displays that
// the hypervisor shows itself at.
func (k *Checker) findUnfreeDevices(devices hostDevices, holders map[HostDevice]string, shown map[HostDevice]bool) {
	var own []HostDevice // each in its place, where one is meant
	for _, h := range k.Want.HostDevices {
		found := devices.findNamed(h)
		if len(found) != 1 {
			found = []HostDevice{{}}
		}
		own = append(own, found[0])
	}
	for n, h := range k.Want.HostDevices {
		at := pathTo("host_devices", n, h.chooseAttribute())
		found := devices.findNamed(h)
		switch {
		case h == HostDevice{}: // it is known later
		case len(found) == 0:
			k.addProblem(at, "No such device", "hypervisor %s has no %s: see `virsh nodedev-list`", k.Client.URI(), h.spellName())
		case len(found) > 1:
			k.addProblem(at, "Several such devices", "hypervisor %s has %d devices that %s means: write where it is, such as %q", k.Client.URI(), len(found), h.spellName(), cmp.Or(found[0].PCI, found[0].USB))
		case slices.Contains(own[:n], found[0]):
			k.addProblem(at, "Duplicate device", "%s is %s, which the node has already: write each once", h.spellName(), found[0].spellName())
		case holders[found[0]] != "":
			k.addProblem(at, "Device in use", "domain %q runs with %s: write another one, or take it from that domain before", holders[found[0]], h.spellName())
		case shown[found[0]]:
			k.addProblem(at, "Device in use", "hypervisor %s shows its own screen by %s: give that device up at its start (vfio-pci.ids=… on its kernel's command line), or write another one", k.Client.URI(), h.spellName())
		case len(devices.findUsers(found[0])) > 0:
			k.addProblem(at, "Device in use", "hypervisor %s uses %s itself: %s. Write another one, or take it from the hypervisor before (`virsh nodedev-detach`)", k.Client.URI(), h.spellName(), strings.Join(devices.findUsers(found[0]), ", "))
		case h.PCI != "":
			k.checkGroup(at, h, found[0], devices, own)
		}
	}
}

// checkGroup finds a PCI device that no IOMMU keeps apart, or that shares a group with one which the node does not have.
func (k *Checker) checkGroup(at []any, named, found HostDevice, devices hostDevices, own []HostDevice) {
	beside, grouped := devices.findCompanions(found.PCI)
	beside = slices.DeleteFunc(beside, func(address string) bool { return slices.Contains(own, HostDevice{PCI: address}) })
	switch {
	case !grouped:
		k.addProblem(at, "Device without an IOMMU", "%s is in no IOMMU group of hypervisor %s, so that no guest can have it: switch the IOMMU on in its firmware and by its kernel's command line (intel_iommu=on)", named.spellName(), k.Client.URI())
	case len(beside) > 0:
		k.addProblem(at, "Shared IOMMU group", "%s is in one IOMMU group with %s, which the hypervisor would lose with it: write all of them, or put the device into another slot", named.spellName(), strings.Join(beside, ", "))
	}
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
