package machine

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	difference "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"libvirt.org/go/libvirtxml"
)

const someUUID = "7f1c2f7e-3d5b-4c55-9d5e-0a6f3c1c2b3a"

// machines are the golden files' machines, by file name.
func machines() map[string]*Machine {
	yes := true
	return map[string]*Machine{
		"minimal": {
			Name: "okd-master-01", UUID: someUUID,
			Hardware: Hardware{
				Type: "qemu", MemoryMiB: 192, MaxMemoryMiB: 192, VCPUs: 1, MaxVCPUs: 1,
				CPU: CPU{Mode: "custom", Model: "Nehalem"}, Chipset: "q35", Firmware: "bios",
				Boot: Boot{Order: []string{"hd"}}, Console: Console{Type: "pty"}, Graphics: "none", GuestAgent: true, RNG: true,
			},
			Disks:      []Disk{{Key: Root, Path: "/pool/okd-master-01-root.qcow2", Format: "qcow2", Bus: "virtio"}},
			Interfaces: []Interface{{MAC: "52:54:00:aa:6c:b1", Network: "kimgtnet0", Model: "virtio"}},
			Mark:       Mark{Role: "master", Creating: "run", Disks: []MarkedDisk{{Key: Root, Pool: "pool", Volume: "okd-master-01-root.qcow2"}}},
		},
		"everything": {
			Name: "okd-service-01", UUID: someUUID,
			Hardware: Hardware{
				Type: "kvm", MemoryMiB: 1024, MaxMemoryMiB: 2048, VCPUs: 2, MaxVCPUs: 4,
				CPU: CPU{Mode: "host-model", Nested: &yes, Feature: "vmx"}, Chipset: "q35", Firmware: "uefi-secure",
				Boot:    Boot{Order: []string{"network", "hd"}, Kernel: "/boot/vmlinuz", Initrd: "/boot/initrd", Cmdline: "console=ttyS0 a=\"b\""},
				Console: Console{Type: "pty", LogFile: "/var/log/console.log"}, Graphics: "vnc", GuestAgent: true, RNG: true,
			},
			Disks: []Disk{
				{Key: Root, Path: "/pool/root.qcow2", Format: "qcow2", Bus: "virtio"},
				{Key: "data", Path: "/dev/vg/data", Block: true, Format: "raw", Bus: "scsi"},
				{Key: "stick", Path: "/pool/stick.qcow2", Format: "qcow2", Bus: "usb"},
				{Key: Seed, Path: "/pool/seed.iso", Format: "raw", Bus: "virtio", DiskTuning: DiskTuning{ReadOnly: true}},
			},
			Interfaces: []Interface{
				{MAC: "52:54:00:f2:46:a7", Network: "kimgtnet0", Model: "virtio", MTU: 9000},
				{MAC: "52:54:00:f2:46:a8", Bridge: "kiextbr0", Model: "e1000e", Filter: "virtcluster-okd-service-01-525400f246a8"},
			},
			IgnitionFile: "/pool/ignition.json",
			Mark: Mark{
				Settings: &Settings{AllowRestart: true, ShutdownTimeout: "20s", WaitFor: "lease", Timeouts: &Timeouts{Create: "30m"}},
				Role:     "service", Labels: []MarkedLabel{{"cluster", "okd & <more>"}}, Disks: []MarkedDisk{{Key: Root, Pool: "pool", Volume: "root.qcow2"}, {Key: "data"}},
				Interfaces: []MarkedInterface{{MAC: "52:54:00:f2:46:a8", Name: "eth1", Addresses: "10.19.41.157/24", Gateway: "10.19.41.254", Routes: "10.128.0.0/14>10.19.41.1"}},
			},
		},
		"devices": {
			Name: "devices", UUID: someUUID,
			Hardware: Hardware{
				Type: "kvm", MemoryMiB: 512, MaxMemoryMiB: 512, VCPUs: 4, MaxVCPUs: 4, Hugepages: "2M",
				CPU:  CPU{Mode: "maximum", Topology: Topology{1, 1, 2, 2}, Pinning: map[string]string{"0": "2-3", "3": "0"}},
				NUMA: []Cell{{"0-1", 256, "0"}, {"2-3", 256, ""}}, Chipset: "q35", Firmware: "bios", Graphics: "none",
				HostDevices: []HostDevice{{PCI: "0000:03:00.0"}, {USB: "046d:c52b"}, {MDEV: "c2177883-f1bb-47f0-914d-32a22e3a8804"}},
				Filesystems: []Filesystem{{Source: "/srv/a", Target: "a", Driver: virtiofs}, {Source: "/srv/b", Target: "b", Driver: "9p", ReadOnly: true}},
				Boot:        Boot{Order: []string{"hd"}}, Console: Console{Type: "tcp", Address: "127.0.0.1", Port: 4555, Protocol: "telnet"},
				TPM: TPM{Model: "tpm-crb", Version: "2.0"}, Watchdog: Watchdog{Model: "i6300esb", Action: "poweroff"},
				SMBIOS: SMBIOS{Manufacturer: "ACME & Sons", Product: "Anvil", Serial: "42", OEMStrings: []string{"one", "two"}},
			},
			Interfaces: []Interface{{MAC: "52:54:00:f2:46:a9", Network: "n", Model: "virtio", Bandwidth: Bandwidth{InboundAverage: 1000, InboundBurst: 64, OutboundAverage: 128}}},
			Disks: []Disk{
				{Key: Root, Path: "/pool/root.qcow2", Format: "qcow2", Bus: "virtio", DiskTuning: DiskTuning{Cache: "none", IO: "native", Discard: "ignore", IOThread: 2}},
				{Key: "shared", Path: "/pool/shared.raw", Format: "raw", Bus: "scsi", DiskTuning: DiskTuning{Shareable: true, Limits: DiskLimits{ReadBytes: 1 << 20, TotalIOPS: 100}}},
				{Key: "data", Path: "/pool/data.raw", Format: "raw", Bus: "virtio", DiskTuning: DiskTuning{Cache: "unsafe", IO: "threads", ReadOnly: true}},
			},
		},
		"pc-uefi": {
			Name: "pc", UUID: someUUID,
			Hardware: Hardware{
				Type: "qemu", MemoryMiB: 512, MaxMemoryMiB: 512, VCPUs: 1, MaxVCPUs: 1,
				CPU: CPU{Mode: "maximum"}, Chipset: "pc", Firmware: "uefi",
				Boot: Boot{Order: []string{"network"}}, Console: Console{Type: "none"}, Graphics: "spice",
			},
		},
	}
}

func TestRender(t *testing.T) {
	for name, m := range machines() {
		t.Run(name, func(t *testing.T) {
			d, err := Render(m)
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".xml")
			if os.Getenv("UPDATE_GOLDEN") != "" {
				if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := difference.Diff(string(want), got+"\n"); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadUndoesRender(t *testing.T) {
	for name, m := range machines() {
		t.Run(name, func(t *testing.T) {
			d, err := Render(m)
			if err != nil {
				t.Fatal(err)
			}
			got := Read(d)
			sayDefaults(m)
			if diff := difference.Diff(m, got, cmpopts.IgnoreFields(Mark{}, "XMLName"), cmpopts.IgnoreFields(MarkedDisk{}, "Target")); diff != "" {
				t.Error(diff)
			}
			if !got.Mark.IsPresent() {
				t.Error("the mark is not known as the provider's own")
			}
		})
	}
}

// sayDefaults says what nobody chose, as a machine that is read does.
func sayDefaults(m *Machine) {
	m.Hugepages = cmp.Or(m.Hugepages, noHugepages)
	m.TPM.Model, m.TPM.Version = cmp.Or(m.TPM.Model, DefaultTPM.Model), cmp.Or(m.TPM.Version, DefaultTPM.Version)
	m.Watchdog.Model, m.Watchdog.Action = cmp.Or(m.Watchdog.Model, DefaultWatchdog.Model), cmp.Or(m.Watchdog.Action, DefaultWatchdog.Action)
	for i := range m.Disks {
		t := &m.Disks[i].DiskTuning
		discard := "unmap"
		if t.ReadOnly {
			discard = "ignore"
		}
		t.Cache, t.IO, t.Discard = cmp.Or(t.Cache, "default"), cmp.Or(t.IO, "default"), cmp.Or(t.Discard, discard)
	}
}

// byHandText is a domain as someone else wrote it, with much that the provider does not model.
func byHandText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/by-hand.xml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func byHand(t *testing.T) *libvirtxml.Domain {
	t.Helper()
	d := &libvirtxml.Domain{}
	if err := d.Unmarshal(byHandText(t)); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestApplyingWhatWasReadAddsOnlyTheMark(t *testing.T) {
	d := byHand(t)
	before, _ := d.Marshal()
	if err := Apply(d, Read(d)); err != nil {
		t.Fatal(err)
	}
	mark, _ := Read(d).RenderMark()
	after, _ := d.Marshal()
	after = strings.Replace(after, qualifyElement(mark), "", 1)
	if diff := difference.Diff(before, after); diff != "" {
		t.Error(diff)
	}
}

func TestApplyChangesOnlyWhatDiffers(t *testing.T) {
	d := byHand(t)
	m := Read(d)
	m.MemoryMiB, m.Boot.Order, m.Disks[1].Bus = 64, []string{"network"}, "scsi"
	m.Interfaces = append(m.Interfaces, Interface{MAC: "52:54:00:00:00:09", Bridge: "br9", Model: "virtio"})
	if err := Apply(d, m); err != nil {
		t.Fatal(err)
	}
	after, _ := d.Marshal()
	for _, kept := range []string{
		"<shares>512</shares>", `cache="unsafe"`, "<total_iops_sec>1000</total_iops_sec>", `device="cdrom"`, `<source dev="eth5" mode="bridge">`,
		`passwd="secret"`, "libosinfo:os", `<vmcoreinfo state="on">`, "<title>By hand</title>", `name="FOO"`, `queues="2"`, "i6300esb",
	} {
		t.Run(kept, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(after, kept) {
				t.Errorf("%s is lost:\n%s", kept, after)
			}
		})
	}
	got := Read(d)
	if got.MemoryMiB != 64 || got.Boot.Order[0] != "network" || got.Disk("vdb").Bus != "scsi" || len(got.Interfaces) != 3 {
		t.Errorf("changes did not arrive: %+v", got)
	}
	if !strings.Contains(after, `model="virtio-scsi"`) {
		t.Error("a SCSI disk without the controller that guests know")
	}
}

func TestRootIsTheFirstDiskOfAForeignDomain(t *testing.T) {
	m := Read(byHand(t))
	if m.Mark.IsPresent() || m.Disk(Root) == nil || m.Disk(Root).Target != "vda" || m.Disk("vdb") == nil || len(m.Disks) != 2 {
		t.Errorf("disks are %+v", m.Disks)
	}
}

func TestNewDisksGetFreeTargets(t *testing.T) {
	d := byHand(t)
	for _, want := range []string{"vdc", "vdd"} {
		t.Run(want, func(t *testing.T) {
			disk := Disk{Key: want, Path: "/p/" + want, Format: "qcow2", Bus: "virtio"}
			d.Devices.Disks = append(d.Devices.Disks, *NewDisk(d, &disk))
			if disk.Target != want {
				t.Errorf("target is %s, want %s", disk.Target, want)
			}
		})
	}
	if got := spellDiskLetters(26) + spellDiskLetters(27) + spellDiskLetters(701); got != "aaabzz" {
		t.Errorf("beyond z: %s", got)
	}
}

func TestSameChipset(t *testing.T) {
	for _, c := range []struct {
		asked, got string
		want       bool
	}{
		{"q35", "pc-q35-7.2", true},
		{"pc", "pc-i440fx-7.2", true},
		{"pc-q35-7.2", "pc-q35-7.2", true},
		{"pc-q35-7.1", "pc-q35-7.2", false},
		{"q35", "pc-i440fx-7.2", false},
	} {
		t.Run(c.asked, func(t *testing.T) {
			t.Parallel()
			if SameChipset(c.asked, c.got) != c.want {
				t.Errorf("%s and %s: want %t", c.asked, c.got, c.want)
			}
		})
	}
}

func TestCheckKey(t *testing.T) {
	for key, valid := range map[string]bool{"data": true, "a.b-c_D9": true, "": false, "root": false, "seed": false, "has space": false, "123456789012345678901": false} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			if err := CheckKey(key); (err == nil) != valid {
				t.Errorf("%q: %v", key, err)
			}
		})
	}
}

func TestMemoryUnits(t *testing.T) {
	for unit, want := range map[string]int64{"": 1, "KiB": 1, "MiB": 1024, "GiB": 1 << 20, "b": 0} {
		t.Run(unit, func(t *testing.T) {
			t.Parallel()
			if got := toMebibytes(1024, unit); got != want {
				t.Errorf("1024 %s: %d MiB, want %d", unit, got, want)
			}
		})
	}
}
