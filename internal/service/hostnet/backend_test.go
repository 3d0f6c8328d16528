package hostnet

import (
	"net/netip"
	"strings"
	"testing"
)

// unmanaged is a bridge that systemd-networkd keeps, of one interface that it had and of one that nothing managed.
func unmanaged(ports ...string) Desired {
	d := Desired{Backend: Networkd, Mark: mark, Devices: []Device{{Name: "br0", Bridge: &BridgeOptions{MAC: "52:54:00:00:00:01"}, MTU: 1400}}}
	for _, port := range ports {
		p := Device{Name: port, Master: "br0", MTU: 1400, Before: DeviceSnapshot{Name: port, MTU: 1500, Manager: Manager{Backend: Networkd, File: "/etc/systemd/network/10-lan.network"}}}
		if port == "eth2" {
			p.Before.Manager = Manager{Backend: Runtime}
			p.Before.Settings = []Setting{AddressSetting(netip.MustParsePrefix("10.19.42.2/24"))}
		}
		d.Devices = append(d.Devices, p)
	}
	return d
}

// withPorts is a machine that has devices with an MTU in a bridge, "" for none.
func withPorts(master string, mtu int, devices ...string) Machine {
	var m Machine
	for _, name := range devices {
		m.Links = append(m.Links, Link{Name: name, Master: master, MTU: mtu})
	}
	return m
}

// No manager brings back what nothing managed, be the bridge gone, or only this interface.
func TestWhatNothingManagedIsGivenBack(t *testing.T) {
	const given = "addr replace 10.19.42.2/24 dev eth2\n"
	for name, c := range map[string]struct {
		now      Machine
		from, to Desired
		do, undo bool
	}{
		"the bridge is made":  {withPorts("", 1500, "eth1", "eth2"), Desired{}, unmanaged("eth1", "eth2"), false, true},
		"it goes":             {withPorts("br0", 1400, "eth1", "eth2"), unmanaged("eth1", "eth2"), Desired{}, true, false},
		"the interface goes":  {withPorts("br0", 1400, "eth1", "eth2"), unmanaged("eth1", "eth2"), unmanaged("eth1"), true, false},
		"it comes":            {withPorts("br0", 1400, "eth1"), unmanaged("eth1"), unmanaged("eth1", "eth2"), false, true},
		"it is elsewhere":     {withPorts("br9", 1400, "eth1", "eth2"), unmanaged("eth1", "eth2"), Desired{}, false, false},
		"everything stays":    {withPorts("br0", 1400, "eth1", "eth2"), unmanaged("eth1", "eth2"), unmanaged("eth1", "eth2"), false, false},
		"only a managed goes": {withPorts("br0", 1400, "eth1", "eth2"), unmanaged("eth1", "eth2"), unmanaged("eth2"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change, err := c.now.Follow(t.Context(), nil, c.from, c.to)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(change.Do, given) != c.do || strings.Contains(change.Undo, given) != c.undo {
				t.Errorf("it does\n%s\nwhich is undone by\n%s", change.Do, change.Undo)
			}
		})
	}
}

func TestAnInterfaceHasItsMTUAgain(t *testing.T) {
	still := unmanaged("eth1")
	for i := range still.Devices {
		still.Devices[i].MTU = 0
	}
	for name, to := range map[string]Desired{"without the bridge": {}, "where the bridge has none any more": still} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := withPorts("br0", 1400, "br0", "eth1").Follow(t.Context(), nil, unmanaged("eth1"), to)
			if err != nil || !strings.Contains(c.Do, "ip link set dev eth1 mtu 1500\n") || !strings.Contains(c.Undo, "ip link set dev eth1 mtu 1400\n") {
				t.Errorf("%v: it does\n%s\nwhich is undone by\n%s", err, c.Do, c.Undo)
			}
		})
	}
}
