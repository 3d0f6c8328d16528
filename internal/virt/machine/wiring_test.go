package machine

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"
)

func TestAnInterfaceIsWiredAndReadAsItWas(t *testing.T) {
	for name, c := range map[string]struct {
		want Wiring
		xml  string
	}{
		"nothing":          {Wiring{}, ""},
		"trusted":          {Wiring{Trust: true}, `trustGuestRxFilters="yes"`},
		"Open vSwitch":     {Wiring{VirtualPort: OpenVSwitch}, `<virtualport type="openvswitch">`},
		"one VLAN":         {Wiring{VirtualPort: OpenVSwitch, VLAN: VLAN{ID: 42}}, `<vlan><tag id="42"></tag></vlan>`},
		"a trunk of one":   {Wiring{VirtualPort: OpenVSwitch, VLAN: VLAN{Trunk: []int64{7}}}, `<vlan trunk="yes"><tag id="7"></tag></vlan>`},
		"a trunk and more": {Wiring{VirtualPort: OpenVSwitch, VLAN: VLAN{ID: 42, Trunk: []int64{20, 10}}}, `<vlan trunk="yes"><tag id="20"></tag><tag id="10"></tag><tag id="42" nativeMode="untagged"></tag></vlan>`},
	} {
		t.Run(name, func(t *testing.T) {
			i := Interface{MAC: "52:54:00:00:00:01", Bridge: "br0", Model: "virtio", Wiring: c.want}
			x := NewInterface(&i)
			text, err := x.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			flat := strings.NewReplacer("\n", "", "  ", "").Replace(text)
			if !strings.Contains(flat, c.xml) {
				t.Errorf("its XML has no %s: %s", c.xml, flat)
			}
			again := &libvirtxml.DomainInterface{}
			if err := again.Unmarshal(text); err != nil || !reflect.DeepEqual(readWiring(again), c.want) {
				t.Errorf("read as %+v, %v", readWiring(again), err)
			}
			changeInterface(x, &Interface{MAC: i.MAC, Bridge: i.Bridge, Model: i.Model})
			if x.VLan != nil || x.VirtualPort != nil {
				t.Errorf("taken back it is %+v, %+v", x.VLan, x.VirtualPort)
			}
		})
	}
}

func TestWhatANetworkHasIsNotTheInterfaces(t *testing.T) {
	x := &libvirtxml.DomainInterface{}
	if err := x.Unmarshal(`<interface type='network'><mac address='52:54:00:00:00:01'/><source network='n' portid='` + someUUID + `' bridge='br0'/><vlan><tag id='5'/></vlan><virtualport type='openvswitch'><parameters interfaceid='` + someUUID + `'/></virtualport></interface>`); err != nil {
		t.Fatal(err)
	}
	if got := readWiring(x); !reflect.DeepEqual(got, Wiring{}) {
		t.Errorf("it is %+v", got)
	}
	changeInterface(x, &Interface{MAC: "52:54:00:00:00:01", Network: "n"})
	if x.VLan == nil || x.VirtualPort == nil {
		t.Errorf("it is %+v, %+v", x.VLan, x.VirtualPort)
	}
}

func TestHowAnInterfaceCannotBeWired(t *testing.T) {
	for name, c := range map[string]struct {
		i    InterfaceSpec
		want string
	}{
		"as it can":                    {InterfaceSpec{Bridge: "br0", Wiring: Wiring{VirtualPort: OpenVSwitch, VLAN: VLAN{1, []int64{2}}}}, ""},
		"on a network":                 {InterfaceSpec{Network: "n", Wiring: Wiring{VLAN: VLAN{ID: 1}}}, ""},
		"a virtual port on a network":  {InterfaceSpec{Network: "n", Wiring: Wiring{VirtualPort: OpenVSwitch}}, "[i virtual_port] Virtual port without a bridge"},
		"on a bridge of Linux":         {InterfaceSpec{Bridge: "br0", Wiring: Wiring{VLAN: VLAN{ID: 1}}}, "[i vlan] VLAN without Open vSwitch"},
		"on OVN":                       {InterfaceSpec{OVNNetwork: "n", Wiring: Wiring{VLAN: VLAN{ID: 1}}}, "[i vlan] VLAN on OVN"},
		"upon a device":                {InterfaceSpec{Wiring: Wiring{Direct: &Direct{"eno1", "bridge"}, Trust: true}}, ""},
		"upon a device and a bridge":   {InterfaceSpec{Bridge: "br0", Wiring: Wiring{Direct: &Direct{"eno1", "bridge"}}}, "[i direct] Interface with two networks"},
		"a filter upon a device":       {InterfaceSpec{PortSecurity: true, Wiring: Wiring{Direct: &Direct{"eno1", "bridge"}}}, "[i direct] Filter upon a device"},
		"an MTU upon a device":         {InterfaceSpec{MTU: 1400, Wiring: Wiring{Direct: &Direct{"eno1", "bridge"}}}, "[i mtu] MTU upon a device"},
		"a virtual port upon a device": {InterfaceSpec{Wiring: Wiring{VirtualPort: OpenVSwitch, Direct: &Direct{"eno1", "bridge"}}}, "[i virtual_port] Virtual port without a bridge"},
		"an id of no port":             {InterfaceSpec{Bridge: "br0", Wiring: Wiring{InterfaceID: someUUID}}, "[i interface_id] Interface id without a virtual port"},
		"a VLAN upon a device":         {InterfaceSpec{Wiring: Wiring{VLAN: VLAN{ID: 1}, Direct: &Direct{"eno1", "bridge"}}}, "[i vlan] VLAN upon a device"},
		"trusted in a bridge":          {InterfaceSpec{Bridge: "br0", Wiring: Wiring{Trust: true}}, "[i trust] Trust without a device"},
		"trusted on a network":         {InterfaceSpec{Network: "n", Wiring: Wiring{Trust: true}}, ""},
		"a card that cannot say":       {InterfaceSpec{Model: "e1000e", Wiring: Wiring{Direct: &Direct{"eno1", "bridge"}, Trust: true}}, "[i trust] Trust of another card"},
		"twice":                        {InterfaceSpec{Network: "n", Wiring: Wiring{VLAN: VLAN{1, []int64{1}}}}, "[i vlan] VLAN with and without a tag"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range c.i.validateWiring(pathTo("i"), func(string) bool { return false }) {
				got = append(got, fmt.Sprint(p.Path, " ", p.Summary))
			}
			if all := strings.Join(got, "; "); all != c.want {
				t.Errorf("it says %q, not %q", all, c.want)
			}
		})
	}
}

func TestVLANsTakeANetworkOfOpenVSwitch(t *testing.T) {
	for text, problems := range map[string]int{
		`<network><name>n</name><forward mode='bridge'/><bridge name='br0'/><virtualport type='openvswitch'/></network>`: 0,
		`<network><name>n</name><forward mode='bridge'/><bridge name='br0'/></network>`:                                  1,
	} {
		t.Run(fmt.Sprint(problems), func(t *testing.T) {
			network := &libvirtxml.Network{}
			if err := network.Unmarshal(text); err != nil {
				t.Fatal(err)
			}
			k := &Checker{}
			networkChecker{k}.checkVLAN(network, &InterfaceSpec{Wiring: Wiring{VLAN: VLAN{ID: 4}}}, pathTo("i"))
			if len(k.problems) != problems {
				t.Errorf("it says %v", k.problems)
			}
		})
	}
}
