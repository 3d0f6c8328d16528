package machine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/beevik/etree"
	"libvirt.org/go/libvirtxml"
)

func applyChipset(d *libvirtxml.Domain, m *Machine) error {
	if d.OS.Type == nil || SameChipset(m.Chipset, d.OS.Type.Machine) {
		return nil
	}
	was := d.OS.Type.Machine
	d.OS.Type.Machine = m.Chipset
	if isQ35(was) == isQ35(m.Chipset) {
		return nil
	}
	if err := removeAddresses(d); err != nil {
		return err
	}
	if isQ35(m.Chipset) {
		d.Devices.Controllers = append(d.Devices.Controllers, planPCIExpress(m)...)
	}
	return nil
}

// removeAddresses takes out of a domain where its devices are: the topologies of the two chipsets have nothing in common, and
// libvirt finds new places. The guest sees the same devices elsewhere.
func removeAddresses(d *libvirtxml.Domain) error {
	root, err := parseDomain(d)
	if err != nil {
		return err
	}
	visitDevices(root, func(device *etree.Element) {
		// From libvirt 9.1 on, q35 has a watchdog of its own that no other chipset can have.
		watchdog := device.Tag == "watchdog" && device.SelectAttrValue("model", "") == "itco"
		if watchdog || device.Tag == "controller" && slices.Contains([]string{"pci", "ide", "sata"}, device.SelectAttrValue("type", "")) {
			device.Parent().RemoveChild(device)
			return
		}
		for _, e := range device.ChildElements() {
			if isPCIAddress(e) {
				device.RemoveChild(e)
			}
		}
	})
	text, err := etree.NewDocumentWithRoot(root).WriteToString()
	if err != nil {
		return fmt.Errorf("cannot render domain %q: %w", d.Name, err)
	}
	moved := &libvirtxml.Domain{}
	if err := moved.Unmarshal(text); err != nil {
		return fmt.Errorf("cannot move the devices of domain %q: %w", d.Name, err)
	}
	*d = *moved
	return nil
}

// SameChipset says whether libvirt's machine is what was asked for: "q35" stands for its newest version,
// and libvirt puts the version in.
func SameChipset(asked, got string) bool {
	switch {
	case asked == got:
		return true
	case asked == "q35":
		return strings.HasPrefix(got, "pc-q35-")
	case asked == "pc":
		return strings.HasPrefix(got, "pc-i440fx-")
	}
	return false
}

func isQ35(chipset string) bool { return chipset == "q35" || strings.HasPrefix(chipset, "pc-q35-") }

// HasPCI says whether machines of a type have PCI, which everything here is plugged into. These are the names by which
// libvirt tells it (qemuDomainMachineIsQ35, qemuDomainMachineIsI440FX); "microvm" and "isapc" have none.
func HasPCI(chipset string) bool {
	old := []string{"pc-i440fx-", "pc-0.", "pc-1.", "rhel"}
	return isQ35(chipset) || chipset == "pc" || slices.ContainsFunc(old, func(prefix string) bool { return strings.HasPrefix(chipset, prefix) })
}
