package hostnet

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// machineOf reads what ip said of a machine; "" is one without IPv6 routes.
func machineOf(t *testing.T, links, routes6 string) Machine {
	t.Helper()
	read := func(name string) []byte {
		if name == "" {
			return nil
		}
		text, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	m, err := ParseMachine(read(links), nil, read(routes6))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// writeFiles writes files below a root.
func writeFiles(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// heldIn is what the script finds below a root.
func heldIn(t *testing.T, files map[string]string) []HeldAddress {
	t.Helper()
	root := t.TempDir()
	writeFiles(t, root, files)
	out, err := exec.CommandContext(t.Context(), "sh", "-c", heldScript, "sh", root).Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []HeldAddress
	for line := range strings.Lines(string(out)) {
		if h, is := parseHeld(line); is {
			all = append(all, h)
		}
	}
	return all
}

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func TestAddressesThatKeepalivedHoldsAreNotTheDevicesOwn(t *testing.T) {
	const conf = `! 10.19.41.101 is this machine's
vrrp_sync_group all { group { a } }
vrrp_instance a {
  interface eth1
  unicast_src_ip 10.19.41.101
  unicast_peer { 10.19.41.102 }
  virtual_ipaddress {
    10.19.41.99/24 brd 10.19.41.255 dev eth1 label eth1:a # 10.19.41.101
    10.19.41.98
  }
  virtual_ipaddress_excluded { fd00::99/64 }
  virtual_routes { 10.77.0.0/16 via 10.19.41.254 }
}
`
	m := machineOf(t, "keepalived", "")
	m.Held = heldIn(t, map[string]string{"etc/keepalived/keepalived.conf": "include conf.d/*.conf\n", "etc/keepalived/conf.d/a.conf": conf})
	held := func(address string) HeldAddress {
		return HeldAddress{Address: netip.MustParseAddr(address), Holder: "keepalived"}
	}
	if diff := cmp.Diff([]HeldAddress{held("10.19.41.99"), held("10.19.41.98"), held("fd00::99")}, m.Held, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}
	if got := m.Addressing("eth1").Addresses; !cmp.Equal(got, prefixes("10.19.41.101/24"), cmpopts.EquateComparable(netip.Prefix{})) {
		t.Errorf("eth1 is configured with %v", got)
	}
	if got := m.SnapshotDevice("eth1").Settings; !cmp.Equal(got, []Setting{AddressSetting(prefixes("10.19.41.101/24")[0])}, cmpopts.EquateComparable(Setting{})) {
		t.Errorf("what eth1 had is %v", got)
	}
	if got := len(m.Settings("eth1")); got != 4 {
		t.Errorf("eth1 has %d addresses, want all four", got)
	}
	problems := m.WarnOfHeld([]string{"eth1"}, "bridge br0")
	if len(problems) != 1 || !strings.HasPrefix(problems[0].Detail, "keepalived has 10.19.41.98/32 10.19.41.99/24 fd00::99/64 on eth1, which goes into bridge br0") {
		t.Errorf("the warning is %v", problems)
	}
}

// A kernel from 5.18 on keeps what put an address there.
// The owner of a virtual address (RFC 5798, 1.6) has it without keepalived, which has it in its configuration too.
func TestTheOnlyAddressOfADeviceIsItsOwn(t *testing.T) {
	parse := func(more string) Machine {
		m, err := ParseMachine([]byte(`[{"ifname": "eth1", "addr_info": [{"family": "inet", "local": "10.19.41.9", "prefixlen": 24, "scope": "global"}`+more+`]}]`), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.Held = []HeldAddress{{Address: netip.MustParseAddr("10.19.41.9"), Holder: keepalivedHolds}}
		return m
	}
	for more, own := range map[string]string{
		"": "10.19.41.9/24",
		`, {"family": "inet6", "local": "2001:db8::9", "prefixlen": 64, "scope": "global", "dynamic": true}`: "10.19.41.9/24",
		`, {"family": "inet", "local": "10.19.41.8", "prefixlen": 24, "scope": "global"}`:                    "10.19.41.8/24",
	} {
		t.Run(more, func(t *testing.T) {
			var got []string
			for _, p := range parse(more).Addressing("eth1").Addresses {
				got = append(got, p.String())
			}
			if strings.Join(got, " ") != own {
				t.Errorf("with %q its own are %v, not %s", more, got, own)
			}
		})
	}
}

func TestTheKernelSaysWhichAddressesAreKeepaliveds(t *testing.T) {
	for _, protocol := range []string{"keepalived", "18"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			m := machineOf(t, "keepalived", "")
			m.Links[0].Addresses[1].Protocol = protocol
			if got := m.Addressing("eth1").Addresses; len(got) != 3 || got[1].Addr() == netip.MustParseAddr("10.19.41.98") {
				t.Errorf("with protocol %s it is configured with %v", protocol, got)
			}
		})
	}
}

func TestAddressesOfExposuresAreNotTheDevicesOwn(t *testing.T) {
	m := machineOf(t, "keepalived", "")
	m.Held = heldIn(t, map[string]string{"run/virtcluster-exposure/addresses": "eth1 10.19.41.98/32\neth2 10.19.41.99/32\n"})
	if got, want := m.Addressing("eth1").Addresses, prefixes("10.19.41.101/24", "10.19.41.99/24", "fd00::99/64"); !cmp.Equal(got, want, cmpopts.EquateComparable(netip.Prefix{})) {
		t.Errorf("eth1 is configured with %v", got)
	}
	if problems := m.WarnOfHeld([]string{"eth1"}, "bridge br0"); len(problems) != 1 || !strings.Contains(problems[0].Detail, "exposure") {
		t.Errorf("the warning is %v", problems)
	}
}

func TestWhatRoutersAdvertiseIsNotMadePermanent(t *testing.T) {
	for _, by := range []struct {
		links, routes, device string
		own                   []netip.Prefix
	}{
		{"advertised_networkd", "advertised_networkd_routes6", "eth1", prefixes("10.19.41.101/24")},
		{"advertised_kernel", "advertised_kernel_routes6", "rr1", nil},
	} {
		t.Run(by.links, func(t *testing.T) {
			t.Parallel()
			b := machineOf(t, by.links, by.routes).SnapshotDevice(by.device)
			if !b.Addressing.AcceptRA || len(b.Addressing.Gateways)+len(b.Addressing.Routes) != 0 || !cmp.Equal(b.Addressing.Addresses, by.own, cmpopts.EquateComparable(netip.Prefix{})) {
				t.Errorf("%s: configured is %+v", by.links, b.Addressing)
			}
			if len(b.Settings) != len(by.own) {
				t.Errorf("%s: what the device had is %v", by.links, b.Settings)
			}
		})
	}
	if machineOf(t, "links", "routes6").Addressing("eno1").AcceptRA {
		t.Error("static addresses are taken for a router's")
	}
}

func TestEachBackendHeedsRoutersWhereTheDeviceDid(t *testing.T) {
	s := Device{Name: "br0", Bridge: &BridgeOptions{}, Addressing: Addressing{Addresses: prefixes("10.19.41.101/24")}}
	render := func(s Device) map[string]string {
		text := netplan{}.renderYAML([]Device{s})
		return map[string]string{Networkd: renderNetwork(s, mark), NetworkManager: renderConnection(s, mark), Netplan: text, Ifupdown: renderStanza(s, Desired{Devices: []Device{s}, Mark: mark})}
	}
	without := render(s)
	s.AcceptRA = true
	with := render(s)
	for backend, c := range map[string]struct{ heeds, not string }{
		Networkd:       {"IPv6AcceptRA=yes\n", "IPv6AcceptRA=no\n"},
		NetworkManager: {"[ipv6]\nmethod=auto\n", "[ipv6]\nmethod=link-local\n"},
		Netplan:        {"accept-ra: true\n", "accept-ra: false\n"},
		Ifupdown:       {"  pre-up echo 2 >/proc/sys/net/ipv6/conf/br0/accept_ra || :\n", "iface br0 inet manual\n"},
	} {
		t.Run(backend, func(t *testing.T) {
			if !strings.Contains(with[backend], c.heeds) {
				t.Errorf("%s does not heed them:\n%s", backend, with[backend])
			}
			if !strings.Contains(without[backend], c.not) || strings.Contains(without[backend], c.heeds) {
				t.Errorf("%s heeds them by itself:\n%s", backend, without[backend])
			}
		})
	}
	if !strings.Contains(with[NetworkManager], "[ipv4]\nmethod=manual\n") {
		t.Errorf("IPv4 asks for a lease:\n%s", with[NetworkManager])
	}
}
