package machine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// someDevices are a hypervisor's, as libvirt lists them: two alike network cards of which one shares its IOMMU group with another device and
// a bridge, a card of a group whose other device was given up, one without a group, one by which the hypervisor has an interface, a USB stick
// with a disk and another USB device, and a mediated device.
func someDevices(t *testing.T) hostDevices {
	t.Helper()
	at := func(buses ...int) string {
		text := ""
		for _, bus := range buses {
			text += fmt.Sprintf(`<address domain='0x0000' bus='0x%02x' slot='0x00' function='0x0'/>`, bus)
		}
		return text
	}
	pci := func(bus int, class, vendor, product, driver string, group ...int) string {
		grouped := ""
		if len(group) > 0 {
			grouped = "<iommuGroup number='1'>" + at(group...) + "</iommuGroup>"
		}
		return fmt.Sprintf(`<device><name>pci_%d</name><path>/sys/devices/pci0000:00/0000:%02x:00.0</path><driver><name>%s</name></driver><capability type='pci'><class>%s</class><domain>0</domain>
			<bus>%d</bus><slot>0</slot><function>0</function><product id='%s'>p</product><vendor id='%s'>v</vendor>%s</capability></device>`, bus, bus, driver, class, bus, product, vendor, grouped)
	}
	var all hostDevices
	for _, text := range []string{
		pci(1, "0x020000", "0x8086", "0x1572", "i40e", 1),
		pci(2, "0x020000", "0x8086", "0x1572", "i40e", 2, 3, 4),
		pci(3, "0x060400", "0x8086", "0x0001", "pcieport", 2, 3, 4),
		pci(4, "0x030000", "0x10de", "0x1b80", "nouveau", 2, 3, 4),
		pci(5, "0x020000", "0x8086", "0x0005", "e1000e", 5, 6),
		pci(6, "0x020000", "0x8086", "0x0006", "vfio-pci", 5, 6),
		pci(7, "0x020000", "0x8086", "0x0007", "e1000e"),
		pci(8, "0x020000", "0x8086", "0x0008", "e1000e", 8),
		`<device><name>net</name><path>/sys/devices/pci0000:00/0000:08:00.0/net/eno1</path><capability type='net'><interface>eno1</interface><link state='up'/></capability></device>`,
		`<device><name>net_down</name><path>/sys/devices/pci0000:00/0000:01:00.0/net/eno2</path><capability type='net'><interface>eno2</interface><link state='down'/></capability></device>`,
		`<device><name>usb</name><path>/sys/devices/usb1/1-4</path><capability type='usb_device'><bus>1</bus><device>4</device><product id='0xc52b'>p</product><vendor id='0x046d'>v</vendor></capability></device>`,
		`<device><name>stick</name><path>/sys/devices/usb1/1-5</path><capability type='usb_device'><bus>1</bus><device>5</device><product id='0x5567'>p</product><vendor id='0x0781'>v</vendor></capability></device>`,
		`<device><name>disk</name><path>/sys/devices/usb1/1-5/host0/block/sda</path><capability type='storage'><block>/dev/sda</block></capability></device>`,
		`<device><name>mdev</name><capability type='mdev'><type id='t'/><uuid>c2177883-f1bb-47f0-914d-32a22e3a8804</uuid></capability></device>`,
	} {
		d := &libvirtxml.NodeDevice{}
		if err := d.Unmarshal(text); err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

const someMDEV = "c2177883-f1bb-47f0-914d-32a22e3a8804"

func TestWhichDevicesOfAHypervisorAreFree(t *testing.T) {
	client, err := hypervisor.New("test:///default", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first := HostDevice{PCI: "0000:01:00.0"}
	for name, c := range map[string]struct {
		want    []HostDevice
		holders map[HostDevice]string
		problem string
	}{
		"one of its own group": {[]HostDevice{first}, nil, ""},
		"by what it is":        {[]HostDevice{{PCI: "10de:1b80"}, {PCI: "0000:02:00.0"}}, nil, ""},
		"all of a group":       {[]HostDevice{{PCI: "0000:02:00.0"}, {PCI: "0000:04:00.0"}}, nil, ""},
		"one of a group":       {[]HostDevice{{PCI: "0000:02:00.0"}}, nil, "Shared IOMMU group [host_devices 0 pci]"},
		"one of two":           {[]HostDevice{{PCI: "8086:1572"}}, nil, "Several such devices [host_devices 0 pci]"},
		"none":                 {[]HostDevice{{PCI: "0000:09:00.0"}}, nil, "No such device [host_devices 0 pci]"},
		"one of a group whose other one was given up": {[]HostDevice{{PCI: "0000:05:00.0"}}, nil, ""},
		"without a group":           {[]HostDevice{{PCI: "8086:0007"}}, nil, "Device without an IOMMU [host_devices 0 pci]"},
		"by two names":              {[]HostDevice{{PCI: "0000:05:00.0"}, {PCI: "8086:0005"}}, nil, "Duplicate device [host_devices 1 pci]"},
		"an interface that is up":   {[]HostDevice{{PCI: "8086:0008"}}, nil, "Device in use [host_devices 0 pci]"},
		"a disk by USB":             {[]HostDevice{{USB: "1.5"}}, nil, "Device in use [host_devices 0 usb]"},
		"another domain's":          {[]HostDevice{first}, map[HostDevice]string{first: "other"}, "Device in use [host_devices 0 pci]"},
		"USB by what it is":         {[]HostDevice{{USB: "046d:c52b"}}, nil, ""},
		"USB by where it is":        {[]HostDevice{{USB: "1.4"}}, nil, ""},
		"another domain's USB":      {[]HostDevice{{USB: "046d:c52b"}}, map[HostDevice]string{{USB: "1.4"}: "other"}, "Device in use [host_devices 0 usb]"},
		"a mediated device":         {[]HostDevice{{MDEV: someMDEV}}, nil, ""},
		"no such mediated device":   {[]HostDevice{{MDEV: someUUID}}, nil, "No such device [host_devices 0 mdev]"},
		"a device that comes later": {[]HostDevice{{}}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := &Checker{Client: client, Want: &Spec{Hardware: Hardware{HostDevices: c.want}}}
			deviceChecker{k}.findUnfreeDevices(someDevices(t), c.holders, nil)
			var got []string
			for _, p := range k.problems {
				got = append(got, fmt.Sprint(p.Summary, " ", p.Path))
			}
			if all := strings.Join(got, "; "); all != c.problem {
				t.Errorf("%s: %s, want %s", name, all, c.problem)
			}
		})
	}
}

func TestTheHypervisorKeepsItsOwnScreen(t *testing.T) {
	client, err := hypervisor.New("test:///default", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	display, beside := HostDevice{PCI: "0000:04:00.0"}, HostDevice{PCI: "0000:02:00.0"}
	for _, shown := range []bool{true, false} {
		t.Run(fmt.Sprint(shown), func(t *testing.T) {
			k := &Checker{Client: client, Want: &Spec{Hardware: Hardware{HostDevices: []HostDevice{display, beside}}}}
			deviceChecker{k}.findUnfreeDevices(someDevices(t), nil, map[HostDevice]bool{display: shown})
			if (len(k.problems) == 1) != shown {
				t.Errorf("it says %v", k.problems)
			}
		})
	}
	k := &Checker{Client: client, Want: &Spec{Hardware: Hardware{HostDevices: []HostDevice{display}}}}
	if found, err := (deviceChecker{k}).findBootDisplays(t.Context(), someDevices(t)); err != nil || len(found) != 1 || found[display] {
		t.Errorf("libvirt's test driver shows itself at %v, %v", found, err)
	}
}

func TestDevicesAreReadAsTheyWereWritten(t *testing.T) {
	want := []HostDevice{{PCI: "0000:0a:1f.3"}, {USB: "046d:c52b"}, {USB: "1.4"}, {MDEV: someMDEV}}
	d := &libvirtxml.Domain{Devices: &libvirtxml.DomainDeviceList{}}
	hostedDevices.putDevices(d, nil, want)
	text, err := d.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again := &libvirtxml.Domain{}
	if err := again.Unmarshal(text); err != nil || !slices.Equal(hostedDevices.readDevices(again), want) {
		t.Errorf("read as %+v, %v:\n%s", hostedDevices.readDevices(again), err, text)
	}
}

func TestADeviceIsCalledAsItIsKnown(t *testing.T) {
	devices := someDevices(t)
	found := []HostDevice{{PCI: "0000:04:00.0"}, {PCI: "0000:01:00.0"}}
	for name, c := range map[string]struct{ known, want []HostDevice }{
		"by what it is": {[]HostDevice{{PCI: "10de:1b80"}}, []HostDevice{{PCI: "10de:1b80"}, found[1]}},
		"another one":   {[]HostDevice{{PCI: "8086:0001"}}, found},
		"not yet":       {nil, found},
	} {
		t.Run(name, func(t *testing.T) {
			if got := devices.nameAs(c.known, found); !slices.Equal(got, c.want) {
				t.Errorf("%s: %+v", name, got)
			}
		})
	}
}

func TestWhatIsNoDevice(t *testing.T) {
	for text, check := range map[string]func(string) error{"03:00.0": CheckPCI, "0000:03:00.8": CheckPCI, "8086:15G2": CheckPCI, "1-4": CheckUSB, "0.4": CheckUSB, "046D:c52b": CheckUSB} {
		t.Run(text, func(t *testing.T) {
			if check(text) == nil {
				t.Errorf("%q is taken for a device", text)
			}
		})
	}
}

func TestADeviceOfUSBBringsItsController(t *testing.T) {
	d := newSkeleton(&Machine{Hardware: Hardware{Chipset: "q35"}})
	hostedDevices.putDevices(d, nil, []HostDevice{{USB: "1.4"}})
	if got := slices.ContainsFunc(d.Devices.Controllers, func(c libvirtxml.DomainController) bool { return c.Type == "usb" && c.Model == "none" }); got {
		t.Errorf("there is to be no USB: %+v", d.Devices.Controllers)
	}
}

func TestOnlyANodeThatRunsUsesADevice(t *testing.T) {
	s := &Spec{Hardware: Hardware{HostDevices: []HostDevice{{PCI: "0000:01:00.0"}, {}}}}
	for _, running := range []bool{true, false} {
		t.Run(fmt.Sprint(running), func(t *testing.T) {
			s.Running = running
			uses := slices.DeleteFunc(s.Uses(), func(u plan.Use) bool { return u.Kind != plan.HostDevice })
			if got := len(uses) == 1 && uses[0].Value == "PCI device 0000:01:00.0"; got != running {
				t.Errorf("it uses %v", uses)
			}
		})
	}
}

func TestDevicesThatADomainHasAsCardsAndDisksAreHeld(t *testing.T) {
	d := &libvirtxml.Domain{}
	const text = `<domain type='kvm'><devices>
		<interface type='hostdev'><source><address type='pci' domain='0' bus='3' slot='0x10' function='1'/></source></interface>
		<disk type='nvme' device='disk'><source type='pci' namespace='1'><address domain='0' bus='4' slot='0' function='0'/></source><target dev='vda'/></disk>
	</devices></domain>`
	if err := d.Unmarshal(text); err != nil {
		t.Fatal(err)
	}
	if got := listPassedOn(d); !slices.Equal(got, []HostDevice{{PCI: "0000:03:10.1"}, {PCI: "0000:04:00.0"}}) {
		t.Errorf("they are %v", got)
	}
}
