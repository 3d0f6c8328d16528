package machine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// deviceHost is a hypervisor of libvirt's test driver: a card of its own IOMMU group, one that shares its group, one with an interface that is
// up, one without a group, a USB device and a mediated one, and a domain that runs with the first.
const deviceHost = `<node>
%s
<device><name>net_eno1</name><path>/sys/devices/pci0000:00/0000:03:00.0/net/eno1</path><parent>pci_3</parent><capability type='net'><interface>eno1</interface><address>52:54:00:aa:bb:cc</address><link speed='1000' state='up'/><capability type='80203'/></capability></device>
<device><name>usb_1_4</name><parent>computer</parent><capability type='usb_device'><bus>1</bus><device>4</device><product id='0xc52b'>p</product><vendor id='0x046d'>v</vendor></capability></device>
<device><name>mdev_1</name><parent>pci_3</parent><capability type='mdev'><type id='t'/><uuid>c2177883-f1bb-47f0-914d-32a22e3a8804</uuid><iommuGroup number='12'/></capability></device>
<domain type='test'><name>other</name><memory>8192</memory><os><type>hvm</type></os><devices><hostdev mode='subsystem' type='pci' managed='yes'><source><address domain='0' bus='1' slot='0' function='0'/></source></hostdev></devices></domain>
</node>`

// No hardware of the sandbox shows it, so libvirt's test driver answers what the check of a plan asks.
func TestAccOnlyDevicesThatAreFreeAreGiven(t *testing.T) {
	acctest.InSandbox(t)
	pci := func(bus int, group ...int) string {
		grouped := ""
		for _, b := range group {
			grouped += fmt.Sprintf(`<address domain='0x0000' bus='0x%02x' slot='0x00' function='0x0'/>`, b)
		}
		if len(group) > 0 {
			grouped = "<iommuGroup number='1'>" + grouped + "</iommuGroup>"
		}
		return fmt.Sprintf(`<device><name>pci_%d</name><path>/sys/devices/pci0000:00/0000:%02x:00.0</path><parent>computer</parent><capability type='pci'><class>0x020000</class><domain>0</domain>
			<bus>%d</bus><slot>0</slot><function>0</function><product id='0x100%d'>p</product><vendor id='0x8086'>v</vendor>%s</capability></device>`, bus, bus, bus, bus, grouped)
	}
	file := filepath.Join(t.TempDir(), "node.xml")
	text := fmt.Sprintf(deviceHost, strings.Join([]string{pci(1, 1), pci(2, 2, 5), pci(5, 2, 5), pci(3, 3), pci(4), pci(6, 6)}, "\n"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := hypervisor.New("test://"+file, sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for name, want := range map[string]struct {
		devices []machine.HostDevice
		said    string
	}{
		"free ones":                 {[]machine.HostDevice{{PCI: "0000:06:00.0"}, {USB: "046d:c52b"}, {MDEV: "c2177883-f1bb-47f0-914d-32a22e3a8804"}}, ""},
		"one that a domain has":     {[]machine.HostDevice{{PCI: "8086:1001"}}, "Device in use"},
		"one that the host uses":    {[]machine.HostDevice{{PCI: "0000:03:00.0"}}, "Device in use"},
		"one of a shared group":     {[]machine.HostDevice{{PCI: "0000:02:00.0"}}, "Shared IOMMU group"},
		"all of a shared group":     {[]machine.HostDevice{{PCI: "0000:02:00.0"}, {PCI: "8086:1005"}}, ""},
		"one without a group":       {[]machine.HostDevice{{PCI: "0000:04:00.0"}}, "Device without an IOMMU"},
		"one that is not there":     {[]machine.HostDevice{{USB: "1.5"}}, "No such device"},
		"one that is there no more": {[]machine.HostDevice{{MDEV: "c2177883-f1bb-47f0-914d-32a22e3a8805"}}, "No such device"},
	} {
		t.Run(name, func(t *testing.T) {
			k := &machine.Checker{Client: c, Cache: &machine.HypervisorCache{}, Was: &machine.Spec{}, Fresh: true, Want: &machine.Spec{Running: true, Hardware: machine.Hardware{Firmware: "bios", HostDevices: want.devices}}}
			problems, err := k.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var said []string
			for _, p := range problems {
				if slices.Contains(p.Path, any("host_devices")) {
					said = append(said, p.Summary)
				}
			}
			if !slices.Equal(said, strings.FieldsFunc(want.said, func(r rune) bool { return r == ';' })) {
				t.Errorf("it says %q, not %q", said, want.said)
			}
		})
	}
}
