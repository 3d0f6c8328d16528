package machine

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

func TestAPatchIsRefusedWhereAnAttributeSpeaks(t *testing.T) {
	node := func() *Spec {
		return &Spec{
			Name: "n", Unknown: Places{}, Root: &RootSpec{Bus: "virtio"}, Disks: map[string]DiskSpec{"data": {Bus: "virtio"}}, Interfaces: []InterfaceSpec{{MAC: "52:54:00:00:00:01", Bridge: "br0", Model: "virtio"}},
			Hardware: Hardware{
				Type: "kvm", MemoryMiB: 64, MaxMemoryMiB: 64, VCPUs: 1, MaxVCPUs: 1, CPU: CPU{Mode: "host-passthrough"}, Chipset: "q35", Firmware: "bios", Graphics: "vnc", RNG: true,
				Boot: Boot{Order: []string{"hd"}}, Console: Console{Type: "pty"}, Hugepages: "none", HostDevices: []HostDevice{{PCI: "8086:1572"}, {}},
			},
		}
	}
	for name, c := range map[string]struct {
		patch map[string]string
		want  string
	}{
		"what no attribute says": {map[string]string{
			"/domain/title": "x", "/domain/on_crash": "preserve", "/domain/devices/memballoon/stats/@period": "5", "/domain/devices/sound[@model='ich9']": "", "/domain/devices/disk[1]/driver/@queues": "2",
			"/domain/features/hyperv/relaxed/@state": "on", "/domain/devices/interface/driver/@queues": "2", "/domain/devices/video/model/@heads": "2", "/domain/qemu:commandline/qemu:arg[1]/@value": "-a",
			"/domain/qemu:commandline/qemu:arg[2]/@value": "b", "/domain/devices/hostdev[1]/rom/@file": "/x.rom",
		}, ""},
		"nothing":                     {nil, ""},
		"vcpus":                       {map[string]string{"/domain/vcpu": "2"}, "[xml_patch /domain/vcpu]: what is at /domain/vcpu is said by vcpus of"},
		"as the attribute says":       {map[string]string{"/domain/vcpu": "1"}, "is said by vcpus of"},
		"a unit":                      {map[string]string{"/domain/memory/@unit": "GiB"}, "is said by max_memory_mib of"},
		"the name":                    {map[string]string{"/domain/name": "m"}, "is said by name of"},
		"the id":                      {map[string]string{"/domain/uuid": someUUID}, "is said by id of"},
		"the processor":               {map[string]string{"/domain/cpu/@mode": "host-model"}, "is said by cpu.mode of"},
		"a disk's cache":              {map[string]string{"/domain/devices/disk[2]/driver/@cache": "none"}, "is said by disks of"},
		"the root disk":               {map[string]string{"/domain/devices/disk/@device": "lun"}, "is said by root_disk of"},
		"an interface":                {map[string]string{"/domain/devices/interface/mtu/@size": "1400"}, "is said by network_interfaces of"},
		"one more interface":          {map[string]string{"/domain/devices/interface[2]/source/@bridge": "br0", "/domain/devices/interface[2]/@type": "bridge"}, "is said by network_interfaces of"},
		"the screen":                  {map[string]string{"/domain/devices/graphics/@type": "spice"}, "is said by graphics of"},
		"a watchdog":                  {map[string]string{"/domain/devices/watchdog[@model='ib700']/@action": "pause"}, "is said by watchdog.model of"},
		"the firmware":                {map[string]string{"/domain/os/@firmware": "efi"}, "is said by firmware of"},
		"the mark":                    {map[string]string{"/domain/metadata": ""}, "is said by the provider's own mark of"},
		"what libvirt does not know":  {map[string]string{"/domain/nonsense/@x": "1"}, "libvirt's format of domains has no /domain/nonsense/@x"},
		"an element it does not know": {map[string]string{"/domain/nonsense": ""}, "libvirt's format of domains has no /domain/nonsense"},
		"a number that is none":       {map[string]string{"/domain/devices/video/model/@heads": "two"}, "libvirt's format of domains has no /domain/devices/video/model/@heads"},
		"the third of two":            {map[string]string{"/domain/devices/disk[4]/@x": "1"}, "there are 2 <disk> in <devices>"},
	} {
		t.Run(name, func(t *testing.T) {
			s := node()
			s.Patch = c.patch
			var got []string
			for _, p := range s.validatePatch() {
				got = append(got, fmt.Sprint(p.Path, ": ", p.Detail))
			}
			if all := strings.Join(got, "; "); (c.want == "") != (all == "") || !strings.Contains(all, c.want) {
				t.Errorf("it says %q, not %q", all, c.want)
			}
		})
	}
	t.Run("what is known later", func(t *testing.T) {
		s := node()
		s.Patch = map[string]string{"/domain/vcpu": ""}
		s.Unknown.Add("xml_patch", service.Key("/domain/vcpu"))
		if got := s.validatePatch(); got != nil {
			t.Errorf("it says %v", got)
		}
	})
}

func TestAPatchIsReadFromTheDomainAndTakenBack(t *testing.T) {
	m := machines()["minimal"]
	d, err := Render(m)
	if err != nil {
		t.Fatal(err)
	}
	before, err := d.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	follow := func(patch map[string]string) {
		t.Helper()
		m.Patch = patch
		if err := Apply(d, m); err != nil {
			t.Fatal(err)
		}
		if got := Read(d).Patch; !maps.Equal(got, patch) {
			t.Errorf("%v is read as %v", patch, got)
		}
	}
	follow(map[string]string{"/domain/title": "one", "/domain/on_crash": "preserve"})
	follow(map[string]string{"/domain/title": "two"})
	follow(nil)
	if after, err := d.Marshal(); err != nil || after != before {
		t.Errorf("the domain was\n%s\nand is\n%s\n%v", before, after, err)
	}
}

func TestAPatchOfNoPlaceIsAnErrorThere(t *testing.T) {
	m := machines()["minimal"]
	m.Patch = map[string]string{"/domain/devices/sound[7]": ""}
	_, err := Render(m)
	at, ok := errors.AsType[*service.AttributeError](err)
	if !ok || fmt.Sprint(at.Path) != "[xml_patch /domain/devices/sound[7]]" {
		t.Errorf("%v", err)
	}
}

func TestAPatchStaysWithTheDeviceThatItFinds(t *testing.T) {
	const path = "/domain/devices/interface[2]/driver/@queues"
	machine := func(macs ...string) *Machine {
		m := &Machine{Name: "n", UUID: someUUID, Hardware: Hardware{Type: "kvm", Patch: map[string]string{path: "4"}}}
		for _, mac := range macs {
			m.Interfaces = append(m.Interfaces, Interface{MAC: mac, Bridge: "br0", Model: "virtio"})
		}
		return m
	}
	const a, b, c = "52:54:00:00:00:0a", "52:54:00:00:00:0b", "52:54:00:00:00:0c"
	d, err := Render(machine(a, b, c))
	if err != nil {
		t.Fatal(err)
	}
	if err := Apply(d, machine(b, c)); err != nil {
		t.Fatal(err)
	}
	queues := map[string]uint{}
	for _, i := range d.Devices.Interfaces {
		if i.Driver != nil {
			queues[i.MAC.Address] = i.Driver.Queues
		}
	}
	if queues[b] != 0 || queues[c] != 4 {
		t.Errorf("without the first one the queues are %v", queues)
	}
	spec := func(m *Machine) *Spec {
		s := &Spec{Running: true, Hardware: m.Hardware}
		for _, i := range m.Interfaces {
			s.Interfaces = append(s.Interfaces, InterfaceSpec{MAC: i.MAC})
		}
		return s
	}
	for name, test := range map[string]struct {
		want    *Machine
		restart bool
	}{"the first one goes": {machine(b, c), true}, "the last one goes": {machine(a, b), true}, "one comes": {machine(a, b, c, "52:54:00:00:00:0d"), false}} {
		t.Run(name, func(t *testing.T) {
			changes, err := Compare(spec(machine(a, b, c)), spec(test.want), nil)
			if err != nil || (len(NeedRestart(changes)) > 0) != test.restart {
				t.Errorf("the changes are %v, %v", changes, err)
			}
		})
	}
}
