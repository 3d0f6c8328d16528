package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// Checker finds what can be known about a planned machine only by asking its hypervisor.
type Checker struct {
	Client *hypervisor.Client
	Cache  *HypervisorCache
	// Want is planned; Was is what is there, be it replaced, and empty where there is nothing.
	Want, Was *Spec
	// Fresh is set for a machine that is to be made.
	Fresh bool
	// From is the hypervisor that the machine comes from, as it is; nil for one that stays where it is. Was is then what it is on arrival.
	From *hypervisor.Client
	// Plan is what the plan holds, and Hypervisors are all that it knows, by their names.
	Plan        plan.View
	Hypervisors map[string]*hypervisor.Client
	// Northbounds finds the databases of the networks of OVN.
	Northbounds Northbounds
	// Owner is the mark of the planned machine: machines with a mark of the same workspace may give up addresses in the same plan.
	Owner owner.Mark
	// Run is the one that plans it.
	Run      *owner.Run
	problems []service.Problem
	// namesake is the machine that has the name already. Its addresses are no problems of their own: they follow from the name.
	namesake *Machine
}

func (k *Checker) addProblem(path []any, summary, format string, args ...any) {
	k.problems = append(k.problems, service.Problemf(path, summary, format, args...))
}

// isNewHere says whether the machine is not on the hypervisor yet: it is made there, or comes from another one.
func (k *Checker) isNewHere() bool { return k.Fresh || k.From != nil }

// Check returns what is wrong. The error is a hypervisor that does not answer.
func (k *Checker) Check(ctx context.Context) ([]service.Problem, error) {
	for _, check := range []func(context.Context) error{k.checkName, k.checkHardware, k.checkPinning, k.checkHugepages, k.checkFirmware, k.checkTPM, k.checkConsole, k.checkFilesystems, k.checkHostDevices, k.checkStorage, k.checkCDROM, k.checkNetworks, k.checkPorts, k.checkBridges, k.checkDirect, k.checkMACs, k.checkRemotes, k.checkTurn, k.checkLayers, k.checkMove} {
		if err := check(ctx); err != nil {
			return nil, err
		}
	}
	return k.problems, nil
}

// checkName finds a domain that somebody else has called so, and where a machine moves to, one of its UUID that it did not leave there.
func (k *Checker) checkName(ctx context.Context) error {
	if k.From == nil && (!k.Fresh || k.Was.Name == k.Want.Name && k.Was.Hypervisor == k.Want.Hypervisor) {
		return nil
	}
	all, err := k.Cache.listDomains(ctx, k.Client)
	if err != nil {
		return err
	}
	for _, d := range all {
		m := Read(d.Config)
		if k.From != nil && d.UUID == k.Was.UUID && !m.Mark.isMoving() {
			k.addProblem(pathTo("hypervisor"), "Domain of its UUID there", "%v", newStrangerError(d, plan.NameHypervisor(k.Want.Hypervisor)))
		}
		if d.Name == k.Want.Name && !k.Run.LeftBehind(m.Mark.ownerMark()) && !k.Cache.isNodeInState(d.UUID) {
			k.namesake = m
			k.addProblem(pathTo("name"), "Name taken", "the hypervisor has a domain %q already: choose another name, or take it over with `terraform import ADDRESS %s`", d.Name, d.UUID)
		}
	}
	return nil
}

func (k *Checker) checkHardware(ctx context.Context) error {
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
func (k *Checker) checkVCPUs(ctx context.Context) error {
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

// askCapabilities asks what the hypervisor offers to such a machine; nil where that is not known yet.
func (k *Checker) askCapabilities(ctx context.Context) (*libvirtxml.DomainCaps, error) {
	if k.Want.Type == "" || k.Want.Chipset == "" {
		return nil, nil
	}
	return k.Cache.askCapabilities(ctx, k.Client, k.Want.Type, k.Want.Chipset)
}

func (k *Checker) checkCPU(ctx context.Context, host *hostFacts) error {
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
func (k *Checker) checkNested(ctx context.Context, host *hostFacts, offered *libvirtxml.DomainCaps) error {
	if n := k.Want.CPU.Nested; n == nil || !*n {
		return nil
	}
	features, err := k.Cache.askProcessorFeatures(ctx, k.Client, offered)
	if err == nil && !slices.Contains(features, host.nestedFeature) {
		k.addProblem(pathTo("cpu", "nested"), "No nested virtualisation", "hypervisor %s does not offer %s to its guests: load its kvm module with nested=1, or leave out nested", k.Client.URI(), host.nestedFeature)
	}
	return err
}

// hasValue says whether one of a hypervisor's lists of what it offers has a value.
func hasValue(enums []libvirtxml.DomainCapsEnum, name, value string) bool {
	return slices.ContainsFunc(enums, func(e libvirtxml.DomainCapsEnum) bool { return e.Name == name && slices.Contains(e.Values, value) })
}

func (k *Checker) checkFirmware(ctx context.Context) error {
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

// checkStorage finds pools, images and volumes that do not exist and that nothing in the plan makes.
func (k *Checker) checkStorage(ctx context.Context) error {
	pool := func(ref string, sizeGiB int64, disk []any) error {
		if ref == "" {
			return nil
		}
		path := pathBelow(disk, "pool")
		found, err := k.Cache.Pool(ctx, k.Client, ref)
		if err == nil && sizeGiB != 0 && !storage.MakesDisks(found.Type()) {
			k.addProblem(path, "Unsuitable storage pool", "storage pool %q of hypervisor %s is of type %q, in which libvirt makes no disks that a node could have: write one of files, or of type \"logical\" or \"zfs\"", found.Name(), k.Client.URI(), found.Type())
		} else if err == nil {
			k.problems = append(k.problems, storage.WarnIfLargerThanPool(found, pathBelow(disk, "size_gib"), sizeGiB)...)
		}
		if !IsMissing(err) {
			return err
		}
		if !storage.PlansPool(k.Plan, k.Want.Hypervisor, ref) {
			k.addProblem(path, "Unknown storage pool", "hypervisor %s has no storage pool %q: make it with virtcluster_storage_pool and refer to that resource", k.Client.URI(), ref)
		}
		return nil
	}
	if r := k.Want.Root; r != nil && k.isNewHere() {
		if err := pool(r.Pool, r.SizeGiB, pathTo("root_disk")); err != nil {
			return err
		}
		if err := k.checkImage(ctx, r); err != nil {
			return err
		}
		if err := k.checkVolume(ctx, DiskSpec{Volume: r.Volume, Format: r.Format, DiskTuning: r.DiskTuning}, pathTo("root_disk")); err != nil {
			return err
		}
	}
	for key, d := range k.Want.Disks {
		if was, existed := k.Was.Disks[key]; existed && was.Volume == d.Volume && was.Shareable == d.Shareable && !k.isNewHere() {
			continue
		}
		here := pathTo("disks", service.Key(key))
		if err := pool(d.Pool, d.SizeGiB, here); err != nil {
			return err
		}
		if err := k.checkVolume(ctx, d, here); err != nil {
			return err
		}
	}
	return nil
}

// checkVolume finds a volume that is to be attached, where one is, and does not exist or cannot be shared.
func (k *Checker) checkVolume(ctx context.Context, d DiskSpec, disk []any) error {
	ref, shared, path := d.Volume, d.Shareable, pathBelow(disk, "volume")
	if ref == "" {
		return nil
	}
	v, err := k.Cache.Volume(ctx, k.Client, ref)
	if err == nil && shared && cmp.Or(d.Format, formatOrRaw(v.Format())) != "raw" {
		k.addProblem(path, "Shared volume with a format", "volume %s is %s, of which only one machine at a time may write: write a volume with format = \"raw\", or leave out shareable", v.Name(), v.Format())
	}
	if err == nil && d.Format == "" && slices.Contains(formatsToSay, v.Format()) && !k.Want.Unknown.Has(pathBelow(disk, "format")...) {
		k.addProblem(pathBelow(disk, "format"), "Format to be said", "what is in volume %s looks like %s, and anybody who could write to it may have made it so: write format = %q to have the guest see the disk that is in it, or format = \"raw\" for the file as it is", v.Name(), v.Format(), v.Format())
	}
	if IsMissing(err) {
		return k.checkDevice(ctx, ref, shared, path)
	}
	if err == nil && v.XML.Type == "network" {
		k.addProblem(path, "Volume without a path", "volume %s of storage pool %q is no file and no device of hypervisor %s, and a node can have only these: write another one", v.Name(), v.Pool, k.Client.URI())
	}
	if err == nil && v.XML.Type == "block" {
		return k.checkDeviceUsers(ctx, ref, shared, path)
	}
	return err
}

func (k *Checker) checkImage(ctx context.Context, r *RootSpec) error {
	if r.Image == "" {
		return nil
	}
	image, err := k.Cache.Volume(ctx, k.Client, r.Image)
	if IsMissing(err) {
		k.addProblem(pathTo("root_disk", "image"), "Unknown image", "hypervisor %s has no volume %s in a storage pool that is started: write the id of a virtcluster_image", k.Client.URI(), r.Image)
		return nil
	}
	if err != nil {
		return err
	}
	if gib := r.SizeGiB; gib != 0 && uint64(gib)<<30 < image.Capacity() {
		k.addProblem(pathTo("root_disk", "size_gib"), "Smaller than the image", "image %s has %.2f GiB: write at least %d", image.Name(), float64(image.Capacity())/(1<<30), image.CapacityGiB())
	}
	return nil
}
