package engine

import (
	"context"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

func lab() Engine {
	return Engine{
		Central: []string{"ssh://root@10.0.0.11"}, Address: netip.MustParseAddr("10.0.0.11"), Datapath: System,
		Chassis: map[string]Chassis{
			"kvm1": {Endpoint: "ssh://root@10.0.0.11", TunnelIP: netip.MustParseAddr("172.16.0.11")},
			"kvm2": {Endpoint: "ssh://root@10.0.0.12", TunnelIP: netip.MustParseAddr("172.16.0.12"), BridgeMappings: map[string]string{"lan": "br-ex", "dmz": "br-dmz"}},
		},
	}
}

func TestSettingsOfAChassis(t *testing.T) {
	t.Parallel()
	e := lab()
	s := e.listSettings(e.Chassis["kvm2"])
	for key, want := range map[string]string{remoteKey: "tcp:10.0.0.11:6642", addressKey: "172.16.0.12", mappingsKey: "dmz:br-dmz,lan:br-ex", datapathKey: "", encapKey: "geneve"} {
		t.Run(key, func(t *testing.T) {
			if s[key] != want {
				t.Errorf("it is %q, want %q", s[key], want)
			}
		})
	}
	if !maps.Equal(parseMappings(s[mappingsKey]), e.Chassis["kvm2"].BridgeMappings) {
		t.Errorf("read back: %v", parseMappings(s[mappingsKey]))
	}
	e.Datapath, e.Address = Userspace, netip.MustParseAddr("fd00::11")
	if s := e.listSettings(e.Chassis["kvm1"]); s[datapathKey] != "netdev" || s[remoteKey] != "tcp:[fd00::11]:6642" || e.newListener().Target != "ptcp:6642:[fd00::11]" {
		t.Errorf("in user space, by IPv6: %v", s)
	}
	e.TLS = true
	if got := e.newListener(); e.Remote() != "ssl:[fd00::11]:6642" || got != (ovn.Listener{Target: "pssl:6642:[fd00::11]", Role: "ovn-controller"}) {
		t.Errorf("by TLS: %s, %v", e.Remote(), got)
	}
}

func TestWhatIsNotedOfAChassisIsReadBack(t *testing.T) {
	t.Parallel()
	for _, hypervisor := range []string{"", "rack", "rack 2 id=3"} {
		t.Run(hypervisor, func(t *testing.T) {
			want := Chassis{Endpoint: "ssh://root@10.0.0.12?host_key=SHA256:abc=", Hypervisor: hypervisor, ID: "97cdf097"}
			if got := parseNotedChassis(map[string]string{chassisKey + "kvm2": want.formatNote(), "virtcluster": "owner=x"}); len(got) != 1 || !reflect.DeepEqual(got["kvm2"], want) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestEachMachineTakesTheServicesOfItsRoles(t *testing.T) {
	t.Parallel()
	got := lab().listServices()
	if len(got) != 2 || len(got["ssh://root@10.0.0.11"]) != 3 || len(got["ssh://root@10.0.0.12"]) != 2 {
		t.Errorf("%v", got)
	}
}

func TestRolesOfOneMachineAreOne(t *testing.T) {
	t.Parallel()
	const jump = "ssh://root@10.0.0.12?proxy_jump=bastion"
	e := lab()
	e.Central = []string{"ssh://root@10.0.0.11", "ssh://admin@10.0.0.12", jump}
	for name, test := range map[string]struct {
		machines map[string]string
		want     int
	}{
		"machines that do not answer": {nil, 4},
		"other machines":              {map[string]string{"ssh://root@10.0.0.11": "1", "ssh://root@10.0.0.12": "2", "ssh://admin@10.0.0.12": "3", jump: "4"}, 4},
		"copies of one machine":       {map[string]string{"ssh://root@10.0.0.11": "2", "ssh://root@10.0.0.12": "2", "ssh://admin@10.0.0.12": "3", jump: "4"}, 4},
		"two ways to one":             {map[string]string{"ssh://root@10.0.0.11": "1", "ssh://root@10.0.0.12": "2", "ssh://admin@10.0.0.12": "3", jump: "2"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			got := e.mergeRoles(e.listServices(), test.machines)
			if services := got["ssh://root@10.0.0.12"]; len(got) != test.want || test.want == 3 && !slices.Equal(services, []string{"openvswitch", "ovn-host", "ovn-central"}) {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestEngineThatCannotBe(t *testing.T) {
	t.Parallel()
	if p := lab().Validate(); len(p) > 0 {
		t.Fatalf("a good one: %v", p)
	}
	change := func(name string, do func(*Chassis)) func(*Engine) {
		return func(e *Engine) {
			c := e.Chassis[name]
			do(&c)
			e.Chassis[name] = c
		}
	}
	for want, change := range map[string]func(*Engine){
		"Number of databases":           func(e *Engine) { e.Central = append(e.Central, "ssh://root@10.0.0.12") },
		"MTU of the underlay too small": func(e *Engine) { e.UnderlayMTU = 600 },
		"One machine twice":             change("kvm2", func(c *Chassis) { c.Endpoint = "ssh://root@10.0.0.11" }),
		"One address twice":             change("kvm2", func(c *Chassis) { c.TunnelIP = netip.MustParseAddr("172.16.0.11") }),
		"Invalid bridge mapping":        change("kvm2", func(c *Chassis) { c.BridgeMappings = map[string]string{"lan": "br-ex,dmz:br-dmz"} }),
	} {
		t.Run(want, func(t *testing.T) {
			e := lab()
			change(&e)
			if p := e.Validate(); len(p) != 1 || p[0].Summary != want {
				t.Errorf("want %q, got %v", want, p)
			}
		})
	}
}

// machineSays is a machine whose script prints something.
func machineSays(t *testing.T, out string) host.Host {
	t.Helper()
	h := hosttest.New()
	h.On(func(context.Context, *hosttest.Host, host.Cmd) ([]byte, error) { return []byte(out), nil }, "sh", "-c")
	return h
}

func TestWhatALookShows(t *testing.T) {
	t.Parallel()
	m, err := Look(t.Context(), machineSays(t, "machine abc\nmtu 9000 br-phy\novn 23.03.1\nopenvswitch 3.1.0\nstored\nactive ovsdb-server\nactive ovs-vswitchd\nconnection connected\n"), netip.MustParseAddr("172.16.0.11"))
	if err != nil || m.ID != "abc" || m.MTU != 9000 || m.Device != "br-phy" || m.Versions["ovn"] != "23.03.1" || !m.Stored || !m.hasRunning(switchUnits...) || m.hasRunning(chassisUnits...) || m.Connection != "connected" {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := Look(t.Context(), machineSays(t, "mtu many eth0\n"), netip.Addr{}); err == nil {
		t.Error("a size that is no number is understood")
	}
}

func TestNorthboundIsTheSocketOfEachMachine(t *testing.T) {
	t.Parallel()
	for want, central := range map[string][]string{
		"ssh://root@10.0.0.100/run/ovn/ovnnb_db.sock": {"ssh://root@10.0.0.100?proxy_jump=bastion"},
		"local:/run/ovn/ovnnb_db.sock":                {"local:"},
		"ssh://root@10.0.0.1/run/ovn/ovnnb_db.sock,ssh://root@10.0.0.2:2222/run/ovn/ovnnb_db.sock,ssh://root@10.0.0.3/run/ovn/ovnnb_db.sock": {"ssh://root@10.0.0.2:2222", "ssh://root@10.0.0.3", "ssh://root@10.0.0.1"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if got := (Engine{Central: central}).ListSockets(); got != want {
				t.Errorf("of %v: %s", central, got)
			}
		})
	}
}

func TestPlannedChassisAreKnownBeforeTheirIDs(t *testing.T) {
	t.Parallel()
	for _, use := range (Engine{Chassis: map[string]Chassis{"two": {}, "one": {Hypervisor: "hv-1"}}}).Uses() {
		if use.Kind != plan.OVNChassis {
			continue
		}
		all, _ := use.Of.([]ovn.PlannedChassis)
		if len(use.Known) > 0 || len(all) != 2 || all[0] != (ovn.PlannedChassis{Name: "one", Hypervisor: "hv-1"}) || all[1].Hypervisor != "" {
			t.Errorf("got %+v", use)
		}
		return
	}
	t.Error("the plan has no chassis")
}
