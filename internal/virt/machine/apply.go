package machine

import (
	"errors"
	"slices"

	"libvirt.org/go/libvirtxml"
)

// Apply puts a machine into a domain's XML. It changes only what says something else, so that the rest of
// the XML, whoever wrote it, stays as it is.
func Apply(d *libvirtxml.Domain, m *Machine) error {
	if d.Devices == nil {
		d.Devices = &libvirtxml.DomainDeviceList{}
	}
	if d.OS == nil {
		return errors.New("the domain has no <os>")
	}
	// The patch finds devices by their places, so that it goes before they change.
	m.Mark.Patched = Read(d).Mark.Patched
	if err := patchDomain(d, m, nil); err != nil {
		return err
	}
	was := Read(d)
	d.Type = m.Type
	applyMemory(d, was, m)
	applyVCPUs(d, was, m)
	applyCPU(d, was, m)
	applyTopology(d, was.CPU.Topology, m.CPU.Topology)
	applyPinning(d, was.CPU.Pinning, m.CPU.Pinning)
	applyHugepages(d, was.Hugepages, m.Hugepages)
	applyCells(d, was.NUMA, m.NUMA)
	if err := applyChipset(d, m); err != nil {
		return err
	}
	applyFirmware(d, was, m)
	applyBoot(d, m.Boot)
	applyIgnition(d, m.IgnitionFile)
	if err := applyDisks(d, m); err != nil {
		return err
	}
	applyMedium(d, m.Medium)
	applyInterfaces(d, was, m)
	if err := addSparePorts(d); err != nil {
		return err
	}
	applyConsole(d, was.Console, m.Console)
	applyGraphics(d, was.Graphics, m.Graphics)
	applyGuestAgent(d, was.GuestAgent, m.GuestAgent)
	applyTPM(d, was.TPM, m.TPM)
	applyWatchdog(d, was.Watchdog, m.Watchdog)
	applySMBIOS(d, was.SMBIOS, m.SMBIOS)
	applyOthers(d, was, m)
	if err := patchDomain(d, m, m.Patch); err != nil {
		return err
	}
	return applyMark(d, m)
}

func applyMemory(d *libvirtxml.Domain, was, m *Machine) {
	if was.MaxMemoryMiB != m.MaxMemoryMiB {
		d.Memory = &libvirtxml.DomainMemory{Value: uint(m.MaxMemoryMiB), Unit: "MiB"}
	}
	if was.MemoryMiB != m.MemoryMiB || d.CurrentMemory == nil {
		d.CurrentMemory = &libvirtxml.DomainCurrentMemory{Value: uint(m.MemoryMiB), Unit: "MiB"}
	}
}

func applyVCPUs(d *libvirtxml.Domain, was, m *Machine) {
	if was.VCPUs == m.VCPUs && was.MaxVCPUs == m.MaxVCPUs {
		return
	}
	if d.VCPU == nil {
		d.VCPU = &libvirtxml.DomainVCPU{Placement: "static"}
	}
	d.VCPU.Value, d.VCPU.Current = uint(m.MaxVCPUs), uint(m.VCPUs)
	if m.VCPUs == m.MaxVCPUs {
		d.VCPU.Current = 0
	}
	d.VCPUs = nil
	if m.MaxVCPUs == 1 {
		return
	}
	// Only a vCPU that is marked as pluggable from the start can be taken away from a running machine. The
	// first one never can.
	d.VCPUs = &libvirtxml.DomainVCPUs{}
	for i := range uint(m.MaxVCPUs) {
		v := libvirtxml.DomainVCPUsVCPU{Id: &i, Enabled: yesNo(i < uint(m.VCPUs)), Hotpluggable: yesNo(i > 0)}
		d.VCPUs.VCPU = append(d.VCPUs.VCPU, v)
	}
}

func applyCPU(d *libvirtxml.Domain, was, m *Machine) {
	if was.CPU.Mode == m.CPU.Mode && was.CPU.Model == m.CPU.Model && samePointed(was.CPU.Nested, m.CPU.Nested) || m.CPU.Mode == "" {
		return
	}
	if d.CPU == nil {
		d.CPU = &libvirtxml.DomainCPU{}
	}
	if was.CPU.Mode != m.CPU.Mode || was.CPU.Model != m.CPU.Model {
		// What speaks of the processor beside the model stays; what belongs to the old model goes.
		d.CPU = &libvirtxml.DomainCPU{Topology: d.CPU.Topology, Numa: d.CPU.Numa, Cache: d.CPU.Cache, MaxPhysAddr: d.CPU.MaxPhysAddr, Features: d.CPU.Features}
		d.CPU.Mode = m.CPU.Mode
		if m.CPU.Model != "" {
			d.CPU.Match = "exact"
			d.CPU.Model = &libvirtxml.DomainCPUModel{Value: m.CPU.Model, Fallback: "forbid"}
		}
	}
	d.CPU.Features = slices.DeleteFunc(d.CPU.Features, func(f libvirtxml.DomainCPUFeature) bool { return f.Name == "vmx" || f.Name == "svm" })
	if m.CPU.Nested != nil && m.CPU.Feature != "" {
		policy := "disable"
		if *m.CPU.Nested {
			policy = "require"
		}
		d.CPU.Features = append(d.CPU.Features, libvirtxml.DomainCPUFeature{Policy: policy, Name: m.CPU.Feature})
	}
}

func applyBoot(d *libvirtxml.Domain, b Boot) {
	d.OS.Kernel, d.OS.Initrd, d.OS.Cmdline = b.Kernel, b.Initrd, b.Cmdline
	if len(b.Order) == 0 || slices.Equal(readBoot(d).Order, b.Order) {
		return
	}
	d.OS.BootDevices = nil
	for _, dev := range b.Order {
		d.OS.BootDevices = append(d.OS.BootDevices, libvirtxml.DomainBootDevice{Dev: dev})
	}
	// An order per device excludes one by kind.
	for i := range d.Devices.Disks {
		d.Devices.Disks[i].Boot = nil
	}
	for i := range d.Devices.Interfaces {
		d.Devices.Interfaces[i].Boot = nil
	}
	for i := range d.Devices.Hostdevs {
		d.Devices.Hostdevs[i].Boot = nil
	}
	for i := range d.Devices.RedirDevs {
		d.Devices.RedirDevs[i].Boot = nil
	}
}

// ignitionEntry is the name under which Ignition looks for its configuration in QEMU's fw_cfg.
const ignitionEntry = "opt/com.coreos/config"

func applyIgnition(d *libvirtxml.Domain, file string) {
	if readIgnition(d) == file {
		return
	}
	var entries []libvirtxml.DomainSysInfoEntry
	if file != "" {
		entries = append(entries, libvirtxml.DomainSysInfoEntry{Name: ignitionEntry, File: file})
	}
	for i := range d.SysInfo {
		if c := d.SysInfo[i].FWCfg; c != nil {
			c.Entry = slices.DeleteFunc(c.Entry, func(e libvirtxml.DomainSysInfoEntry) bool { return e.Name == ignitionEntry })
			c.Entry = append(c.Entry, entries...)
			entries = nil
		}
	}
	if entries != nil {
		d.SysInfo = append(d.SysInfo, libvirtxml.DomainSysInfo{FWCfg: &libvirtxml.DomainSysInfoFWCfg{Entry: entries}})
	}
	d.SysInfo = slices.DeleteFunc(d.SysInfo, func(s libvirtxml.DomainSysInfo) bool { return s.FWCfg != nil && len(s.FWCfg.Entry) == 0 })
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// samePointed says whether two pointers point to the same, or are nil both.
func samePointed[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}
