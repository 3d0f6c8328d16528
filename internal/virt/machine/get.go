package machine

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// read returns what the hypervisor says about a machine, in the order and the words of what is known of it. One of which no
// type is known was just imported: then what nobody can ask for is guessed. With drift, what somebody took from the running
// machine alone shows.
func (s *Store) read(ctx context.Context, known *Spec, d *hypervisor.Domain, drift bool) (*Spec, error) {
	m, err := located(ctx, s.client, d)
	if err != nil {
		return nil, err
	}
	imported := known.Type == ""
	copied := *known
	got := &copied
	got.UUID, got.Name, got.Type, got.Role, got.Unknown = d.UUID, d.Name, m.Type, m.Mark.Role, nil
	got.MemoryMiB, got.MaxMemoryMiB, got.VCPUs, got.MaxVCPUs = m.Memory, m.MaxMemory, m.VCPUs, m.MaxVCPUs
	got.Labels = map[string]string{}
	for _, l := range m.Mark.Labels {
		got.Labels[l.Name] = l.Value
	}
	got.CPU = m.CPU
	got.CPU.Feature = ""
	got.Chipset = chipsetName(known.Chipset, m.Chipset)
	got.Firmware, got.Graphics, got.GuestAgent, got.RNG, got.Console = m.Firmware, m.Graphics, m.GuestAgent, m.RNG, m.Console
	got.Autostart, got.Running, got.State = d.Autostart, d.State == "running", d.State
	if got.Boot = m.Boot; len(m.Boot.Order) == 0 {
		got.Boot.Order = known.Boot.Order
	}
	if drift {
		got.MemoryMiB, got.VCPUs = driftOf(d, got.MemoryMiB, got.VCPUs, known.MemoryMiB, known.VCPUs)
	}
	if got.Root, got.Disks, err = s.readDisks(ctx, known, d, m, imported); err != nil {
		return nil, err
	}
	if got.Interfaces, err = readInterfaces(ctx, s.client, s.facts, known.Interfaces, d, m); err != nil {
		return nil, err
	}
	if imported {
		if err := s.readImported(ctx, got, m); err != nil {
			return nil, err
		}
	}
	leases := s.client.Leases
	if drift { // a refresh asks once for all machines
		leases = func(ctx context.Context, network string) ([]hypervisor.Lease, error) {
			return s.facts.leases(ctx, s.client, network)
		}
	}
	got.Addresses, err = readAddresses(ctx, s.client, leases, got, d)
	return got, err
}

// chipsetName keeps a short name for what libvirt made of it, and gives one to what was imported.
func chipsetName(known, chipset string) string {
	if SameChipset(known, chipset) {
		return known
	}
	for _, short := range []string{"q35", "pc"} {
		if known == "" && SameChipset(short, chipset) {
			return short
		}
	}
	return chipset
}

// driftOf is a domain's memory and number of vCPUs to show: of what runs where somebody changed only that, and the configuration
// is as state had it; else that is the drift to tell.
func driftOf(d *hypervisor.Domain, memory, vcpus, knownMemory, knownVCPUs int64) (shownMemory, shownVCPUs int64) {
	lessMemory, otherVCPUs, live := liveDrift(d)
	if lessMemory && memory == knownMemory {
		memory = live.Memory
	}
	if otherVCPUs && vcpus == knownVCPUs {
		vcpus = live.VCPUs
	}
	return memory, vcpus
}

// liveDrift says whether somebody changed the memory or the vCPUs of what runs and not of its configuration.
//
// vCPUs are what libvirt plugged in, and always exact. Memory is what the guest's balloon driver has left the guest
// with, so more than is configured says nothing: that is how a guest starts, how one without a driver stays, and what
// one has that cannot spare as much. Less is only what somebody asked for, as drivers give back at once.
func liveDrift(d *hypervisor.Domain) (memory, vcpus bool, live *Machine) {
	if !d.Active() {
		return false, false, nil
	}
	config := Read(d.Config)
	live = Read(d.Live)
	if left := d.Live.CurrentMemory; left != nil && left.Unit == "KiB" {
		live.Memory = (int64(left.Value) + 1023) >> 10 // a driver may keep a few pages
	}
	return live.Memory < config.Memory, live.VCPUs != config.VCPUs, live
}

// readDisks reads the disks and their sizes; a disk that is gone is not among them.
func (s *Store) readDisks(ctx context.Context, known *Spec, d *hypervisor.Domain, m *Machine, imported bool) (*RootSpec, map[string]DiskSpec, error) {
	var root *RootSpec
	disks := map[string]DiskSpec{}
	for _, disk := range m.Disks {
		if disk.Key == Seed {
			continue
		}
		own := m.Mark.Disk(disk.Key)
		if disk.Key == Root {
			var err error
			if root, err = s.readRoot(ctx, known.Root, d, disk, own); err != nil {
				return nil, nil, err
			}
			continue
		}
		if own.Key != "" && !own.Leaving && d.Active() && FindDisk(d.Live, disk.Target) == nil {
			continue // somebody took it from what runs
		}
		x := known.Disks[disk.Key]
		x.Bus = disk.Bus
		if own.Volume == "" && (x.Volume != "" || imported || x.Pool == "") {
			x.Volume, x.SizeGiB, x.Pool = disk.Path, 0, ""
			disks[disk.Key] = x
			continue
		}
		var err error
		if x.SizeGiB, err = sizeOf(ctx, s.client, d, disk); err != nil {
			return nil, nil, err
		}
		x.Volume = ""
		if x.Pool, err = s.readPool(ctx, x.Pool, own.Pool, disk.Path); err != nil {
			return nil, nil, err
		}
		disks[disk.Key] = x
	}
	return root, disks, nil
}

func (s *Store) readRoot(ctx context.Context, known *RootSpec, d *hypervisor.Domain, disk Disk, own MarkedDisk) (*RootSpec, error) {
	r := &RootSpec{}
	if known != nil {
		*r = *known
	}
	var err error
	if r.SizeGiB, err = sizeOf(ctx, s.client, d, disk); err != nil {
		return nil, err
	}
	r.Bus = disk.Bus
	if known == nil { // imported: what it is an overlay of only the volume knows
		volume, err := s.client.VolumeByPath(ctx, disk.Path)
		if err != nil && !hypervisor.IsNotFound(err) {
			return nil, err
		}
		if err == nil {
			r.Image = volume.Backing()
		}
	}
	r.Pool, err = s.readPool(ctx, r.Pool, own.Pool, disk.Path)
	return r, err
}

// sizeOf is a disk's size in GiB, and 0 where its volume is missing: somebody removed it, or a destroy did that ended early.
func sizeOf(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain, disk Disk) (int64, error) {
	capacity, err := capacityOf(ctx, c, d, disk)
	if hypervisor.Code(err) != 0 {
		if _, gone := c.VolumeByPath(ctx, disk.Path); hypervisor.IsNotFound(gone) {
			return 0, nil
		}
	}
	return GiB(capacity), err
}

// readPool is the name of a disk's pool, or what is known, where that is the same pool by its id.
func (s *Store) readPool(ctx context.Context, known, pool, path string) (string, error) {
	if pool == "" {
		volume, err := s.client.VolumeByPath(ctx, path)
		if hypervisor.IsNotFound(err) {
			return known, nil // a disk outside every pool
		}
		if err != nil {
			return "", err
		}
		pool = volume.Pool
	}
	if hypervisor.IsUUID(known) {
		if p, err := s.facts.Pool(ctx, s.client, known); err == nil && p.Name() == pool {
			return known, nil
		}
	}
	return pool, nil
}
