package node

import (
	"context"
	"maps"
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// build is a node with every name resolved on its hypervisor: what is to be made there, and nothing made yet.
type build struct {
	machine *machine.Machine
	// volumes are the node's own, in the order of the machine's disks.
	volumes      []ownVolume
	reservations []reservation
	filters      []filter
	// rewrite are volumes that are there and whose content is to be written anew.
	rewrite []ownVolume
}

// reservation is an address that a network's DHCP keeps for the node.
type reservation struct {
	network string
	host    hypervisor.DHCPHost
}

func (b *build) filterNames() []string {
	var names []string
	for _, f := range b.filters {
		names = append(names, f.name)
	}
	return names
}

// resolver turns a planned node into a build. Answers about pools and images are shared by all nodes.
type resolver struct {
	client *hypervisor.Client
	facts  *facts
	v      *version
	// existing is what the machine is now; nil for one that is to be made. Its disks stay where they are, so
	// nothing is asked about the images that they were made of.
	existing *machine.Machine
	// lost are its disks whose volumes are gone.
	lost map[string]bool
}

// had finds a disk of the machine as it is; nil where there is none.
func (r *resolver) had(key string) *machine.Disk {
	if r.existing == nil {
		return nil
	}
	return r.existing.Disk(key)
}

// build resolves a node. The UUID is the domain's, made up by the caller for a new one.
func (r *resolver) build(ctx context.Context, uuid string) (*build, error) {
	v := r.v
	m := &machine.Machine{
		Name: v.Name.ValueString(), UUID: uuid, Type: v.Type.ValueString(),
		Memory: v.MemoryMiB.ValueInt64(), MaxMemory: v.MaxMemoryMiB.ValueInt64(), VCPUs: v.VCPUs.ValueInt64(), MaxVCPUs: v.MaxVCPUs.ValueInt64(),
		Chipset: v.Machine.ValueString(), Firmware: v.Firmware.ValueString(), Graphics: v.Graphics.ValueString(),
		GuestAgent: v.GuestAgent.ValueBool(), RNG: v.RNG.ValueBool(),
	}
	if c := v.parts.Console; c != nil {
		m.Console = machine.Console{Type: c.Type.ValueString(), LogFile: c.LogFile.ValueString()}
	}
	m.Boot.Order = defaultOrder(v.Root != nil)
	if b := v.parts.Boot; b != nil {
		m.Boot = machine.Boot{Order: texts(b.Order), Kernel: b.Kernel.ValueString(), Initrd: b.Initrd.ValueString(), Cmdline: b.Cmdline.ValueString()}
	}
	b := &build{machine: m}
	steps := []func(context.Context, *build) error{r.cpu, r.root, r.disks, r.interfaces, r.seed, r.ignition}
	for _, step := range steps {
		if err := step(ctx, b); err != nil {
			return nil, err
		}
	}
	m.Mark = r.mark(b)
	return b, nil
}

func (r *resolver) cpu(ctx context.Context, b *build) error {
	c := r.v.parts.CPU
	if c == nil {
		return nil
	}
	b.machine.CPU = machine.CPU{Mode: c.Mode.ValueString(), Model: c.Model.ValueString(), Nested: c.Nested.ValueBoolPointer()}
	if b.machine.CPU.Nested != nil {
		host, err := r.facts.host(ctx, r.client)
		if err != nil {
			return err
		}
		b.machine.CPU.Feature = host.nestedFeature
	}
	return nil
}

// interfaces adds the interfaces with their reservations and filters.
func (r *resolver) interfaces(ctx context.Context, b *build) error {
	for _, i := range r.v.parts.Interfaces {
		x := machine.Interface{
			MAC: canonicalMAC(i.MAC.ValueString()), Bridge: i.Bridge.ValueString(), Model: i.Model.ValueString(), MTU: i.MTU.ValueInt64(),
		}
		if ref := i.Network.ValueString(); ref != "" {
			name, err := r.facts.networkName(ctx, r.client, ref)
			if err != nil {
				return err
			}
			x.Network = name
			b.reservations = append(b.reservations, reservationsOf(&i, name)...)
		}
		if i.PortSecurity.ValueBool() {
			f := antiSpoofing(r.v.Name.ValueString(), x.MAC, &i)
			x.Filter = f.name
			b.filters = append(b.filters, f)
		}
		b.machine.Interfaces = append(b.machine.Interfaces, x)
	}
	return nil
}

// reservationsOf are the addresses that an interface has reserved on its network.
func reservationsOf(i *interfaceModel, network string) []reservation {
	var all []reservation
	if ip, err := netip.ParseAddr(i.IP.ValueString()); err == nil {
		all = append(all, reservation{network, hypervisor.DHCPHost{MAC: canonicalMAC(i.MAC.ValueString()), IP: ip, Name: i.Hostname.ValueString()}})
	}
	if ip, err := netip.ParseAddr(i.IPv6.ValueString()); err == nil {
		// On IPv6 a guest names itself by an identifier that nobody knows beforehand, so its name must do.
		all = append(all, reservation{network, hypervisor.DHCPHost{IP: ip, Name: i.Hostname.ValueString()}})
	}
	return all
}

// mark is what the domain's metadata say about the node.
func (r *resolver) mark(b *build) machine.Mark {
	k := machine.Mark{Role: r.v.Role.ValueString(), Butane: known(r.v.Butane), Settings: r.v.settings()}
	if r.existing != nil {
		k.Store = r.existing.Mark.Store
	}
	labels := labelsOf(&r.v.model)
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		k.Labels = append(k.Labels, machine.MarkedLabel{Name: name, Value: labels[name]})
	}
	for _, d := range b.machine.Disks {
		marked := machine.MarkedDisk{Key: d.Key}
		if r.had(d.Key) != nil && !known(r.v.parts.Disks[d.Key].Volume) {
			marked = r.existing.Mark.Disk(d.Key)
			marked.Key, marked.Leaving = d.Key, false
		}
		k.Disks = append(k.Disks, marked)
	}
	for _, own := range slices.Concat(b.volumes, b.rewrite) {
		i := slices.IndexFunc(k.Disks, func(d machine.MarkedDisk) bool { return d.Key == own.key })
		if i < 0 {
			k.Disks = append(k.Disks, machine.MarkedDisk{Key: own.key})
			i = len(k.Disks) - 1
		}
		k.Disks[i].Pool, k.Disks[i].Volume = own.pool.Name(), own.xml.Name
	}
	for _, i := range r.v.parts.Interfaces {
		k.Interfaces = append(k.Interfaces, markInterface(&i))
	}
	return k
}
