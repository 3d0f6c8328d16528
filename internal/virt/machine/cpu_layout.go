package machine

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/cpuset"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Topology is how the guest sees its vCPUs laid out; zero where nobody says.
type Topology struct {
	Sockets int64 `attr:"sockets" restart:"yes"`
	Dies    int64 `attr:"dies" restart:"yes"`
	Cores   int64 `attr:"cores" restart:"yes"`
	Threads int64 `attr:"threads" restart:"yes"`
}

// Complete returns a topology of which some is said with one of each that is not.
func (t Topology) Complete() Topology {
	if t == (Topology{}) {
		return t
	}
	return Topology{Sockets: max(t.Sockets, 1), Dies: max(t.Dies, 1), Cores: max(t.Cores, 1), Threads: max(t.Threads, 1)}
}

// Cell is a part of the guest's memory that some of its vCPUs are near to.
type Cell struct {
	// CPUs are vCPUs, as libvirt spells sets.
	CPUs      string `attr:"cpus"`
	MemoryMiB int64  `attr:"memory_mib"`
	// HostNodes are the hypervisor's nodes that its memory is taken from; "" for any.
	HostNodes string `attr:"host_nodes"`
}

// applyTopology leaves clusters, which no processor of this architecture has, to whoever wrote them.
func applyTopology(d *libvirtxml.Domain, was, want Topology) {
	if was == want.Complete() {
		return
	}
	if d.CPU == nil {
		d.CPU = &libvirtxml.DomainCPU{}
	}
	d.CPU.Topology = nil
	if want = want.Complete(); want != (Topology{}) {
		d.CPU.Topology = &libvirtxml.DomainCPUTopology{Sockets: int(want.Sockets), Dies: int(want.Dies), Cores: int(want.Cores), Threads: int(want.Threads)}
	}
}

func readTopology(d *libvirtxml.Domain) Topology {
	if d.CPU == nil || d.CPU.Topology == nil {
		return Topology{}
	}
	t := d.CPU.Topology
	return Topology{Sockets: int64(t.Sockets), Dies: int64(t.Dies), Cores: int64(t.Cores), Threads: int64(t.Threads)}.Complete()
}

func readPinning(d *libvirtxml.Domain) map[string]string {
	if d.CPUTune == nil || len(d.CPUTune.VCPUPin) == 0 {
		return nil
	}
	all := map[string]string{}
	for _, p := range d.CPUTune.VCPUPin {
		all[strconv.FormatUint(uint64(p.VCPU), 10)] = p.CPUSet
	}
	return all
}

// dropFreePins returns the pins of a running machine without those to all processors that are online, by which libvirt says that a vCPU is pinned no
// more. Such a pin has more of them where one went offline since.
func dropFreePins(pins map[string]string, processors []int) map[string]string {
	kept := maps.Clone(pins)
	maps.DeleteFunc(kept, func(_, text string) bool {
		set, err := cpuset.Parse(text)
		return err == nil && !slices.ContainsFunc(processors, func(n int) bool { return !slices.Contains(set, n) })
	})
	return kept
}

// readShownPinning returns a machine's pins, with those of what runs where somebody changed them there alone.
func (s *Store) readShownPinning(ctx context.Context, d *hypervisor.Domain, pins, known map[string]string) (map[string]string, error) {
	if !d.Active() || !maps.Equal(pins, known) {
		return pins, nil
	}
	live := readPinning(d.Live)
	if maps.Equal(live, pins) {
		return pins, nil
	}
	processors, err := s.client.Processors(ctx)
	if err != nil {
		return nil, err
	}
	if live = dropFreePins(live, processors); maps.Equal(live, pins) {
		return pins, nil
	}
	return live, nil
}

func applyPinning(d *libvirtxml.Domain, was, want map[string]string) {
	if maps.Equal(was, want) {
		return
	}
	if d.CPUTune == nil {
		d.CPUTune = &libvirtxml.DomainCPUTune{}
	}
	d.CPUTune.VCPUPin = nil
	for _, vcpu := range slices.Sorted(maps.Keys(want)) {
		n, _ := strconv.ParseUint(vcpu, 10, 32) // the schema has checked it
		d.CPUTune.VCPUPin = append(d.CPUTune.VCPUPin, libvirtxml.DomainCPUTuneVCPUPin{VCPU: uint(n), CPUSet: want[vcpu]})
	}
	if reflect.ValueOf(*d.CPUTune).IsZero() {
		d.CPUTune = nil
	}
}

func readCells(d *libvirtxml.Domain) []Cell {
	if d.CPU == nil || d.CPU.Numa == nil {
		return nil
	}
	var all []Cell
	for n, x := range d.CPU.Numa.Cell {
		c := Cell{CPUs: x.CPUs, MemoryMiB: toMebibytes(x.Memory, x.Unit)}
		if d.NUMATune != nil {
			for _, m := range d.NUMATune.MemNodes {
				if int(m.CellID) == n {
					c.HostNodes = m.Nodeset
				}
			}
		}
		all = append(all, c)
	}
	return all
}

func applyCells(d *libvirtxml.Domain, was, want []Cell) {
	if slices.Equal(was, want) {
		return
	}
	if d.CPU == nil {
		d.CPU = &libvirtxml.DomainCPU{}
	}
	d.CPU.Numa = nil
	if d.NUMATune != nil {
		if d.NUMATune.MemNodes = nil; d.NUMATune.Memory == nil {
			d.NUMATune = nil
		}
	}
	for n, c := range want {
		id := uint(n)
		if d.CPU.Numa == nil {
			d.CPU.Numa = &libvirtxml.DomainNuma{}
		}
		d.CPU.Numa.Cell = append(d.CPU.Numa.Cell, libvirtxml.DomainCell{ID: &id, CPUs: c.CPUs, Memory: uint(c.MemoryMiB), Unit: "MiB"})
		if c.HostNodes == "" {
			continue
		}
		if d.NUMATune == nil {
			d.NUMATune = &libvirtxml.DomainNUMATune{}
		}
		d.NUMATune.MemNodes = append(d.NUMATune.MemNodes, libvirtxml.DomainNUMATuneMemNode{CellID: id, Mode: "strict", Nodeset: c.HostNodes})
	}
}

// validateLayout says what of the layout of vCPUs and memory contradicts their numbers.
func (s *Spec) validateLayout() []service.Problem {
	var all []service.Problem
	problem := func(path []any, summary, format string, args ...any) {
		all = append(all, service.Problemf(path, summary, format, args...))
	}
	t := s.CPU.Topology.Complete()
	if n := t.Sockets * t.Dies * t.Cores * t.Threads; n != 0 && s.MaxVCPUs != 0 && n != s.MaxVCPUs && !s.Unknown.Has("cpu", "topology") {
		problem(pathTo("cpu", "topology"), "Another number of vCPUs", "%d sockets, %d dies, %d cores and %d threads are %d vCPUs, and max_vcpus is %d: write as many, or leave out a part", t.Sockets, t.Dies, t.Cores, t.Threads, n, s.MaxVCPUs)
	}
	if len(s.CPU.Pinning) > 0 && s.Type == "qemu" {
		problem(pathTo("cpu", "pinning"), "Pinning of emulated vCPUs", "libvirt starts no machine of type \"qemu\" whose vCPUs are pinned, as QEMU may emulate several in one thread: leave out pinning, or write type = \"kvm\"")
	}
	for _, vcpu := range slices.Sorted(maps.Keys(s.CPU.Pinning)) {
		if n, err := strconv.ParseInt(vcpu, 10, 32); err == nil && s.MaxVCPUs != 0 && n >= s.MaxVCPUs {
			problem(pathTo("cpu", "pinning", service.Key(vcpu)), "Pinning of no vCPU", "the node has vCPUs 0 to %d: write one of them", s.MaxVCPUs-1)
		}
	}
	if len(s.NUMA) == 0 {
		return all
	}
	memory, used := int64(0), map[int]int{}
	for n, c := range s.NUMA {
		if memory += c.MemoryMiB; c.MemoryMiB == 0 {
			return all // it is known later
		}
		vcpus, _ := cpuset.Parse(c.CPUs)
		for _, vcpu := range vcpus {
			if other, twice := used[vcpu]; twice {
				problem(pathTo("numa", n, "cpus"), "vCPU in two cells", "vCPU %d is in cell %d: write each once", vcpu, other)
			}
			if used[vcpu] = n; s.MaxVCPUs != 0 && int64(vcpu) >= s.MaxVCPUs {
				problem(pathTo("numa", n, "cpus"), "Cell of no vCPU", "the node has vCPUs 0 to %d: write some of them", s.MaxVCPUs-1)
			}
		}
	}
	if s.MaxMemoryMiB != 0 && memory != s.MaxMemoryMiB {
		problem(pathTo("numa"), "Cells of another memory", "the cells have %d MiB, and max_memory_mib is %d: libvirt takes their sum, so write as much", memory, s.MaxMemoryMiB)
	}
	return all
}

// checkPinning finds processors that the hypervisor does not have.
func (k hardwareChecker) checkPinning(ctx context.Context) error {
	if len(k.Want.CPU.Pinning) == 0 || !k.isNewHere() && maps.Equal(k.Want.CPU.Pinning, k.Was.CPU.Pinning) {
		return nil
	}
	processors, err := k.Client.Processors(ctx)
	if err != nil {
		return err
	}
	lacks := func(n int) bool { return !slices.Contains(processors, n) }
	for _, vcpu := range slices.Sorted(maps.Keys(k.Want.CPU.Pinning)) {
		set, err := cpuset.Parse(k.Want.CPU.Pinning[vcpu])
		if err == nil && slices.ContainsFunc(set, lacks) {
			k.addProblem(pathTo("cpu", "pinning", service.Key(vcpu)), "No such processor", "hypervisor %s has the processors %s: write some of them", k.Client.URI(), cpuset.Format(processors))
		}
	}
	return nil
}

// pinVCPUs pins the vCPUs of a running machine, and lets those run anywhere that are not pinned any more.
func (u *update) pinVCPUs(ctx context.Context) error {
	was, live, want := u.existing.CPU.Pinning, readPinning(u.d.Live), u.machine.CPU.Pinning
	if maps.Equal(was, want) && maps.Equal(live, want) {
		return nil
	}
	processors, err := u.c.Processors(ctx)
	if err != nil {
		return err
	}
	live = dropFreePins(live, processors)
	all := map[string]string{}
	for _, pins := range []map[string]string{was, live, want} {
		maps.Copy(all, pins)
	}
	for _, vcpu := range slices.Sorted(maps.Keys(all)) {
		if was[vcpu] == want[vcpu] && live[vcpu] == want[vcpu] {
			continue
		}
		n, _ := strconv.ParseUint(vcpu, 10, 32)
		set, pinned := want[vcpu]
		if !pinned {
			set = cpuset.Format(processors)
		}
		cpus, err := cpuset.Parse(set)
		if err == nil {
			err = u.c.PinVCPU(ctx, u.d.UUID, uint32(n), cpus, true)
		}
		if err != nil {
			return service.At(pathTo("cpu", "pinning", service.Key(vcpu)), err)
		}
	}
	return u.forgetPins(ctx)
}

// forgetPins takes out of the configuration what libvirt keeps there of vCPUs that may run anywhere again: a pin to all processors.
func (u *update) forgetPins(ctx context.Context) error {
	d, err := u.c.Domain(ctx, u.d.UUID)
	if err != nil {
		return err
	}
	pins := readPinning(d.Config)
	if maps.Equal(pins, u.machine.CPU.Pinning) {
		return nil
	}
	applyPinning(d.Config, pins, u.machine.CPU.Pinning)
	return u.c.DefineDomain(ctx, d.Config)
}
