package machine

import (
	"fmt"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"
)

func domainOf(t *testing.T, devices string) *libvirtxml.Domain {
	t.Helper()
	d := &libvirtxml.Domain{}
	if err := d.Unmarshal("<domain><name>n</name><os><type machine='pc-q35-7.2'>hvm</type></os><devices>" + devices + "</devices></domain>"); err != nil {
		t.Fatal(err)
	}
	return d
}

// address is where a device is, on a bus in a slot.
func address(bus, slot int) string {
	return fmt.Sprintf("<address type='pci' domain='0x0000' bus='0x%02x' slot='0x%02x' function='0x0'/>", bus, slot)
}

const pcieRoot = "<controller type='pci' index='0' model='pcie-root'/>"

func rootPort(index int) string {
	return fmt.Sprintf("<controller type='pci' index='%d' model='pcie-root-port'>%s</controller>", index, address(0, index))
}

func TestRoomOfAMachineThatRuns(t *testing.T) {
	usb := "<controller type='usb' model='none'/>"
	nic := func(bus, slot int) string {
		return "<interface type='bridge'><source bridge='b'/>" + address(bus, slot) + "</interface>"
	}
	older := "<controller type='pci' index='0' model='pci-root'/>"
	full := ""
	for slot := 2; slot <= 30; slot++ {
		full += nic(0, slot)
	}
	for name, c := range map[string]struct {
		devices string
		plug    []string // disks' buses, and "=" and a network card's model; all but the last fit
		want    string   // why the last one does not fit; "" where it does
	}{
		"a port that is free":                   {pcieRoot + rootPort(1) + rootPort(2) + nic(1, 0), []string{"virtio"}, ""},
		"ports that are taken":                  {pcieRoot + rootPort(1) + rootPort(2) + nic(1, 0), []string{"virtio", "=e1000e"}, "PCI Express port"},
		"ports that stay closed":                {pcieRoot + "<controller type='pci' index='1' model='pcie-root-port'><target hotplug='off'/></controller>", []string{"=virtio"}, "PCI Express port"},
		"the hypervisor's own addresses":        {pcieRoot + rootPort(1) + "<interface type='hostdev'><source>" + address(1, 0) + "</source></interface>", []string{"virtio"}, ""},
		"a card of conventional PCI":            {pcieRoot + rootPort(1), []string{"=e1000"}, "conventional PCI"},
		"a card that libvirt does not know":     {pcieRoot + rootPort(1), []string{"=pcnet"}, ""},
		"a card on USB":                         {pcieRoot + rootPort(1), []string{"=usb-net"}, "no USB"},
		"the same with a bridge":                {pcieRoot + rootPort(1) + "<controller type='pci' index='2' model='pcie-to-pci-bridge'>" + address(1, 0) + "</controller>", []string{"=e1000"}, ""},
		"the first SCSI disk takes a port":      {pcieRoot + rootPort(1), []string{"scsi", "scsi", "virtio"}, "PCI Express port"},
		"the next one is on the controller":     {pcieRoot + "<controller type='scsi' model='virtio-scsi'/>", []string{"scsi"}, ""},
		"no port for the controller":            {pcieRoot, []string{"scsi"}, "PCI Express port"},
		"USB that is switched off":              {pcieRoot + rootPort(1) + usb, []string{"usb"}, "no USB"},
		"USB":                                   {pcieRoot + "<controller type='usb' model='qemu-xhci'/>", []string{"usb"}, ""},
		"SATA":                                  {pcieRoot + rootPort(1), []string{"sata"}, `"sata"`},
		"the older chipset":                     {older + full, []string{"=e1000", "virtio"}, "PCI slot"},
		"the older chipset's slot 1 in the XML": {older + full + "<controller type='ide'>" + address(0, 1) + "</controller>", []string{"=virtio", "virtio"}, "PCI slot"},
		"and a bridge":                          {older + full + nic(0, 31) + "<controller type='pci' index='1' model='pci-bridge'/>", []string{"virtio", "=rtl8139"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := CountFreePorts(domainOf(t, c.devices))
			if err != nil {
				t.Fatal(err)
			}
			for n, what := range c.plug {
				if card, ok := strings.CutPrefix(what, "="); ok {
					err = r.PlugInterface(card)
				} else {
					err = r.PlugDisk(what)
				}
				if n < len(c.plug)-1 && err != nil {
					t.Fatalf("%s does not fit: %v", what, err)
				}
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("the last one: %v, want %q", err, c.want)
			}
		})
	}
}

func TestWhatIsUnpluggedGivesRoom(t *testing.T) {
	r, err := CountFreePorts(domainOf(t, pcieRoot))
	if err != nil || r.UnplugDisk("virtio") != nil || r.PlugInterface("virtio") != nil || r.PlugInterface("virtio") == nil {
		t.Errorf("%+v, %v", r, err)
	}
	if r.UnplugDisk("sata") == nil {
		t.Error("a SATA disk can be unplugged")
	}
}

func TestANewMachineHasRoomForMore(t *testing.T) {
	for name, m := range machines() {
		d, err := Render(m)
		if err != nil || !isQ35(m.Chipset) {
			continue
		}
		r, err := CountFreePorts(d)
		if own := len(m.Disks) + len(m.Interfaces) + builtinDevices; err != nil || r.ports-own < sparePorts {
			t.Errorf("%s has %d ports, and %d devices of its own: %v", name, r.ports, own, err)
		}
	}
}

func TestAConfigurationThatIsTooNarrowIsWidened(t *testing.T) {
	d := domainOf(t, pcieRoot+rootPort(1)+rootPort(2)+"<disk type='file' device='disk'><source file='/root'/><target dev='vda' bus='virtio'/>"+address(1, 0)+"</disk>")
	want := Read(d)
	change := func(keys ...string) int {
		for _, key := range keys {
			want.Disks = append(want.Disks, Disk{Key: key, Path: "/" + key, Format: "raw", Bus: "virtio"})
		}
		if err := Apply(d, want); err != nil {
			t.Fatal(err)
		}
		return len(d.Devices.Controllers)
	}
	if got := change("a"); got != 3 {
		t.Errorf("with room for it, there are %d controllers", got)
	}
	if got := change("b", "c"); got != 3+2+sparePorts {
		t.Errorf("with two too many, there are %d controllers", got)
	}
	if last := d.Devices.Controllers[len(d.Devices.Controllers)-1]; *last.Index != 2+2+sparePorts {
		t.Errorf("the last port is %d", *last.Index)
	}
}

func TestAnotherChipsetHasOtherPlaces(t *testing.T) {
	source := "<hostdev mode='subsystem' type='pci'><source>" + strings.Replace(address(5, 0), "type='pci' ", "", 1) + "</source>" + address(2, 0) + "</hostdev>"
	d := domainOf(t, pcieRoot+rootPort(1)+rootPort(2)+"<controller type='sata'>"+address(0, 31)+"</controller>"+source+
		"<disk type='file' device='disk'><source file='/root'/><target dev='vda' bus='virtio'/>"+address(1, 0)+"</disk>")
	m := Read(d)
	for _, chipset := range []string{"pc", "pc-i440fx-7.2", "q35", "pc-q35-7.2"} {
		t.Run(chipset, func(t *testing.T) {
			m.Chipset = chipset
			if err := Apply(d, m); err != nil {
				t.Fatal(err)
			}
			want := 0
			if isQ35(chipset) {
				want = 1 + len(m.Disks) + len(m.HostDevices) + builtinDevices + sparePorts
			}
			if len(d.Devices.Controllers) != want || d.Devices.Disks[0].Address != nil || d.Devices.Hostdevs[0].Address != nil || d.OS.Type.Machine != chipset {
				t.Errorf("%s has %d controllers, want %d, and a disk at %v", chipset, len(d.Devices.Controllers), want, d.Devices.Disks[0].Address)
			}
			if got := d.Devices.Hostdevs[0].SubsysPCI.Source.Address; got == nil || *got.Bus != 5 {
				t.Errorf("%s passes through another device: %v", chipset, got)
			}
		})
	}
}
