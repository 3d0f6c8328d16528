package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// moveChecker finds what keeps a planned machine from moving to another hypervisor.
type moveChecker struct{ *Checker }

// checkMove finds what keeps a machine that comes from another hypervisor from going on as it is here.
func (k moveChecker) checkMove(ctx context.Context) error {
	if k.From == nil {
		return nil
	}
	same, err := k.isSameMachine(ctx)
	if err != nil || same {
		return err
	}
	d, err := k.From.Domain(ctx, k.Was.UUID)
	if hypervisor.IsNotFound(err) {
		return nil // it has arrived already, and leaves what is there
	}
	if err != nil {
		return err
	}
	m, err := readLocatedMachine(ctx, k.From, d)
	if err != nil {
		return err
	}
	k.checkStays()
	kept, err := findWhatStays(ctx, k.From, d.UUID, m)
	if err != nil {
		return err
	}
	if kept != nil {
		k.addProblem(pathTo("hypervisor"), "Node with a snapshot or a backup", "%v", kept)
	}
	if storeOfOff(m, d.Active()) {
		k.addProblem(pathTo("hypervisor"), "Variables of a node that is off", "%v", errStoreOfOff)
	}
	for _, check := range []func(context.Context, *hypervisor.Domain, *Machine) error{k.checkMoveChipset, k.checkMoveCPU, k.checkMoveRoom, k.checkMoveVolumes} {
		if err := check(ctx, d, m); err != nil {
			return err
		}
	}
	return nil
}

// isSameMachine says whether both hypervisors are one, by another name, which is a problem.
func (k moveChecker) isSameMachine(ctx context.Context) (bool, error) {
	here, err := k.Cache.askHost(ctx, k.Client)
	if err != nil {
		return false, err
	}
	there, err := k.Cache.askHost(ctx, k.From)
	if err != nil {
		return false, err
	}
	same := k.From == k.Client || here.uuid != "" && here.uuid == there.uuid
	if same {
		k.addProblem(pathTo("hypervisor"), "The same machine by another name",
			"node %q is there already: %s and %s are one machine (host UUID %s), to which nothing can be moved. Leave the name that it has, or, where two machines have one UUID, give each its own (host_uuid in libvirtd.conf)",
			k.Want.Name, k.From.URI(), k.Client.URI(), here.uuid)
	}
	return same, nil
}

// checkStays finds disks and interfaces that are to go in the same change: they would be brought along first, and nothing says where to.
func (k moveChecker) checkStays() {
	if !k.Want.Unknown.Has("disks") {
		for _, key := range slices.Sorted(maps.Keys(k.Was.Disks)) {
			if _, stays := k.Want.Disks[key]; !stays {
				k.addProblem(pathTo("disks"), "Disk that goes with a move", "disk %q goes while node %q moves: take it away in an apply of its own", key, k.Want.Name)
			}
		}
	}
	for _, i := range k.Was.Interfaces {
		if !k.Want.Unknown.Has("network_interfaces") && !slices.ContainsFunc(k.Want.Interfaces, func(x InterfaceSpec) bool { return x.MAC == i.MAC }) {
			k.addProblem(pathTo("network_interfaces"), "Interface that goes with a move", "the interface with %s goes while node %q moves: take it away in an apply of its own", i.MAC, k.Want.Name)
		}
	}
}

// findWhatStays asks a hypervisor for what of a machine cannot go with it, and says why it stays then: snapshots, and checkpoints, which are in the
// files that are left behind.
func findWhatStays(ctx context.Context, c *hypervisor.Client, uuid string, m *Machine) (why, err error) {
	taken, err := c.Snapshots(ctx, uuid)
	if err != nil {
		return nil, err
	}
	if why := refuseSnapshots(m, taken); why != nil {
		return why, nil
	}
	kept, err := c.Checkpoints(ctx, uuid)
	return refuseCheckpoints(m, kept), err
}

// refuseCheckpoints says why a machine with checkpoints stays; nil where it has none.
func refuseCheckpoints(m *Machine, kept []hypervisor.Checkpoint) error {
	if len(kept) == 0 {
		return nil
	}
	return fmt.Errorf("node %q has a checkpoint %q, of a backup that others may be incremental from, which cannot go with it: destroy the backup in an apply of its own first, and take a whole one on the other hypervisor", m.Name, kept[0].Name)
}

// refuseSnapshots says why a machine with snapshots stays; nil where it has none.
func refuseSnapshots(m *Machine, taken []hypervisor.Snapshot) error {
	name := ""
	for _, disk := range m.Disks {
		if disk.Layer != "" {
			_, name = storage.SplitLayer(disk.Layer)
		}
	}
	if len(taken) > 0 {
		name = taken[0].Name
	}
	if name == "" {
		return nil
	}
	return fmt.Errorf("node %q has a snapshot %q, which cannot go with it: destroy the snapshot in an apply of its own first, which merges it", m.Name, name)
}

// errStoreOfOff says why a machine with UEFI stays that is off.
var errStoreOfOff = errors.New("it is off, and UEFI's variables go with a node that runs alone: start it in an apply before (running = true), or have it made anew (migration = { allow = false })")

// storeOfOff says whether a machine has UEFI's variables in a file that no migration brings along, as its guest does not run.
func storeOfOff(m *Machine, active bool) bool { return m.Firmware != "bios" && !active }

// findChipset returns the version of a machine type that a machine has, for good where it runs, and whether the hypervisor offers it.
func (k moveChecker) findChipset(ctx context.Context, d *hypervisor.Domain, m *Machine) (version string, offered bool, err error) {
	host, err := k.Cache.askHost(ctx, k.Client)
	if err != nil {
		return "", false, err
	}
	version = m.Chipset
	if d.Active() && d.Live.OS != nil && d.Live.OS.Type != nil {
		version = d.Live.OS.Type.Machine
	}
	all, known := host.chipsets[m.Type]
	return version, !known || version == "" || all[version], nil
}

// checkMoveChipset finds a version of a machine type that the hypervisor does not offer.
func (k moveChecker) checkMoveChipset(ctx context.Context, d *hypervisor.Domain, m *Machine) error {
	version, offered, err := k.findChipset(ctx, d, m)
	if err != nil {
		return err
	}
	if !offered {
		k.addProblem(pathTo("hypervisor"), "Machine type not offered", "node %q is of machine type %q, and hypervisor %s does not offer that: install as new a QEMU there as on %s, or have the node made anew (migration = { allow = false })",
			k.Want.Name, version, k.Client.URI(), k.From.URI())
	}
	return nil
}

// checkMoveCPU finds a processor that the guest has and that the hypervisor cannot give it. libvirt compares none for a machine type that it does not offer.
func (k moveChecker) checkMoveCPU(ctx context.Context, d *hypervisor.Domain, m *Machine) error {
	if _, offered, err := k.findChipset(ctx, d, m); err != nil || !offered {
		return err
	}
	x := d.Config
	if d.Active() {
		x = d.Live
	}
	var lacks string
	var err error
	switch {
	case x.CPU == nil:
		return nil
	case x.CPU.Model != nil && x.CPU.Mode != "host-passthrough":
		lacks, err = k.Client.LacksForCPU(ctx, x)
	case m.Type == "kvm":
		there, asked := k.Cache.askHost(ctx, k.From)
		if asked != nil {
			return asked
		}
		lacks, err = k.Client.LacksForHost(ctx, there.caps)
	}
	if hypervisor.IsUnsupported(err) {
		return nil // a libvirt that cannot tell refuses the migration itself, before anything is copied
	}
	if err == nil && lacks != "" {
		k.addProblem(pathTo("hypervisor"), "Processor not offered", "hypervisor %s cannot run the guest of node %q on: %s. Give the node a processor that both have (cpu = { mode = \"custom\", model = … }), or have it made anew (migration = { allow = false })",
			k.Client.URI(), k.Want.Name, lacks)
	}
	return err
}

// checkMoveRoom finds pools with less room than the disks take that are copied into them.
func (k moveChecker) checkMoveRoom(ctx context.Context, d *hypervisor.Domain, m *Machine) error {
	needed, at := map[string]uint64{}, map[string][]any{}
	for _, disk := range m.Disks {
		ref, path := "", k.Want.diskPath(disk.Key)
		if disk.Key == Root && k.Want.Root != nil {
			ref = k.Want.Root.Pool
		} else if planned, ok := k.Want.Disks[disk.Key]; ok {
			ref, path = planned.Pool, pathTo("disks", service.Key(disk.Key))
		}
		v, err := k.From.VolumeByPath(ctx, disk.Path)
		if ref == "" || hypervisor.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		bytes := v.Allocation()
		if image, err := k.From.VolumeByPath(ctx, v.Backing()); v.Backing() != "" && err == nil {
			bytes += image.Allocation()
		}
		needed[ref] += min(bytes, v.Capacity())
		at[ref] = path
	}
	for _, ref := range slices.Sorted(maps.Keys(needed)) {
		pool, err := k.Client.Pool(ctx, ref)
		if err != nil {
			continue // the checks of storage say so
		}
		if free := pool.Available(); needed[ref] > free {
			k.addProblem(pathBelow(at[ref], "pool"), "No room for the move", "the disks of node %q have %d MiB, which are copied into storage pool %q of hypervisor %s, and that has %d MiB free: make room there, or choose another pool",
				k.Want.Name, needed[ref]>>20, pool.Name(), k.Client.URI(), free>>20)
		}
	}
	return nil
}

// checkMoveVolumes finds volumes that the move makes on the hypervisor, and that it has. Those that a move has made before the apply removes.
func (k moveChecker) checkMoveVolumes(ctx context.Context, _ *hypervisor.Domain, m *Machine) error {
	if m.Mark.isMoving() {
		return nil
	}
	why, err := findInTheWay(ctx, k.From, k.Client, m, k.Was.VolumeNames())
	if errors.Is(err, hypervisor.ErrPoolStopped) {
		return nil // the apply says so
	}
	if why != nil {
		k.addProblem(pathTo("hypervisor"), "Volume there already", "%v", why)
	}
	return err
}

// findInTheWay asks a hypervisor for volumes that a machine's move makes there, and says why it stays where one is there already; nil where none is. It may
// be the machine's own disk, where both hypervisors have one storage.
func findInTheWay(ctx context.Context, from, to *hypervisor.Client, m *Machine, refs []VolumeRef) (why, err error) {
	v, err := findFirst(ctx, to.Volume, refs...)
	if v == nil || err != nil {
		return nil, err
	}
	own, err := isOnBoth(ctx, from, to, m, v)
	switch {
	case err != nil:
		return nil, err
	case own:
		return fmt.Errorf("storage pool %q of hypervisor %s has the very disks of node %q, such as %s: it is one storage with that of %s, and a move, which copies disks and removes what it copied, would lose them. "+
			"Have libvirt move the node without its disks (virsh migrate --live --persistent --undefinesource, or --offline for one that is off) and write the other hypervisor then, or have the node made anew there (migration = { allow = false })",
			v.Pool, to.URI(), m.Name, v.Path(), from.URI()), nil
	}
	return fmt.Errorf("storage pool %q of hypervisor %s has a volume %q already, which a move of node %q would make: find out whose it is, such as one that a person's virsh migrate left behind, and delete it (virsh vol-delete) where it is of no use",
		v.Pool, to.URI(), v.Name(), m.Name), nil
}

// findFirst asks for volumes, each once, until one is there; nil where none is.
func findFirst(ctx context.Context, ask func(ctx context.Context, pool, name string) (*hypervisor.Volume, error), refs ...VolumeRef) (*hypervisor.Volume, error) {
	for _, ref := range refs {
		v, err := ask(ctx, ref.Pool, ref.Name)
		if !hypervisor.IsNotFound(err) {
			return v, err
		}
	}
	return nil, nil
}

// isOnBoth says whether a volume that another hypervisor has is one of a machine's own, which both have in one storage. Its pool was looked at just
// now, and is not asked for it again.
func isOnBoth(ctx context.Context, from, to *hypervisor.Client, m *Machine, there *hypervisor.Volume) (bool, error) {
	for _, here := range m.Mark.listVolumes() {
		if here.Name != there.Name() {
			continue
		}
		one, err := storage.MarkedName{Client: from, Pool: here.Pool, Name: here.Name}.IsOneWith(ctx, storage.MarkedName{Client: to, Pool: there.Pool, Name: there.Name()})
		if err != nil || one {
			return one, err
		}
	}
	return false, nil
}
