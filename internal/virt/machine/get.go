package machine

import (
	"bytes"
	"context"
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/cloudinit"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// seedLimit is the largest seed or Ignition configuration that an import reads; they are some hundred kilobytes.
const seedLimit = 16 << 20

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

// readAddresses says where a machine can be reached, by the names of its interfaces: what its guest has as far as anybody
// knows, and else what it is configured to have.
func readAddresses(ctx context.Context, c *hypervisor.Client, leases leaseLister, got *Spec, d *hypervisor.Domain) (map[string]string, error) {
	addresses := map[string]string{}
	var fromAgent map[string][]netip.Addr
	asked := false
	for n := range got.Interfaces {
		i := &got.Interfaces[n]
		address := i.Configured()
		if i.Network != "" && d.Active() && (address == "" || i.IP != "") {
			all, err := leases(ctx, i.Network)
			if err != nil && !hypervisor.IsNotFound(err) {
				return nil, err
			}
			address = i.amongLeases(addressesOf(all, i.MAC, nil), address)
		}
		if address == "" && d.Active() && got.GuestAgent && agentConnected(d) {
			if !asked {
				// An agent that does not answer, because the guest is busy, says nothing.
				fromAgent, _ = c.GuestAddresses(ctx, d.UUID)
				asked = true
			}
			address = preferred(fromAgent[i.MAC])
		}
		if address != "" {
			addresses[i.Name] = address
		}
	}
	return addresses, nil
}

// leaseLister lists the leases of a network.
type leaseLister func(ctx context.Context, network string) ([]hypervisor.Lease, error)

// amongLeases is the address that an interface has by its leases: the one that it is configured to have where that is among them, or
// where there are none of its family.
func (i *InterfaceSpec) amongLeases(leased []netip.Addr, configured string) string {
	want, err := netip.ParseAddr(configured)
	if err != nil {
		return preferred(leased)
	}
	same := slices.DeleteFunc(slices.Clone(leased), func(a netip.Addr) bool { return a.Is4() != want.Is4() })
	if len(same) == 0 || slices.Contains(same, want) {
		return configured
	}
	return preferred(same)
}

// agentConnected says whether the guest's agent has opened its channel: only then is it worth asking.
func agentConnected(d *hypervisor.Domain) bool {
	if d.Live == nil || d.Live.Devices == nil {
		return false
	}
	for _, ch := range d.Live.Devices.Channels {
		if isAgent(ch) {
			return ch.Target.VirtIO.State == "connected"
		}
	}
	return false
}

// readImported reads what only the machine's own files and its mark know.
func (s *Store) readImported(ctx context.Context, got *Spec, m *Machine) error {
	settings := m.Mark.Settings
	if settings == nil {
		settings = &MarkedSettings{}
	}
	got.AllowRestart, got.ShutdownTimeout, got.WaitFor, got.Timeouts = settings.AllowRestart, settings.ShutdownTimeout, settings.WaitFor, settings.Timeouts
	if m.IgnitionFile != "" {
		content, err := readFile(ctx, s.client, m.IgnitionFile)
		if err != nil {
			return err
		}
		if content == nil {
			content = hostFile(ctx, s.client, m.IgnitionFile)
		}
		text := ignitionFrom(got, string(bytes.TrimRight(content, "\x00 ")))
		if got.Ignition = text; m.Mark.Butane {
			got.Ignition, got.Butane = "", text
		}
	}
	disk := m.Disk(Seed)
	if disk == nil {
		return nil
	}
	image, err := readFile(ctx, s.client, disk.Path)
	if err != nil || image == nil {
		return err
	}
	seed, err := cloudinit.ReadImage(image)
	if err != nil {
		return err
	}
	got.CloudInit, err = cloudInitOf(got, seed, m.UUID)
	return err
}

// hostFile reads a file that no pool has, as somebody may have put it anywhere; nil where that cannot be done.
func hostFile(ctx context.Context, c *hypervisor.Client, path string) []byte {
	content, err := c.HostFile(ctx, path)
	if err != nil {
		tflog.Warn(ctx, "cannot read the node's Ignition configuration", map[string]any{"file": path, "error": err.Error()})
	}
	return content
}

// readFile reads a file on the hypervisor that is a volume; nil where no pool has it.
func readFile(ctx context.Context, c *hypervisor.Client, path string) ([]byte, error) {
	volume, err := c.VolumeByPath(ctx, path)
	if hypervisor.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.PeekVolume(ctx, volume, 0, min(volume.Capacity(), seedLimit))
}

// Addresses says where a domain can be reached and what its MAC addresses are, by the names of its interfaces.
func Addresses(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain) (addresses, macs map[string]string, err error) {
	got := &Spec{GuestAgent: true}
	if got.Interfaces, err = readInterfaces(ctx, c, &Facts{}, nil, d, Read(d.Config)); err != nil {
		return nil, nil, err
	}
	if addresses, err = readAddresses(ctx, c, c.Leases, got, d); err != nil {
		return nil, nil, err
	}
	macs = map[string]string{}
	for _, i := range got.Interfaces {
		macs[i.Name] = i.MAC
	}
	return addresses, macs, nil
}
