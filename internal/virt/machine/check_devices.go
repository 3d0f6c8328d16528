package machine

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// deviceChecker finds directories and devices of its hypervisor that a planned machine cannot have.
type deviceChecker struct{ *Checker }

// checkFilesystems finds a share of a driver that the hypervisor does not offer, and one of a directory that is not there and that nothing
// in the plan makes.
func (k deviceChecker) checkFilesystems(ctx context.Context) error {
	for n, f := range k.Want.Filesystems {
		if !k.isNewHere() && slices.Contains(k.Was.Filesystems, f) {
			continue
		}
		here := pathTo("filesystems", n)
		offered, err := k.askCapabilities(ctx)
		if err != nil {
			return err
		}
		if driver := filesystemDrivers[f.Driver]; driver != "" && offered != nil && offered.Devices != nil && offered.Devices.FileSystem != nil && !offersValue(offered.Devices.FileSystem, "driverType", driver) {
			k.addProblem(pathBelow(here, "driver"), "Share not offered", "hypervisor %s does not offer shares of driver %q: write another driver", k.Client.URI(), f.Driver)
		}
		if f.Driver == virtiofs && f.ReadOnly {
			host, err := k.Client.Host(ctx)
			if err != nil {
				return err
			}
			if !host.HasLibvirt(11, 0) {
				k.addProblem(pathBelow(here, "readonly"), "Read-only share not offered", "libvirt %s of hypervisor %s has no read-only shares of driver \"virtiofs\", which came with 11.0: write driver = \"9p\", or mount it read-only in the guest", host.Libvirt, k.Client.URI())
			}
		}
		if f.Source == "" {
			continue
		}
		lacks, err := k.Client.LacksDirectory(ctx, f.Source)
		if err != nil {
			return err
		}
		_, planned := k.Plan.Find(plan.Use{Kind: plan.Directory, On: plan.NameHypervisor(k.Want.Hypervisor), Value: filepath.Clean(f.Source)})
		if lacks && !planned {
			k.addProblem(pathBelow(here, "source"), "No such directory", "hypervisor %s has no directory %s: make it there before, or write another one", k.Client.URI(), f.Source)
		}
	}
	return nil
}

// checkHostDevices finds devices that the hypervisor does not have, has several of, or does not have to give.
func (k deviceChecker) checkHostDevices(ctx context.Context) error {
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
		if d.UUID == k.Was.UUID || !d.Active() || !k.Want.Running || d.Name == k.Want.Name && k.Cache.isNodeInState(d.UUID) { // one that is replaced gives up its own
			continue
		}
		for _, h := range append(hostedDevices.readDevices(d.Live), listPassedOn(d.Live)...) {
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
func (k deviceChecker) findBootDisplays(ctx context.Context, devices hostDevices) (map[HostDevice]bool, error) {
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
func (k deviceChecker) findUnfreeDevices(devices hostDevices, holders map[HostDevice]string, shown map[HostDevice]bool) {
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
			k.checkGroup(at, h, found[0], devices, holders, own)
		}
	}
}

// checkGroup finds a PCI device that no IOMMU keeps apart, or that shares a group with one which the node does not have.
func (k deviceChecker) checkGroup(at []any, named, found HostDevice, devices hostDevices, holders map[HostDevice]string, own []HostDevice) {
	beside, grouped := devices.findCompanions(found.PCI, holders)
	beside = slices.DeleteFunc(beside, func(address string) bool { return slices.Contains(own, HostDevice{PCI: address}) })
	switch {
	case !grouped:
		k.addProblem(at, "Device without an IOMMU", "%s is in no IOMMU group of hypervisor %s, so that no guest can have it: switch the IOMMU on in its firmware and by its kernel's command line (intel_iommu=on)", named.spellName(), k.Client.URI())
	case len(beside) > 0:
		k.addProblem(at, "Shared IOMMU group", "%s is in one IOMMU group with %s, which the hypervisor would lose with it: write all of them, or put the device into another slot", named.spellName(), strings.Join(beside, ", "))
	}
}
