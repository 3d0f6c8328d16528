package machine

import (
	"context"
	"maps"
	"slices"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// blueprint is a Spec with every name resolved on its hypervisor: what is to be there, and nothing made yet.
type blueprint struct {
	machine *Machine
	// volumes are the machine's own that are to be made, in the order of its disks.
	volumes      []ownVolume
	reservations []Reservation
	filters      []*libvirtxml.NWFilter
	ports        []Port
	// rewrite are volumes that are there and whose content is to be written anew.
	rewrite []ownVolume
}

// Reservation is an address that a network's DHCP keeps for the machine.
type Reservation struct {
	Network string
	Host    hypervisor.DHCPHost
}

func (b *blueprint) listFilterNames() []string {
	var names []string
	for _, f := range b.filters {
		names = append(names, f.Name)
	}
	return names
}

// resolver makes a blueprint of a Spec. Answers about pools and images are shared by all machines.
type resolver struct {
	client *hypervisor.Client
	cache  *HypervisorCache
	spec   *Spec
	owner  owner.Mark
	// northbounds finds the databases of the networks of OVN.
	northbounds Northbounds
	// existing is the machine as it is; nil for one that is to be made. Its disks stay where they are, so nothing is asked
	// about the images that they were made of.
	existing *Machine
	// lost are its further disks whose volumes are gone.
	lost map[string]bool
}

// existingDisk finds a disk of the machine as it is; nil where there is none, or one whose volume a change was to make that did not end: whose the volume
// of that name is has to be asked.
func (r *resolver) existingDisk(key string) *Disk {
	if r.existing == nil || r.existing.Mark.Disk(key).Making {
		return nil
	}
	return r.existing.Disk(key)
}

// resolveMachine resolves a machine. The UUID is the domain's, made up by the caller for a new one.
func (r *resolver) resolveMachine(ctx context.Context, uuid string) (*blueprint, error) {
	s := r.spec
	m := &Machine{Name: s.Name, UUID: uuid, Hardware: s.Hardware}
	if m.CPU.Nested != nil {
		host, err := r.cache.askHost(ctx, r.client)
		if err != nil {
			return nil, err
		}
		m.CPU.Feature = host.nestedFeature
	}
	if err := r.locateHostDevices(ctx, m); err != nil {
		return nil, err
	}
	b := &blueprint{machine: m}
	for _, step := range []func(context.Context, *blueprint) error{r.addRoot, r.addDisks, r.addInterfaces, r.addSeed, r.addIgnition, r.addMedium} {
		if err := step(ctx, b); err != nil {
			return nil, err
		}
	}
	m.Mark = r.buildMark(b)
	return b, nil
}

// addInterfaces adds the interfaces with their reservations and filters.
func (r *resolver) addInterfaces(ctx context.Context, b *blueprint) error {
	for n := range r.spec.Interfaces {
		i := &r.spec.Interfaces[n]
		x := Interface{MAC: i.MAC, Bridge: i.Bridge, Model: i.Model, MTU: i.MTU, Bandwidth: i.Bandwidth, Wiring: i.Wiring}
		if i.Network != "" {
			name, err := r.cache.NetworkName(ctx, r.client, i.Network)
			if err != nil {
				return err
			}
			x.Network = name
			b.reservations = append(b.reservations, i.networkReservations(name)...)
		}
		if err := r.addPort(ctx, b, n, &x); err != nil {
			return err
		}
		if err := r.addSecurity(ctx, b, i, &x); err != nil {
			return err
		}
		if i.PortSecurity && i.OVNNetwork == "" {
			f := buildSpoofFilter(r.spec.Name, b.machine.UUID, i)
			if x.Filter != "" {
				prependReference(f, x.Filter)
			}
			x.Filter = f.Name
			b.filters = append(b.filters, f)
		}
		b.machine.Interfaces = append(b.machine.Interfaces, x)
	}
	return nil
}

// networkReservations are the addresses that an interface has reserved on its network.
func (i *InterfaceSpec) networkReservations(network string) []Reservation {
	var all []Reservation
	if i.IP.IsValid() {
		all = append(all, Reservation{network, hypervisor.DHCPHost{MAC: i.MAC, IP: i.IP, Name: i.Hostname}})
	}
	if i.IPv6.IsValid() {
		// On IPv6 a guest names itself by an identifier that nobody knows beforehand, so its name must do.
		all = append(all, Reservation{network, hypervisor.DHCPHost{IP: i.IPv6, Name: i.Hostname}})
	}
	return all
}

// buildMark returns what the domain's metadata say about the machine.
func (r *resolver) buildMark(b *blueprint) Mark {
	s := r.spec
	k := Mark{Owner: r.owner.ID, Workspace: r.owner.Workspace, Role: s.Role, Butane: s.Butane != "", Settings: &s.Settings}
	if r.existing != nil {
		k.Store, k.Patched = r.existing.Mark.Store, r.existing.Mark.Patched
	}
	for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
		k.Labels = append(k.Labels, MarkedLabel{Name: name, Value: s.Labels[name]})
	}
	for _, d := range b.machine.Disks {
		marked := MarkedDisk{Key: d.Key, Attached: d.Key == Root && s.isAttached(Root)}
		if r.existingDisk(d.Key) != nil && !s.isAttached(d.Key) {
			marked = r.existing.Mark.Disk(d.Key)
			marked.Key, marked.Leaving = d.Key, false
		}
		k.Disks = append(k.Disks, marked)
	}
	r.markCDROM(&k)
	for _, own := range slices.Concat(b.volumes, b.rewrite) {
		i := slices.IndexFunc(k.Disks, func(d MarkedDisk) bool { return d.Key == own.key })
		if i < 0 {
			k.Disks = append(k.Disks, MarkedDisk{Key: own.key})
			i = len(k.Disks) - 1
		}
		k.Disks[i].Pool, k.Disks[i].Volume = own.pool.Name(), own.xml.Name
	}
	for n := range s.Interfaces {
		k.Interfaces = append(k.Interfaces, s.Interfaces[n].buildMark(s.Name))
	}
	return k
}
