package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"libvirt.org/go/libvirtxml"
)

// hardwareChecker finds what of a planned machine's hardware its hypervisor does not offer. Devices of a kind of their own have their checks in
// their files.
type hardwareChecker struct{ *Checker }

func (k hardwareChecker) checkHardware(ctx context.Context) error {
	host, err := k.Cache.askHost(ctx, k.Client)
	if err != nil {
		return err
	}
	virtualisation := k.Want.Type
	chipsets, offered := host.chipsets[virtualisation]
	if !offered && virtualisation != "" {
		k.addProblem(pathTo("type"), "Type not offered", "hypervisor %s offers %s: enable hardware virtualisation in its firmware, or write type = \"qemu\", which is slow", k.Client.URI(), strings.Join(slices.Sorted(maps.Keys(host.chipsets)), ", "))
		return nil
	}
	changed := k.isNewHere() || k.Was.Chipset != k.Want.Chipset || k.Was.Type != k.Want.Type
	if m := k.Want.Chipset; m != "" && virtualisation != "" && changed && !chipsets[m] {
		usable := slices.Sorted(maps.Keys(chipsets))
		usable = slices.DeleteFunc(usable, func(name string) bool { return !chipsets[name] })
		summary, reason := "Machine type not offered", fmt.Sprintf("hypervisor %s does not offer it", k.Client.URI())
		if _, there := chipsets[m]; there {
			summary, reason = "Machine type without PCI", "it has no PCI, which a node's disks and interfaces are plugged into"
		}
		k.addProblem(pathTo("machine"), summary, "%q: %s; write machine = \"q35\", or another that is offered to type %s: %s", m, reason, virtualisation, strings.Join(usable, ", "))
		return nil
	}
	if mib := k.Want.MaxMemoryMiB; uint64(mib)<<20 > host.memory {
		path := pathTo("memory_mib")
		if mib > k.Want.MemoryMiB {
			path = pathTo("max_memory_mib")
		}
		k.addProblem(path, "More memory than the hypervisor has", "hypervisor %s has %d MiB: write less, as it needs some for itself", k.Client.URI(), host.memory>>20)
	}
	if err := k.checkVCPUs(ctx); err != nil {
		return err
	}
	return k.checkCPU(ctx, host)
}

// mostVCPUs is how many a machine can have without an IOMMU (libvirt's qemuValidateDomainDefCpu).
const mostVCPUs = 255

// checkVCPUs finds more vCPUs than the hypervisor gives to such a machine.
func (k hardwareChecker) checkVCPUs(ctx context.Context) error {
	n, path := max(k.Want.VCPUs, k.Want.MaxVCPUs), pathTo("vcpus")
	if n > k.Want.VCPUs {
		path = pathTo("max_vcpus")
	}
	if !k.isNewHere() && k.Was.MaxVCPUs == k.Want.MaxVCPUs {
		return nil
	}
	offered, err := k.askCapabilities(ctx)
	if err != nil || offered == nil || offered.VCPU == nil {
		return err
	}
	most := min(int64(offered.VCPU.Max), mostVCPUs)
	if n <= most {
		return nil
	}
	k.addProblem(path, "More vCPUs than the hypervisor offers", "hypervisor %s gives machine %s of type %s %d at most, not %d: write less", k.Client.URI(), k.Want.Chipset, k.Want.Type, most, n)
	return nil
}

func (k hardwareChecker) checkCPU(ctx context.Context, host *hostFacts) error {
	c, was := k.Want.CPU, k.Was.CPU
	if c.Mode == "" || !k.isNewHere() && c.Mode == was.Mode && samePointed(c.Nested, was.Nested) && c.Model == was.Model {
		return nil
	}
	offered, err := k.askCapabilities(ctx)
	if err != nil || offered == nil || offered.CPU == nil {
		return err
	}
	for _, mode := range offered.CPU.Modes {
		if mode.Name == c.Mode && mode.Supported != "yes" {
			k.addProblem(pathTo("cpu", "mode"), "Processor mode not offered", "hypervisor %s does not offer mode %q to type %s", k.Client.URI(), mode.Name, k.Want.Type)
		}
		named := func(m libvirtxml.DomainCapsCPUModel) bool { return m.Name == c.Model }
		if mode.Name == "custom" && c.Model != "" && !slices.ContainsFunc(mode.Models, named) {
			k.addProblem(pathTo("cpu", "model"), "Unknown processor model", "hypervisor %s does not know %q: see `virsh domcapabilities`", k.Client.URI(), c.Model)
		}
	}
	return k.checkNested(ctx, host, offered)
}

// checkNested finds a guest that is to run virtual machines on a hypervisor that lets none do so.
func (k hardwareChecker) checkNested(ctx context.Context, host *hostFacts, offered *libvirtxml.DomainCaps) error {
	if n := k.Want.CPU.Nested; n == nil || !*n {
		return nil
	}
	features, err := k.Cache.askProcessorFeatures(ctx, k.Client, offered)
	if err == nil && !slices.Contains(features, host.nestedFeature) {
		k.addProblem(pathTo("cpu", "nested"), "No nested virtualisation", "hypervisor %s does not offer %s to its guests: load its kvm module with nested=1, or leave out nested", k.Client.URI(), host.nestedFeature)
	}
	return err
}

func (k hardwareChecker) checkFirmware(ctx context.Context) error {
	f := k.Want.Firmware
	if f == "" || f == "bios" || !k.isNewHere() && k.Was.Firmware == f {
		return nil
	}
	offered, err := k.askCapabilities(ctx)
	if err != nil || offered == nil || offered.OS == nil {
		return err
	}
	if !hasValue(offered.OS.Enums, "firmware", "efi") {
		k.addProblem(pathTo("firmware"), "No UEFI firmware", "hypervisor %s has no UEFI firmware for machine %s: install one there (Debian: ovmf, Fedora: edk2-ovmf), or write firmware = \"bios\"", k.Client.URI(), k.Want.Chipset)
		return nil
	}
	if f == "uefi-secure" && (offered.OS.Loader == nil || !hasValue(offered.OS.Loader.Enums, "secure", "yes")) {
		k.addProblem(pathTo("firmware"), "No Secure Boot", "hypervisor %s has no UEFI firmware with Secure Boot for machine %s: install one there, or write firmware = \"uefi\"", k.Client.URI(), k.Want.Chipset)
	}
	if k.Fresh || k.Was.Firmware == "bios" || k.Was.Firmware == f {
		return nil
	}
	err = k.Client.CanResetStore(ctx)
	if errors.Is(err, hypervisor.ErrNoStoreReset) {
		k.addProblem(pathTo("firmware"), "Variables of another firmware", "%q needs other UEFI variables than the node has, and %v: leave firmware as it is, or have the node replaced (-replace)", f, err)
		return nil
	}
	return err
}

// hasValue says whether one of a hypervisor's lists of what it offers has a value.
func hasValue(enums []libvirtxml.DomainCapsEnum, name, value string) bool {
	return slices.ContainsFunc(enums, func(e libvirtxml.DomainCapsEnum) bool { return e.Name == name && slices.Contains(e.Values, value) })
}
