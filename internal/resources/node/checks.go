package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// checks is what can be known about a planned node only by asking its hypervisor.
type checks struct {
	n        *node
	c        *hypervisor.Client
	v, prior *version
	// fresh is set for a node that is to be made.
	fresh    bool
	problems []service.Problem
}

func (k *checks) problem(path []any, summary, format string, args ...any) {
	k.problems = append(k.problems, service.Problemf(path, summary, format, args...))
}

// run makes all checks. Its error is a hypervisor that does not answer.
func (k *checks) run(ctx context.Context) error {
	for _, check := range []func(context.Context) error{k.name, k.hardware, k.layout, k.firmware, k.storage, k.networks, k.bridges, k.macs} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// name finds a domain that somebody else has called so.
func (k *checks) name(ctx context.Context) error {
	if !k.fresh || k.prior.Name.Equal(k.v.Name) && k.prior.Hypervisor.Equal(k.v.Hypervisor) {
		return nil
	}
	all, err := k.n.facts.domains(ctx, k.c)
	if err != nil {
		return err
	}
	for _, d := range all {
		if m := machine.Read(d.Config); d.Name == k.v.Name.ValueString() && !m.Mark.Creating && !k.n.facts.holds(d.UUID) {
			k.problem(at("name"), "Name taken", "the hypervisor has a domain %q already: choose another name, or take it over with `terraform import ADDRESS %s`", d.Name, d.UUID)
		}
	}
	return nil
}

func (k *checks) hardware(ctx context.Context) error {
	host, err := k.n.facts.host(ctx, k.c)
	if err != nil {
		return err
	}
	virtualisation := k.v.Type.ValueString()
	chipsets, offered := host.chipsets[virtualisation]
	if !offered && known(k.v.Type) {
		k.problem(at("type"), "Type not offered", "hypervisor %s offers %s: enable hardware virtualisation in its firmware, or write type = \"qemu\", which is slow", k.c.URI(), strings.Join(slices.Sorted(maps.Keys(host.chipsets)), ", "))
		return nil
	}
	changed := k.fresh || !k.prior.Machine.Equal(k.v.Machine) || !k.prior.Type.Equal(k.v.Type)
	if m := k.v.Machine.ValueString(); known(k.v.Machine) && known(k.v.Type) && changed && !chipsets[m] {
		usable := slices.Sorted(maps.Keys(chipsets))
		usable = slices.DeleteFunc(usable, func(name string) bool { return !chipsets[name] })
		summary, reason := "Machine type not offered", fmt.Sprintf("hypervisor %s does not offer it", k.c.URI())
		if _, there := chipsets[m]; there {
			summary, reason = "Machine type without PCI", "it has no PCI, which a node's disks and interfaces are plugged into"
		}
		k.problem(at("machine"), summary, "%q: %s; write machine = \"q35\", or another that is offered to type %s: %s", m, reason, virtualisation, strings.Join(usable, ", "))
		return nil
	}
	if mib := k.v.MaxMemoryMiB; known(mib) && uint64(mib.ValueInt64())<<20 > host.memory {
		path := at("memory_mib")
		if mib.ValueInt64() > k.v.MemoryMiB.ValueInt64() {
			path = at("max_memory_mib")
		}
		k.problem(path, "More memory than the hypervisor has", "hypervisor %s has %d MiB: write less, as it needs some for itself", k.c.URI(), host.memory>>20)
	}
	return k.cpu(ctx, host)
}

// offers asks what the hypervisor offers to such a machine; nil where that is not known yet.
func (k *checks) offers(ctx context.Context) (*libvirtxml.DomainCaps, error) {
	if !known(k.v.Type) || !known(k.v.Machine) {
		return nil, nil
	}
	return k.n.facts.offers(ctx, k.c, k.v.Type.ValueString(), k.v.Machine.ValueString())
}

func (k *checks) cpu(ctx context.Context, host *hostFacts) error {
	c := k.v.parts.CPU
	if c == nil || !known(c.Mode) || !k.fresh && k.prior.parts.CPU != nil && c.Mode.Equal(k.prior.parts.CPU.Mode) && c.Nested.Equal(k.prior.parts.CPU.Nested) && c.Model.Equal(k.prior.parts.CPU.Model) {
		return nil
	}
	offered, err := k.offers(ctx)
	if err != nil || offered == nil || offered.CPU == nil {
		return err
	}
	for _, mode := range offered.CPU.Modes {
		if mode.Name == c.Mode.ValueString() && mode.Supported != "yes" {
			k.problem(at("cpu", "mode"), "Processor mode not offered", "hypervisor %s does not offer mode %q to type %s", k.c.URI(), mode.Name, k.v.Type.ValueString())
		}
		named := func(m libvirtxml.DomainCapsCPUModel) bool { return m.Name == c.Model.ValueString() }
		if mode.Name == "custom" && known(c.Model) && !slices.ContainsFunc(mode.Models, named) {
			k.problem(at("cpu", "model"), "Unknown processor model", "hypervisor %s does not know %q: see `virsh domcapabilities`", k.c.URI(), c.Model.ValueString())
		}
	}
	return k.nested(ctx, host, offered)
}

// nested finds a guest that is to run virtual machines on a hypervisor that lets none do so.
func (k *checks) nested(ctx context.Context, host *hostFacts, offered *libvirtxml.DomainCaps) error {
	if !k.v.parts.CPU.Nested.ValueBool() {
		return nil
	}
	features, err := k.n.facts.processor(ctx, k.c, offered)
	if err == nil && !slices.Contains(features, host.nestedFeature) {
		k.problem(at("cpu", "nested"), "No nested virtualisation", "hypervisor %s does not offer %s to its guests: load its kvm module with nested=1, or leave out nested", k.c.URI(), host.nestedFeature)
	}
	return err
}

func (k *checks) firmware(ctx context.Context) error {
	f := k.v.Firmware.ValueString()
	if !known(k.v.Firmware) || f == "bios" || !k.fresh && k.prior.Firmware.Equal(k.v.Firmware) {
		return nil
	}
	offered, err := k.offers(ctx)
	if err != nil || offered == nil || offered.OS == nil {
		return err
	}
	has := func(enums []libvirtxml.DomainCapsEnum, name, value string) bool {
		return slices.ContainsFunc(enums, func(e libvirtxml.DomainCapsEnum) bool { return e.Name == name && slices.Contains(e.Values, value) })
	}
	if !has(offered.OS.Enums, "firmware", "efi") {
		k.problem(at("firmware"), "No UEFI firmware", "hypervisor %s has no UEFI firmware for machine %s: install one there (Debian: ovmf, Fedora: edk2-ovmf), or write firmware = \"bios\"", k.c.URI(), k.v.Machine.ValueString())
		return nil
	}
	if f == "uefi-secure" && (offered.OS.Loader == nil || !has(offered.OS.Loader.Enums, "secure", "yes")) {
		k.problem(at("firmware"), "No Secure Boot", "hypervisor %s has no UEFI firmware with Secure Boot for machine %s: install one there, or write firmware = \"uefi\"", k.c.URI(), k.v.Machine.ValueString())
	}
	if k.fresh || k.prior.Firmware.ValueString() == "bios" {
		return nil
	}
	err = k.c.CanResetStore(ctx)
	if errors.Is(err, hypervisor.ErrNoStoreReset) {
		k.problem(at("firmware"), "Variables of another firmware", "%q needs other UEFI variables than the node has, and %v: leave firmware as it is, or have the node replaced (-replace)", f, err)
		return nil
	}
	return err
}

// storage finds pools, images and volumes that do not exist and that nothing in the plan makes.
func (k *checks) storage(ctx context.Context) error {
	pool := func(ref string, path []any) error {
		if ref == "" {
			return nil
		}
		_, err := k.n.facts.pool(ctx, k.c, ref)
		if !isAbsent(err) {
			return err
		}
		if k.n.Fleet.Claims.Holder(planregistry.PoolClaim(k.v.Hypervisor.ValueString(), ref)) == "" {
			k.problem(path, "Unknown storage pool", "hypervisor %s has no storage pool %q: make it with virtcluster_storage_pool and refer to that resource", k.c.URI(), ref)
		}
		return nil
	}
	if r := k.v.Root; r != nil && k.fresh {
		if err := pool(r.Pool.ValueString(), at("root_disk", "pool")); err != nil {
			return err
		}
		if err := k.image(ctx, r); err != nil {
			return err
		}
	}
	for key, d := range k.v.parts.Disks {
		if _, had := k.prior.parts.Disks[key]; had && !k.fresh {
			continue
		}
		here := at("disks", service.Key(key))
		if err := pool(d.Pool.ValueString(), append(here, "pool")); err != nil {
			return err
		}
		if !known(d.Volume) {
			continue
		}
		if _, err := k.n.facts.image(ctx, k.c, d.Volume.ValueString()); isAbsent(err) {
			k.problem(append(here, "volume"), "Unknown volume", "hypervisor %s has no volume %s in a storage pool that is started: write the id of a virtcluster_volume", k.c.URI(), d.Volume.ValueString())
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (k *checks) image(ctx context.Context, r *rootModel) error {
	if !known(r.Image) {
		return nil
	}
	image, err := k.n.facts.image(ctx, k.c, r.Image.ValueString())
	if isAbsent(err) {
		k.problem(at("root_disk", "image"), "Unknown image", "hypervisor %s has no volume %s in a storage pool that is started: write the id of a virtcluster_image", k.c.URI(), r.Image.ValueString())
		return nil
	}
	if err != nil {
		return err
	}
	if gib := r.SizeGiB; known(gib) && uint64(gib.ValueInt64())<<30 < image.Capacity() {
		k.problem(at("root_disk", "size_gib"), "Smaller than the image", "image %s has %.2f GiB: write at least %d", image.Name(), float64(image.Capacity())/(1<<30), ceilGiB(image.Capacity()))
	}
	return nil
}
