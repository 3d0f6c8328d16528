// Package machine is a virtual machine in plain values: how a domain's XML is made of one, how one is read
// from a domain's XML, and how a change is put into XML that someone else may have written, without losing
// anything the values do not speak of. All of that asks nobody. Store and Checker ask the hypervisor: the one
// has it keep what the values say, the other finds while planning what would keep it from that.
package machine

import (
	"libvirt.org/go/libvirtxml"
)

// Root, Seed and Ignition are the keys of the disks and files that every machine may have; the user's own
// disks have other keys.
const (
	Root     = "root"
	Seed     = "seed"
	Ignition = "ignition"
)

// Hardware is what a user's words for a machine and its XML have in common: a Spec and a Machine have it alike. The tags say which
// attribute of a node a field is (convert.ToPlain), and that a running machine cannot follow a change of it.
type Hardware struct {
	// Type is "kvm" or "qemu".
	Type string `attr:"type" restart:"yes"`
	// MemoryMiB is what the guest is left with and MaxMemoryMiB what it can be given without a restart.
	MemoryMiB    int64 `attr:"memory_mib"`
	MaxMemoryMiB int64 `attr:"max_memory_mib" restart:"yes"`
	VCPUs        int64 `attr:"vcpus"`
	MaxVCPUs     int64 `attr:"max_vcpus" restart:"yes"`
	CPU          CPU   `attr:"cpu"`
	// Hugepages are "none", "default", or a size of pages that the memory is made of, and NUMA the parts that it has.
	Hugepages string `attr:"hugepages" restart:"yes"`
	NUMA      []Cell `attr:"numa" restart:"yes"`
	// Chipset is libvirt's machine: "q35", "pc" or a version of them such as "pc-q35-7.2".
	Chipset string `attr:"machine" restart:"yes"`
	// Firmware is "bios", "uefi" or "uefi-secure".
	Firmware string  `attr:"firmware" restart:"yes"`
	Boot     Boot    `attr:"boot"`
	Console  Console `attr:"console"`
	// Graphics is "none", "vnc" or "spice".
	Graphics   string   `attr:"graphics" restart:"yes"`
	GuestAgent bool     `attr:"guest_agent" restart:"yes"`
	RNG        bool     `attr:"rng"`
	TPM        TPM      `attr:"tpm"`
	Watchdog   Watchdog `attr:"watchdog"`
	SMBIOS     SMBIOS   `attr:"smbios"`
	// Filesystems are directories of the hypervisor that the guest can mount.
	Filesystems []Filesystem `attr:"filesystems"`
	// HostDevices are devices of the hypervisor that the guest has to itself. A Machine has PCI devices by their addresses.
	HostDevices []HostDevice `attr:"host_devices"`
	// Patch is what the domain's XML has at places that no other attribute speaks of, by their paths (xmlpatch.Patch).
	Patch map[string]string `attr:"xml_patch" restart:"yes"`
}

// Machine is a virtual machine as the provider models it.
type Machine struct {
	Name, UUID string
	Hardware
	// Disks in the order the guest sees them: root first, the seed last.
	Disks      []Disk
	Interfaces []Interface
	// IgnitionFile is the file on the hypervisor that fw_cfg hands over; "" for none.
	IgnitionFile string
	// Medium is what is in the drive for media. Read, nil says that there is no drive; applied, that it stays as it is.
	Medium *Medium
	Mark   Mark
}

// CPU is the processor as the guest sees it.
type CPU struct {
	// Mode is libvirt's: "host-passthrough", "host-model", "maximum" or "custom".
	Mode string `attr:"mode" restart:"yes"`
	// Model is set for mode "custom".
	Model string `attr:"model" restart:"yes"`
	// Nested allows or forbids the guest to run virtual machines; nil leaves it to the mode.
	Nested   *bool    `attr:"nested" restart:"yes"`
	Topology Topology `attr:"topology"`
	// Pinning are the hypervisor's processors that vCPUs run on, by their numbers.
	Pinning map[string]string `attr:"pinning"`
	// Feature is the processor's own name of nested virtualisation: "vmx" or "svm".
	Feature string
}

// Boot is how the machine starts.
type Boot struct {
	// Order holds libvirt's devices: "hd", "network", "cdrom".
	Order   []string `attr:"order"`
	Kernel  string   `attr:"kernel" restart:"yes"`
	Initrd  string   `attr:"initrd" restart:"yes"`
	Cmdline string   `attr:"cmdline" restart:"yes"`
}

// Disk is one disk.
type Disk struct {
	// Key is Root, Seed or the user's name for it. The guest sees it as the disk's serial number.
	Key string
	// Path is a file or, with Block, a block device on the hypervisor.
	Path  string
	Block bool
	// Layer is the file that a snapshot has the disk go on in, upon that at Path; "" for none.
	Layer string
	// Pool and Volume are set where the XML names a volume instead: only the hypervisor knows its path.
	Pool, Volume string
	// Format is QEMU's: "qcow2" or "raw".
	Format string
	// Bus is "virtio", "scsi", "sata" or "usb".
	Bus string
	DiskTuning
	// Target is libvirt's name for it, such as "vda"; a new disk has none yet.
	Target string
}

// Interface is one network interface, in either a libvirt network or a bridge of the host.
type Interface struct {
	// MAC in canonical form.
	MAC             string
	Network, Bridge string
	// Port is the UUID by which OVN knows an interface that is bound to a port of the machine's own; "" for none. UserSpace says that its
	// chassis forwards in user space.
	Port      string
	UserSpace bool
	Model     string
	// MTU in bytes; 0 means the network's.
	MTU       int64
	Bandwidth Bandwidth
	Wiring
	// Filter is the provider's own network filter that guards it; "" for none, and for one that somebody else made.
	Filter string
}

// FilterPrefix is what the names of the provider's own network filters begin with.
const FilterPrefix = "virtcluster-"

// Disk finds a disk by its key; nil where there is none.
func (m *Machine) Disk(key string) *Disk {
	for i := range m.Disks {
		if m.Disks[i].Key == key {
			return &m.Disks[i]
		}
	}
	return nil
}

// Render makes the XML of a new machine.
func Render(m *Machine) (*libvirtxml.Domain, error) {
	d := newSkeleton(m)
	if err := Apply(d, m); err != nil {
		return nil, err
	}
	return d, nil
}

// sparePorts is how many devices can be plugged into a running q35 machine beyond those it started with: libvirt leaves
// it one, and the start of a machine with these takes no longer.
const sparePorts = 8

// builtinDevices is the most devices that a machine has a port for beside its disks and interfaces: the memory balloon, the
// random number generator, the guest agent's channel and the video card.
const builtinDevices = 4

// newSkeleton returns a domain with what every machine has and nobody chooses.
func newSkeleton(m *Machine) *libvirtxml.Domain {
	d := &libvirtxml.Domain{
		Name: m.Name, UUID: m.UUID,
		OS:       &libvirtxml.DomainOS{Type: &libvirtxml.DomainOSType{Arch: "x86_64", Machine: m.Chipset, Type: "hvm"}},
		Features: &libvirtxml.DomainFeatureList{ACPI: &libvirtxml.DomainFeature{}, APIC: &libvirtxml.DomainFeatureAPIC{}},
		Clock: &libvirtxml.DomainClock{Offset: "utc", Timer: []libvirtxml.DomainTimer{
			// What keeps a guest's clock right when its host is busy (libvirt's own advice).
			{Name: "rtc", TickPolicy: "catchup"}, {Name: "pit", TickPolicy: "delay"}, {Name: "hpet", Present: "no"},
		}},
		OnPoweroff: "destroy", OnReboot: "restart", OnCrash: "destroy",
		Devices: &libvirtxml.DomainDeviceList{
			MemBalloon: &libvirtxml.DomainMemBalloon{Model: "virtio"},
			// USB is of no use to a server, and libvirt adds it unless told not to.
			Controllers: []libvirtxml.DomainController{{Type: "usb", Model: "none"}},
		},
	}
	if isQ35(m.Chipset) {
		d.Devices.Controllers = append(d.Devices.Controllers, planPCIExpress(m)...)
	}
	return d
}

// planPCIExpress is the PCI Express topology of a machine, with the ports that it needs and some to spare: unlike the older
// chipset, q35 has no places of its own to plug devices in.
func planPCIExpress(m *Machine) []libvirtxml.DomainController {
	root := uint(0)
	all := []libvirtxml.DomainController{{Type: "pci", Index: &root, Model: "pcie-root"}}
	return append(all, newPorts(root, len(m.Disks)+len(m.Interfaces)+len(m.Filesystems)+len(m.HostDevices)+builtinDevices+sparePorts)...)
}
