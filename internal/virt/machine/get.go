package machine

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// readMachine returns what the hypervisor says about a machine, in the order and the words of known, which is what state or plan
// has of it. A known machine without a type was just imported: then the files and the mark of the machine are read too, for what
// no XML says. drift has the result show memory, vCPUs and pins that somebody changed of the running machine alone.
func (s *Store) readMachine(ctx context.Context, known *Spec, d *hypervisor.Domain, drift bool) (*Spec, error) {
	m, err := readLocatedMachine(ctx, s.client, d)
	if err != nil {
		return nil, err
	}
	imported := known.Type == ""
	copied := *known
	got := &copied
	got.UUID, got.Name, got.Role, got.Unknown, got.Hardware = d.UUID, d.Name, m.Mark.Role, nil, m.Hardware
	got.Labels = map[string]string{}
	for _, l := range m.Mark.Labels {
		got.Labels[l.Name] = l.Value
	}
	got.CPU.Feature = ""
	if drift && d.Active() && d.Live.Devices != nil {
		for _, kind := range pluggables {
			kind.dropUnplugged(&got.Hardware, &known.Hardware, d.Live)
		}
	}
	if got.HostDevices, err = s.nameHostDevices(ctx, known.HostDevices, got.HostDevices); err != nil {
		return nil, err
	}
	got.Chipset = keepChipsetName(known.Chipset, m.Chipset)
	got.Autostart, got.Running, got.State = d.Autostart, d.State == "running", d.State
	if known.Power == External && !imported {
		got.Running = known.Running // as it was made
	}
	if len(m.Boot.Order) == 0 {
		got.Boot.Order = known.Boot.Order
	}
	if drift {
		got.MemoryMiB, got.VCPUs = chooseShownSizes(d, got.MemoryMiB, got.VCPUs, known.MemoryMiB, known.VCPUs)
		if got.CPU.Pinning, err = s.readShownPinning(ctx, d, got.CPU.Pinning, known.CPU.Pinning); err != nil {
			return nil, err
		}
	}
	if got.Root, got.Disks, err = s.readDisks(ctx, known, d, m, imported); err != nil {
		return nil, err
	}
	wanted, power := known.CDROM, known.Power
	if imported && m.Mark.Settings != nil {
		wanted, power = m.Mark.CDROM, m.Mark.Settings.Power
	}
	if got.CDROM, err = s.readCDROM(ctx, wanted, power, d, &m.Mark); err != nil {
		return nil, err
	}
	if got.Interfaces, err = readInterfaces(ctx, s.client, s.cache, s.northbounds, known.Interfaces, d, m); err != nil {
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
			return s.cache.listLeases(ctx, s.client, network)
		}
	}
	got.Addresses, err = readAddresses(ctx, s.client, leases, got, d)
	return got, err
}

// keepChipsetName returns the known short name where libvirt's chipset is a version of it, and a short name for that of an
// imported machine where there is one.
func keepChipsetName(known, chipset string) string {
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

// chooseShownSizes returns the memory and the number of vCPUs that a refresh shows. Those of the running machine are shown where
// somebody changed them there alone; where the configuration differs from state, the configuration's are, as that is the drift to
// tell.
func chooseShownSizes(d *hypervisor.Domain, memory, vcpus, knownMemory, knownVCPUs int64) (shownMemory, shownVCPUs int64) {
	lessMemory, otherVCPUs, live := findLiveDrift(d)
	if lessMemory && memory == knownMemory {
		memory = live.MemoryMiB
	}
	if otherVCPUs && vcpus == knownVCPUs {
		vcpus = live.VCPUs
	}
	return memory, vcpus
}

// findLiveDrift says whether somebody changed the memory or the vCPUs of the running machine and not of its configuration, and
// returns the running machine.
//
// The number of vCPUs is what libvirt plugged in, and always exact. Memory is what the guest's balloon driver has left to the
// guest, so more than is configured says nothing: a guest starts with more, one without the driver keeps more, and one that cannot
// spare as much has more. Less is only what somebody asked for, as drivers give memory back at once.
func findLiveDrift(d *hypervisor.Domain) (memory, vcpus bool, live *Machine) {
	if !d.Active() {
		return false, false, nil
	}
	config := Read(d.Config)
	live = Read(d.Live)
	if left := d.Live.CurrentMemory; left != nil && left.Unit == "KiB" {
		live.MemoryMiB = (int64(left.Value) + 1023) >> 10 // a driver may keep a few pages
	}
	return live.MemoryMiB < config.MemoryMiB, live.VCPUs != config.VCPUs, live
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
		if own.Making {
			made, err := s.newVolumeOwner(nil).hasMade(ctx, VolumeRef{own.Pool, own.Volume})
			if err != nil {
				return nil, nil, err
			}
			if !made {
				continue
			}
		}
		x := known.Disks[disk.Key]
		x.Bus, x.DiskTuning = disk.Bus, readShownTuning(d, disk, x.Limits)
		if own.Volume == "" && (x.Volume != "" || imported || x.Pool == "") {
			x.Volume, x.Format, x.SizeGiB, x.Pool = s.spellVolume(ctx, x.Volume, disk.Path), disk.readFormat(x.Format), 0, ""
			disks[disk.Key] = x
			continue
		}
		var err error
		if x.SizeGiB, err = readSize(ctx, s.client, d, disk); err != nil {
			return nil, nil, err
		}
		x.Volume, x.Format = "", ""
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
	r.Bus, r.DiskTuning = disk.Bus, readShownTuning(d, disk, r.Limits)
	if own.Attached || r.Volume != "" && own.Volume == "" {
		r.Image, r.SizeGiB, r.Format = "", 0, disk.readFormat(r.Format)
		if disk.Path != "" { // else its volume is gone, and its name is all that is known
			r.Volume = s.spellVolume(ctx, r.Volume, disk.Path)
		}
		r.Pool, err = s.readPool(ctx, r.Pool, "", disk.Path)
		return r, err
	}
	r.Volume, r.Format = "", ""
	if known == nil { // imported: what it is an overlay of only the volume knows
		volume, err := s.client.VolumeByPath(ctx, disk.Path)
		switch {
		case err == nil:
			r.Image = volume.Backing()
		case !hypervisor.IsNotFound(err):
			return nil, err
		case disk.Block: // a device of no pool is never a machine's own
			r.Volume, r.Format = disk.Path, disk.Format
			return r, nil
		}
	}
	if r.SizeGiB, err = readSize(ctx, s.client, d, disk); err != nil {
		return nil, err
	}
	r.Pool, err = s.readPool(ctx, r.Pool, own.Pool, disk.Path)
	return r, err
}

// spellVolume returns the path of an attached volume, or what is known, where that is another path by which libvirt finds the volume.
func (s *Store) spellVolume(ctx context.Context, known, path string) string {
	if known == "" || known == path {
		return path
	}
	if v, err := s.cache.Volume(ctx, s.client, known); err != nil || v.Path() != path {
		return path
	}
	return known
}

// readFormat returns the format of an attached volume, and what is known where a layer lies upon it.
func (d *Disk) readFormat(known string) string {
	if d.Layer != "" {
		return known
	}
	return d.Format
}

// readSize returns a disk's size in GiB, and 0 where its volume is missing: somebody removed it, or a destroy did that ended early.
func readSize(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain, disk Disk) (int64, error) {
	capacity, err := readCapacity(ctx, c, d, disk)
	if hypervisor.Code(err) != 0 {
		if _, gone := c.VolumeByPath(ctx, disk.currentFile()); hypervisor.IsNotFound(gone) {
			return 0, nil
		}
	}
	return hypervisor.WholeGiB(capacity), err
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
		if p, err := s.cache.Pool(ctx, s.client, known); err == nil && p.Name() == pool {
			return known, nil
		}
	}
	return pool, nil
}
