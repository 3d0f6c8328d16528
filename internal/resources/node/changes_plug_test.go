package node

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
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
	old := diskModel{Bus: text("sata"), SizeGiB: types.Int64Value(1)}
	fresh := diskModel{Bus: text("virtio"), SizeGiB: types.Int64Value(1)}
	card := func(n int, model string) interfaceModel {
		return interfaceModel{Network: text("a"), MAC: text(fmt.Sprintf("52-54-00-00-00-%02d", n)), Model: text(model)}
	}
	first := card(1, "virtio")
	disks := func(more ...string) map[string]diskModel {
		all := map[string]diskModel{"old": old}
		for _, key := range more {
			all[key] = fresh
		}
		return all
	}
	prior := &version{parts: parts{Disks: disks(), Interfaces: []interfaceModel{first}}}
	for name, c := range map[string]struct {
		parts parts
		want  string // paths
	}{
		"nothing new":           {prior.parts, ""},
		"one disk":              {parts{Disks: disks("a"), Interfaces: []interfaceModel{first}}, ""},
		"two disks":             {parts{Disks: disks("b", "a"), Interfaces: []interfaceModel{first}}, "[disks b]"},
		"a disk and a card":     {parts{Disks: disks("a"), Interfaces: []interfaceModel{first, card(2, "virtio")}}, "[network_interfaces 1]"},
		"one for another":       {parts{Disks: disks("a"), Interfaces: []interfaceModel{card(2, "virtio")}}, "[network_interfaces 0]"},
		"another model":         {parts{Disks: disks("a"), Interfaces: []interfaceModel{card(1, "e1000e")}}, ""},
		"a model of the past":   {parts{Disks: disks(), Interfaces: []interfaceModel{card(1, "e1000")}}, "[network_interfaces 0]"},
		"a seed":                {parts{Disks: disks("a"), Interfaces: []interfaceModel{first}, CloudInit: &cloudInitModel{}}, "[cloud_init]"},
		"a SATA disk goes":      {parts{Interfaces: []interfaceModel{first}}, "[disks old]"},
		"another bus":           {parts{Disks: map[string]diskModel{"old": fresh}, Interfaces: []interfaceModel{first}}, "[disks old]"},
		"a model that is later": {parts{Disks: disks("a"), Interfaces: []interfaceModel{first, {MAC: text("52:54:00:00:00:02"), Model: types.StringUnknown()}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := &version{parts: c.parts}
			got, err := v.unpluggable(&hypervisor.Domain{Config: d, Live: d}, machine.Read(d), prior)
			var paths []string
			for _, u := range got {
				paths = append(paths, fmt.Sprint(u.Path))
			}
			if all := strings.Join(paths, " "); err != nil || all != c.want {
				t.Errorf("what cannot be plugged is at %s, want %s: %v, %v", all, c.want, got, err)
			}
		})
	}
}

func TestAPortThatWasTakenSinceThePlan(t *testing.T) {
	d := &libvirtxml.Domain{Devices: &libvirtxml.DomainDeviceList{}}
	v := &version{model: model{Running: types.BoolValue(true)}, parts: parts{Disks: map[string]diskModel{"a": {Bus: text("virtio")}}}}
	u := &changer{d: &hypervisor.Domain{Config: d, Live: d}, was: machine.Read(d), v: v, prior: &version{}}
	err := u.consider()
	var at *service.AttributeError
	if !errors.As(err, &at) || fmt.Sprint(at.Path) != "[disks a]" || !strings.Contains(err.Error(), "allow_restart = true") {
		t.Errorf("without leave to restart: %v", err)
	}
	v.AllowRestart = types.BoolValue(true)
	if err := u.consider(); err != nil || !u.mustRestart {
		t.Errorf("with it: restart %t, %v", u.mustRestart, err)
	}
	u.d.State, v.AllowRestart = "crashed", types.BoolValue(false)
	if err := u.consider(); err != nil || !u.mustRestart {
		t.Errorf("with a guest that crashed: restart %t, %v", u.mustRestart, err)
	}
	u.d.State, v.Running = "running", types.BoolValue(false)
	if err := u.consider(); err != nil || u.mustRestart {
		t.Errorf("with what is to be stopped: restart %t, %v", u.mustRestart, err)
	}
}
