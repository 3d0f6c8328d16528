package machine

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

func TestWhatCannotBePluggedIntoAMachineThatRuns(t *testing.T) {
	// One of two ports is free.
	d := &libvirtxml.Domain{}
	err := d.Unmarshal(`<domain type='qemu'><name>n</name><devices>
		<controller type='pci' index='0' model='pcie-root'/><controller type='pci' index='1' model='pcie-root-port'/><controller type='pci' index='2' model='pcie-root-port'/>
		<disk type='file' device='disk'><source file='/root'/><target dev='sda' bus='sata'/><serial>root</serial></disk>
		<disk type='file' device='disk'><source file='/old'/><target dev='sdb' bus='sata'/><serial>old</serial></disk>
		<interface type='network'><mac address='52:54:00:00:00:01'/><source network='a'/><model type='virtio'/><address type='pci' bus='0x01' slot='0x00'/></interface>
	</devices></domain>`)
	if err != nil {
		t.Fatal(err)
	}
	old := DiskSpec{Bus: "sata", SizeGiB: 1}
	fresh := DiskSpec{Bus: "virtio", SizeGiB: 1}
	card := func(n int, model string) InterfaceSpec {
		return InterfaceSpec{Network: "a", MAC: fmt.Sprintf("52:54:00:00:00:%02d", n), Model: model}
	}
	first := card(1, "virtio")
	disks := func(more ...string) map[string]DiskSpec {
		all := map[string]DiskSpec{"old": old}
		for _, key := range more {
			all[key] = fresh
		}
		return all
	}
	prior := Spec{Disks: disks(), Interfaces: []InterfaceSpec{first}}
	for name, c := range map[string]struct {
		want    Spec
		refused string // paths
	}{
		"nothing new":           {prior, ""},
		"one disk":              {Spec{Disks: disks("a"), Interfaces: []InterfaceSpec{first}}, ""},
		"two disks":             {Spec{Disks: disks("b", "a"), Interfaces: []InterfaceSpec{first}}, "[disks b]"},
		"a disk and a card":     {Spec{Disks: disks("a"), Interfaces: []InterfaceSpec{first, card(2, "virtio")}}, "[network_interfaces 1]"},
		"one for another":       {Spec{Disks: disks("a"), Interfaces: []InterfaceSpec{card(2, "virtio")}}, "[network_interfaces 0]"},
		"another model":         {Spec{Disks: disks("a"), Interfaces: []InterfaceSpec{card(1, "e1000e")}}, ""},
		"a model of the past":   {Spec{Disks: disks(), Interfaces: []InterfaceSpec{card(1, "e1000")}}, "[network_interfaces 0]"},
		"a seed":                {Spec{Disks: disks("a"), Interfaces: []InterfaceSpec{first}, CloudInit: &CloudInit{}}, "[cloud_init]"},
		"a SATA disk goes":      {Spec{Interfaces: []InterfaceSpec{first}}, "[disks old]"},
		"another bus":           {Spec{Disks: map[string]DiskSpec{"old": fresh}, Interfaces: []InterfaceSpec{first}}, "[disks old]"},
		"a model that is later": {Spec{Disks: disks("a"), Interfaces: []InterfaceSpec{first, {MAC: "52:54:00:00:00:02"}}, Unknown: Places{"[network_interfaces 1 model]": true}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := compareDevices(&prior, &c.want, &Running{Machine: Read(d), Live: d})
			var paths []string
			for _, u := range NeedRestart(got) {
				paths = append(paths, fmt.Sprint(u.Path))
			}
			if all := strings.Join(paths, " "); err != nil || all != c.refused {
				t.Errorf("what cannot be plugged is at %s, want %s: %v, %v", all, c.refused, got, err)
			}
		})
	}
}

// A SATA disk cannot be plugged out, so one that is to be another volume takes a restart.
func TestADiskThatStaysNeedsNoRestart(t *testing.T) {
	d := &libvirtxml.Domain{}
	err := d.Unmarshal(`<domain type='qemu'><name>n</name><devices>
		<disk type='file' device='disk'><source file='/v'/><target dev='sda' bus='sata'/><serial>data</serial></disk>
	</devices></domain>`)
	if err != nil {
		t.Fatal(err)
	}
	attached, own := DiskSpec{Bus: "sata", Volume: "/v"}, DiskSpec{Bus: "sata", SizeGiB: 1}
	for name, c := range map[string]struct {
		was, want DiskSpec
		unknown   bool
		restarts  bool
	}{
		"an attached volume":                    {attached, attached, false, false},
		"by another path":                       {DiskSpec{Bus: "sata", Volume: "/link"}, attached, false, false},
		"one that is known later":               {attached, DiskSpec{Bus: "sata"}, true, false},
		"another volume":                        {attached, DiskSpec{Bus: "sata", Volume: "/w"}, false, true},
		"the node's own for an attached volume": {attached, own, false, true},
		"the node's own":                        {own, DiskSpec{Bus: "sata", SizeGiB: 2}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			want := &Spec{Disks: map[string]DiskSpec{"data": c.want}, Unknown: Places{}}
			if c.unknown {
				want.Unknown["[disks data volume]"] = true
			}
			machine := Read(d)
			machine.Disks[0].Key = "data" // of an imported machine it would be the root disk
			got, err := compareDevices(&Spec{Disks: map[string]DiskSpec{"data": c.was}}, want, &Running{Machine: machine, Live: d})
			if restarts := len(NeedRestart(got)) > 0; err != nil || restarts != c.restarts {
				t.Errorf("restarts is %t: %v, %v", restarts, got, err)
			}
		})
	}
}

func TestAPortThatWasTakenSinceThePlan(t *testing.T) {
	d := &libvirtxml.Domain{Devices: &libvirtxml.DomainDeviceList{}}
	want := &Spec{Running: true, Disks: map[string]DiskSpec{"a": {Bus: "virtio"}}}
	u := &update{d: &hypervisor.Domain{Config: d, Live: d}, existing: Read(d), want: want, was: &Spec{}}
	err := u.planRestart(t.Context())
	var at *service.AttributeError
	if !errors.As(err, &at) || fmt.Sprint(at.Path) != "[disks a]" || !strings.Contains(err.Error(), "allow_restart = true") {
		t.Errorf("without leave to restart: %v", err)
	}
	want.AllowRestart = true
	if err := u.planRestart(t.Context()); err != nil || !u.mustRestart {
		t.Errorf("with it: restart %t, %v", u.mustRestart, err)
	}
	u.d.State, want.AllowRestart = "crashed", false
	if err := u.planRestart(t.Context()); err != nil || !u.mustRestart {
		t.Errorf("with a guest that crashed: restart %t, %v", u.mustRestart, err)
	}
	u.d.State, want.Running = "running", false
	if err := u.planRestart(t.Context()); err != nil || u.mustRestart {
		t.Errorf("with what is to be stopped: restart %t, %v", u.mustRestart, err)
	}
}

func TestAnAddressOfAGuestThatRunsIsNotInForceAtOnce(t *testing.T) {
	node := func(ip string, running bool) *Spec {
		return &Spec{Name: "n", Running: running, Interfaces: []InterfaceSpec{{Network: "a", MAC: "52:54:00:00:00:01", IP: Address(ip)}}}
	}
	restarted := node("10.0.0.2", true)
	restarted.Graphics = "vnc"
	for name, c := range map[string]struct {
		was, want *Spec
		warned    bool
	}{
		"another one":              {node("10.0.0.1", true), node("10.0.0.2", true), true},
		"the same":                 {node("10.0.0.1", true), node("10.0.0.1", true), false},
		"the first one":            {node("", true), node("10.0.0.1", true), false},
		"of one that starts":       {node("10.0.0.1", false), node("10.0.0.2", true), false},
		"of one that is restarted": {node("10.0.0.1", true), restarted, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := c.want.ValidateChange(c.was)
			if warned := len(got) == 1 && got[0].Warning && fmt.Sprint(got[0].Path) == "[network_interfaces 0 ip]"; warned != c.warned || !c.warned && len(got) > 0 {
				t.Errorf("%s: problems are %v", name, got)
			}
		})
	}
}
