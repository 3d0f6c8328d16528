package machine

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

func TestAnInterfaceIsPutUponADevice(t *testing.T) {
	upon := Interface{MAC: "52:54:00:00:00:01", Model: "virtio", Wiring: Wiring{Direct: &Direct{"eno1", "private"}}}
	x := NewInterface(&upon)
	if got, modelled := readInterface(x); !modelled || !reflect.DeepEqual(got, upon) {
		t.Errorf("read as %+v", got)
	}
	bridged := Interface{MAC: upon.MAC, Model: "virtio", Bridge: "br0"}
	changeInterface(x, &bridged)
	if got, modelled := readInterface(x); !modelled || !reflect.DeepEqual(got, bridged) {
		t.Errorf("in a bridge it is read as %+v", got)
	}
	unsaid := &libvirtxml.DomainInterface{Source: &libvirtxml.DomainInterfaceSource{Direct: &libvirtxml.DomainInterfaceSourceDirect{Dev: "eno1"}}}
	if got, _ := readInterface(unsaid); got.Direct == nil || got.Direct.Mode != "vepa" {
		t.Errorf("without a mode it is read as %+v", got.Direct)
	}
}

func TestWhoHasADevice(t *testing.T) {
	domain := func(device, mode string, runs bool) *hypervisor.Domain {
		x := &libvirtxml.Domain{Devices: &libvirtxml.DomainDeviceList{Interfaces: []libvirtxml.DomainInterface{{
			Source: &libvirtxml.DomainInterfaceSource{Direct: &libvirtxml.DomainInterfaceSourceDirect{Dev: device, Mode: mode}},
		}}}}
		d := &hypervisor.Domain{Name: "other", Config: x}
		if runs {
			d.Live = x
		}
		return d
	}
	route := func(to string) hypervisor.HostRoute {
		return hypervisor.HostRoute{Destination: netip.MustParsePrefix(to), Device: "eno1"}
	}
	shared, whole := Direct{"eno1", "bridge"}, Direct{"eno1", Passthrough}
	for name, c := range map[string]struct {
		upon   Direct
		master string
		route  hypervisor.HostRoute
		other  *hypervisor.Domain
		want   string
	}{
		"nobody":                              {upon: whole, route: route("fe80::/64")},
		"a bridge":                            {upon: shared, master: "br0", want: `device "eno1" is in "br0"`},
		"the hypervisor too":                  {upon: shared, route: route("10.0.0.0/24")},
		"the hypervisor, and it would be all": {upon: whole, route: route("10.0.0.0/24"), want: "addresses of its own"},
		"another one too":                     {upon: shared, other: domain("eno1", "bridge", true)},
		"another one, and it would be all":    {upon: whole, other: domain("eno1", "bridge", true), want: `domain "other" runs upon`},
		"another one, who has all":            {upon: shared, other: domain("eno1", Passthrough, true), want: `domain "other" runs upon`},
		"another one that is off":             {upon: whole, other: domain("eno1", Passthrough, false)},
		"another one, upon another device":    {upon: whole, other: domain("eno2", Passthrough, true)},
	} {
		t.Run(name, func(t *testing.T) {
			var domains []*hypervisor.Domain
			if c.other != nil {
				domains = append(domains, c.other)
			}
			got := c.upon.findUser(c.master, []hypervisor.HostRoute{c.route}, domains)
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("it says %q", got)
			}
		})
	}
}

func TestAPlanKnowsWhoHasAllOfADevice(t *testing.T) {
	for name, c := range map[string]struct {
		spec Spec
		uses int
	}{
		"all of it":       {Spec{Running: true, Interfaces: []InterfaceSpec{{Wiring: Wiring{Direct: &Direct{"eno1", Passthrough}}}}}, 1},
		"a part of it":    {Spec{Running: true, Interfaces: []InterfaceSpec{{Wiring: Wiring{Direct: &Direct{"eno1", "bridge"}}}}}, 0},
		"nothing, as yet": {Spec{Interfaces: []InterfaceSpec{{Wiring: Wiring{Direct: &Direct{"eno1", Passthrough}}}}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			found := 0
			for _, u := range c.spec.Uses() {
				if u.Kind == plan.HostDevice {
					found++
				}
			}
			if found != c.uses {
				t.Errorf("it uses %d devices", found)
			}
		})
	}
}

func TestADeviceThatIsMissingIsCalledSo(t *testing.T) {
	for want, i := range map[string]InterfaceSpec{
		"device": {Wiring: Wiring{Direct: &Direct{"eno1", "bridge"}}}, "bridge": {Bridge: "br0"}, "ovn_network": {OVNNetwork: "x"},
	} {
		t.Run(want, func(t *testing.T) {
			name, attribute := i.nameHostDevice()
			if name == "" || attribute[len(attribute)-1] != want {
				t.Errorf("it is %q at %v", name, attribute)
			}
			m := missingBridge{path: attribute, name: name}
			if kind := m.spellKind(); (kind == "device") != (want == "device") || !strings.HasSuffix(m.spellSummary("not found"), kind[1:]+" not found") {
				t.Errorf("it is called %q: %q", kind, m.spellSummary("not found"))
			}
		})
	}
}
