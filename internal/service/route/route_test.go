package route

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

var (
	mark = owner.Mark{ID: "me", Workspace: "here"}
	pods = Route{To: netip.MustParsePrefix("10.128.2.0/23"), Via: netip.MustParseAddr("10.0.0.2"), Metric: 50, Backend: hostnet.Auto}
)

// machine has eth0 in 10.0.0.0/24 and in 10.0.0.0/28, and routes of both families.
func machine(t *testing.T) hostnet.Machine {
	t.Helper()
	m, err := hostnet.ParseMachine(
		[]byte(`[{"ifname":"lo"},{"ifname":"eth0","addr_info":[{"family":"inet","local":"10.0.0.1","prefixlen":24,"scope":"global"}]},{"ifname":"eth1","addr_info":[{"family":"inet","local":"10.0.0.9","prefixlen":28,"scope":"global"}]}]`),
		[]byte(`[{"dst":"default","gateway":"10.0.0.254","dev":"eth0","protocol":"static"},{"dst":"10.0.0.0/24","dev":"eth0","protocol":"kernel"},{"dst":"10.128.2.0/23","gateway":"10.0.0.2","dev":"eth0","protocol":"static","metric":50},{"dst":"10.7.7.7","gateway":"10.0.0.3","dev":"eth0"}]`),
		[]byte(`[{"dst":"2001:db8:1::/48","gateway":"2001:db8::1","dev":"eth0","metric":1024},{"dst":"default","gateway":"2001:db8::1","dev":"eth0","metric":1024}]`))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRouteIsFoundByDestinationAndMetric(t *testing.T) {
	m := machine(t)
	for text, want := range map[string]string{
		"10.128.2.0/23,50": "10.0.0.2", "10.128.2.0/23,0": "", "0.0.0.0/0,0": "10.0.0.254", "::/0,0": "2001:db8::1", "10.7.7.7/32,0": "10.0.0.3",
		"2001:db8:1::/48,0": "2001:db8::1", "2001:db8:1::/48,7": "", "10.9.0.0/16,0": "",
	} {
		t.Run(text, func(t *testing.T) {
			to, metric, _ := strings.Cut(text, ",")
			r := Route{To: netip.MustParsePrefix(to)}
			r.Metric = map[string]int{"0": 0, "7": 7, "50": 50}[metric]
			got := ""
			if live := r.findRoute(m); live != nil {
				got = live.Gateway
			}
			if got != want {
				t.Errorf("%s leads to %q, want %q", text, got, want)
			}
		})
	}
}

func TestDeviceIsTheOneOfTheNarrowestNetworkOfTheGateway(t *testing.T) {
	if got, err := pods.chooseDevice(machine(t)); err != nil || got.Device != "eth1" {
		t.Errorf("%+v, %v", got, err)
	}
	far := pods
	far.Via = netip.MustParseAddr("192.168.7.1")
	if _, err := far.chooseDevice(machine(t)); err == nil || !strings.Contains(err.Error(), "192.168.7.1") {
		t.Errorf("a gateway in no network: %v", err)
	}
	gone := pods
	gone.Device = "eth7"
	if at, ok := errors.AsType[*service.AttributeError](func() error { _, err := gone.chooseDevice(machine(t)); return err }()); !ok || at.Path[0] != "device" {
		t.Errorf("a missing device: %v", at)
	}
}

func TestEachBackendKeepsARouteByAFileOfItsOwn(t *testing.T) {
	managers := hostnet.Managers{Devices: map[string]hostnet.Manager{
		"networkd": {Backend: hostnet.Networkd, File: "/etc/systemd/network/10-eth0.network"}, "netplan": {Backend: hostnet.Netplan, File: "/run/systemd/network/10-netplan-eth0.network"},
		"nm": {Backend: hostnet.NetworkManager}, "ifupdown": {Backend: hostnet.Ifupdown},
	}}
	for device, want := range map[string][2]string{
		"networkd": {"/etc/systemd/network/10-eth0.network.d/virtcluster-route-10-128-2-0-23-50.conf", "[Route]\nDestination=10.128.2.0/23\nGateway=10.0.0.2\nMetric=50\n"},
		"netplan":  {"/etc/systemd/network/10-netplan-eth0.network.d/virtcluster-route-10-128-2-0-23-50.conf", "[Route]\nDestination=10.128.2.0/23\n"},
		"nm":       {"/etc/NetworkManager/dispatcher.d/virtcluster-route-10-128-2-0-23-50", "ip route replace 10.128.2.0/23 via 10.0.0.2 metric 50 dev nm proto static\n"},
		"ifupdown": {"/etc/network/if-up.d/virtcluster-route-10-128-2-0-23-50", "ip route replace 10.128.2.0/23 via 10.0.0.2 metric 50 dev ifupdown proto static\n"},
		"nobody":   {"/run/virtcluster/virtcluster-route-10-128-2-0-23-50", "# virtcluster backend=auto device=nobody"},
	} {
		t.Run(device, func(t *testing.T) {
			r := pods
			r.Device = device
			r, err := r.chooseBackend(managers)
			if err != nil {
				t.Errorf("%s: %v", device, err)
				return
			}
			f := r.routeFile(managers, mark)
			if f.Path != want[0] || !strings.Contains(f.Content, want[1]) || owner.Parse(f.Content) != mark {
				t.Errorf("%s: %s\n%s", device, f.Path, f.Content)
			}
			if got := backendOf(f.Path); got != r.ActiveBackend {
				t.Errorf("%s is of %s, want %s", f.Path, got, r.ActiveBackend)
			}
		})
	}
	r := pods
	r.Device, r.Backend = "nm", hostnet.Ifupdown
	if _, err := r.chooseBackend(managers); err == nil || !strings.Contains(err.Error(), "networkmanager") {
		t.Errorf("another manager's device: %v", err)
	}
}

func TestRouteThatNoMachineTakes(t *testing.T) {
	if p := pods.Validate(); len(p) > 0 {
		t.Fatalf("a good route: %v", p)
	}
	for want, change := range map[string]func(*Route){
		"Invalid network":  func(r *Route) { r.To = netip.MustParsePrefix("10.128.2.1/23") },
		"Invalid gateway":  func(r *Route) { r.Via = netip.MustParseAddr("2001:db8::1") },
		"Invalid device":   func(r *Route) { r.Device = "eth0; reboot" },
		"Route to nowhere": func(r *Route) { r.Via = netip.Addr{} },
	} {
		t.Run(want, func(t *testing.T) {
			r := pods
			change(&r)
			if p := r.Validate(); len(p) != 1 || p[0].Summary != want {
				t.Errorf("want %q, got %v", want, p)
			}
		})
	}
}

func TestKernelsOwnRouteCannotBeTaken(t *testing.T) {
	m := machine(t)
	r := Route{To: netip.MustParsePrefix("10.0.0.0/24")}
	if h := (found{key: r, machine: m, live: r.findRoute(m)}).Holder(); !h.There || !h.Fixed || !strings.Contains(h.What, "eth0 itself") {
		t.Errorf("%+v", h)
	}
}

func TestAFileThatSystemdNetworkdDoesNotReadKeepsNothing(t *testing.T) {
	const file = "/etc/systemd/network/10-eth0.network.d/virtcluster-route-10-128-2-0-23-50.conf"
	for _, c := range []struct{ path, network, want string }{
		{file, "/etc/systemd/network/10-eth0.network", hostnet.Networkd},
		{file, "/run/systemd/network/10-eth0.network", hostnet.Networkd},
		{file, "/etc/systemd/network/00-virtcluster-eth0.network", hostnet.Runtime},
		{file, "", hostnet.Networkd}, // it does not run, or the device is gone
		{"/etc/network/if-up.d/virtcluster-route-10-128-2-0-23-50", "/etc/systemd/network/10-eth0.network", hostnet.Ifupdown},
	} {
		t.Run(c.path, func(t *testing.T) {
			f := found{key: pods, machine: machine(t), live: pods.findRoute(machine(t)), path: c.path, network: c.network, text: "# virtcluster backend=auto device=eth0 " + mark.String() + "\n"}
			if got, err := (kind{pods}).Read(f); err != nil || got.ActiveBackend != c.want || got.Backend != hostnet.Auto {
				t.Errorf("%s with %q: %+v, %v", c.path, c.network, got, err)
			}
		})
	}
}

func TestTheRouteOfAFileIsTold(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"10.128.2.0/23", "0.0.0.0/0", "::/0", "2001:db8:1::/48", "::ffff:10.1.2.0/120", "fe80::/10"} {
		for _, metric := range []int{0, 50} {
			key := Route{To: netip.MustParsePrefix(text), Metric: metric}
			for _, name := range []string{key.fileName(), key.fileName() + ".conf"} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					if got, ok := parseFileName(name); !ok || got != key {
						t.Errorf("%+v, %t; want %+v", got, ok, key)
					}
				})
			}
		}
	}
	for _, name := range []string{"virtcluster-route-", "virtcluster-route-10-0-0-0-8", "virtcluster-route-10-0-0-0-99-0", "virtcluster-route-10-0-0-0-8-x", "bridge-br0.json", "virtcluster-route-a-b-c"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, ok := parseFileName(name); ok {
				t.Errorf("it is of %+v", got)
			}
		})
	}
	h := hosttest.New(
		host.File{Path: "/etc/systemd/network/10-eth0.network.d/virtcluster-route-10-128-2-0-23-50.conf"}, host.File{Path: "/run/virtcluster/virtcluster-route-10-128-2-0-23-50"},
		host.File{Path: "/etc/network/if-up.d/virtcluster-route-10-7-0-0-16-0"}, host.File{Path: "/etc/network/if-up.d/mine"}, host.File{Path: "/run/virtcluster/virtcluster-route-odd"},
	)
	keys, err := List(t.Context(), h)
	if err != nil || len(keys) != 2 || keys[0].To.String() != "10.7.0.0/16" || keys[1].Metric != 50 {
		t.Errorf("kept are %+v, %v", keys, err)
	}
}
