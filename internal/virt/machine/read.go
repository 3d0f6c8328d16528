package machine

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/drive"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// Read reads what the provider models from a domain's XML, whoever wrote it.
func Read(d *libvirtxml.Domain) *Machine {
	m := &Machine{
		Name: d.Name, UUID: d.UUID, IgnitionFile: readIgnition(d),
		Hardware: Hardware{Type: d.Type, CPU: readCPU(d), Boot: readBoot(d), Console: readConsole(d), Graphics: readGraphics(d), TPM: readTPM(d), Watchdog: readWatchdog(d), SMBIOS: readSMBIOS(d), Filesystems: shareDevices.readDevices(d), HostDevices: hostedDevices.readDevices(d)},
	}
	m.Hugepages, m.NUMA = readHugepages(d), readCells(d)
	if d.Memory != nil {
		m.MaxMemoryMiB = toMebibytes(d.Memory.Value, d.Memory.Unit)
		m.MemoryMiB = m.MaxMemoryMiB
	}
	if d.CurrentMemory != nil {
		m.MemoryMiB = toMebibytes(d.CurrentMemory.Value, d.CurrentMemory.Unit)
	}
	if d.VCPU != nil {
		m.MaxVCPUs = int64(d.VCPU.Value)
		m.VCPUs = m.MaxVCPUs
		if d.VCPU.Current != 0 {
			m.VCPUs = int64(d.VCPU.Current)
		}
	}
	if d.OS != nil && d.OS.Type != nil {
		m.Chipset = d.OS.Type.Machine
	}
	// A mark that cannot be understood is not ours.
	m.Mark, _ = readMark(d)
	m.Firmware, m.Patch = readFirmware(d, m.Mark), readPatch(d, m.Mark)
	if d.Devices == nil {
		return m
	}
	readExtras(d, m)
	m.Medium = readMedium(d)
	keys := listDiskKeys(d, m.Mark)
	for i := range d.Devices.Disks {
		if keys[i] != "" {
			disk := readDisk(&d.Devices.Disks[i])
			disk.Key = keys[i]
			m.Disks = append(m.Disks, disk)
		}
	}
	for i := range d.Devices.Interfaces {
		if got, modelled := readInterface(&d.Devices.Interfaces[i]); modelled {
			if got.Port != portName(d.UUID, got.MAC) {
				got.Port, got.UserSpace = "", false // whoever uses OVN or Open vSwitch by hand
			} else {
				got.VirtualPort, got.InterfaceID = "", "" // they follow from the port
			}
			m.Interfaces = append(m.Interfaces, got)
		}
	}
	return m
}

func readCPU(d *libvirtxml.Domain) CPU {
	c := CPU{Topology: readTopology(d), Pinning: readPinning(d)}
	if d.CPU == nil {
		return c
	}
	c.Mode = d.CPU.Mode
	if c.Mode == "" && d.CPU.Model != nil {
		c.Mode = "custom"
	}
	if c.Mode == "custom" && d.CPU.Model != nil {
		c.Model = d.CPU.Model.Value
	}
	for _, f := range d.CPU.Features {
		if f.Name == "vmx" || f.Name == "svm" {
			on := f.Policy != "disable" && f.Policy != "forbid"
			c.Nested, c.Feature = &on, f.Name
		}
	}
	return c
}

func readBoot(d *libvirtxml.Domain) Boot {
	var b Boot
	if d.OS == nil {
		return b
	}
	b.Kernel, b.Initrd, b.Cmdline = d.OS.Kernel, d.OS.Initrd, d.OS.Cmdline
	for _, dev := range d.OS.BootDevices {
		b.Order = append(b.Order, dev.Dev)
	}
	if len(b.Order) == 0 {
		b.Order = readDeviceOrder(d)
	}
	return b
}

// readDeviceOrder returns the boot order of a domain whose devices have places in it, by their kinds: the order in which the first of each
// kind is tried.
func readDeviceOrder(d *libvirtxml.Domain) []string {
	if d.Devices == nil {
		return nil
	}
	places := map[string]uint{}
	note := func(kind string, boot *libvirtxml.DomainDeviceBoot) {
		if boot != nil && (places[kind] == 0 || boot.Order < places[kind]) {
			places[kind] = boot.Order
		}
	}
	for _, x := range d.Devices.Disks {
		kind := map[string]string{"cdrom": "cdrom", "floppy": "fd"}[x.Device]
		note(cmp.Or(kind, "hd"), x.Boot)
	}
	for _, x := range d.Devices.Interfaces {
		note("network", x.Boot)
	}
	for _, x := range d.Devices.Hostdevs {
		note("hd", x.Boot) // QEMU does not say what is passed through
	}
	for _, x := range d.Devices.RedirDevs {
		note("hd", x.Boot)
	}
	kinds := slices.Collect(maps.Keys(places))
	slices.SortFunc(kinds, func(a, b string) int { return cmp.Compare(places[a], places[b]) })
	return kinds
}

func readIgnition(d *libvirtxml.Domain) string {
	for _, s := range d.SysInfo {
		if s.FWCfg == nil {
			continue
		}
		for _, e := range s.FWCfg.Entry {
			if e.Name == ignitionEntry {
				return e.File
			}
		}
	}
	return ""
}

func readDisk(x *libvirtxml.DomainDisk) Disk {
	d := Disk{DiskTuning: readTuning(x)}
	if x.Driver != nil {
		d.Format = x.Driver.Type
	}
	if x.Target != nil {
		d.Bus, d.Target = x.Target.Bus, x.Target.Dev
	}
	if x.Source != nil && x.Source.File != nil {
		d.Path = x.Source.File.File
		if volume, snapshot := storage.SplitLayer(d.Path); snapshot != "" {
			d.Path, d.Layer = volume, d.Path
		}
	}
	if x.Source != nil && x.Source.Block != nil {
		d.Path, d.Block = x.Source.Block.Dev, true
	}
	if x.Source != nil && x.Source.Volume != nil {
		d.Pool, d.Volume = x.Source.Volume.Pool, x.Source.Volume.Volume
	}
	return d
}

// currentFile is where the disk is now: its layer, or itself.
func (d *Disk) currentFile() string { return cmp.Or(d.Layer, d.Path) }

// sameSource says whether two disks are one, by what the XML calls it.
func (d *Disk) sameSource(other *Disk) bool {
	if d.Volume != "" || other.Volume != "" {
		return d.Pool == other.Pool && d.Volume == other.Volume
	}
	return d.Path == other.Path
}

// listDiskKeys returns the key of each disk of a domain, and "" for what is not modelled: CD-ROMs, floppies, the stick of a machine's
// controller and disks over the network. The mark knows best; a disk that it does not know, because a change was interrupted or because someone else made the
// domain, goes by its serial number or its target.
func listDiskKeys(d *libvirtxml.Domain, mark Mark) []string {
	keys := make([]string, len(d.Devices.Disks))
	foreign := len(mark.Disks) == 0
	rooted := false
	for i := range d.Devices.Disks {
		x := &d.Devices.Disks[i]
		disk := readDisk(x)
		if x.Device != "" && x.Device != "disk" || drive.IsStick(x) || disk.Path == "" && disk.Volume == "" || x.Target == nil {
			continue
		}
		key := disk.Target
		if k := mark.findKey(disk.Target); k != "" {
			key = k
		} else if x.Serial != "" && (x.Serial == Root || x.Serial == Seed || CheckKey(x.Serial) == nil) && !slices.Contains(keys, x.Serial) {
			key = x.Serial
		}
		if foreign && !rooted && key != Seed {
			key = Root // the first disk of a machine that someone else made
		}
		rooted = rooted || key == Root
		keys[i] = key
	}
	return keys
}

// toMebibytes converts libvirt's sizes; without a unit they are KiB.
func toMebibytes(value uint, unit string) int64 {
	switch strings.ToLower(unit) {
	case "b", "bytes":
		return int64(value) >> 20
	case "m", "mib":
		return int64(value)
	case "g", "gib":
		return int64(value) << 10
	case "t", "tib":
		return int64(value) << 20
	}
	return int64(value) >> 10
}
