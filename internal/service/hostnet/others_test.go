package hostnet

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// otherDevices is what ip(8) tells of a machine: eth1 is the change's own, eth2 has what others gave it beside what comes by itself.
const otherDevices = `case $* in
*address*show*)
	echo '1: lo    inet 127.0.0.1/8 scope host lo\       valid_lft forever preferred_lft forever'
	echo '3: eth1    inet 10.19.41.9/24 scope global eth1\       valid_lft forever preferred_lft forever'
	[ -e "$lost" ] || echo '4: eth2    inet 10.20.0.7/24 brd 10.20.0.255 scope global secondary eth2:1\       valid_lft forever preferred_lft forever'
	echo '4: eth2    inet 10.20.0.100/32 scope global eth2\       valid_lft forever preferred_lft forever'
	echo '4: eth2    inet6 fe80::1/64 scope link \       valid_lft forever preferred_lft forever'
	[ -e "$lost" ] || echo '5: wg0    inet 10.30.0.1 peer 10.30.0.2/32 scope global noprefixroute wg0\       valid_lft forever preferred_lft forever'
	;;
*neigh*show*) [ -e "$lost" ] || echo '10.20.0.8 dev eth2 lladdr 02:00:00:00:00:08 PERMANENT' ;;
*-4*route*show*)
	echo 'default via 10.0.0.254 dev eth0 proto dhcp src 10.0.0.5 metric 100'
	echo '10.20.0.0/24 dev eth2 proto kernel scope link src 10.20.0.7 linkdown'
	[ -e "$lost" ] || echo '10.40.0.0/16 via 10.20.0.254 dev eth2 proto static metric 7 linkdown'
	[ -e "$lost" ] || printf '10.50.0.0/16 table 77 metric 5 \\\tnexthop via 10.20.0.1 dev eth2 weight 1 \\\tnexthop via 10.20.0.2 dev eth2 weight 1\n'
	echo '10.60.0.0/16 via 10.19.41.254 dev eth1 proto static'
	;;
*-6*route*show*) echo 'default via fe80::9 dev eth2 proto ra metric 1024 expires 1700sec pref medium' ;;
*-4*rule*show*)
	printf '0:\tfrom all lookup local\n32766:\tfrom all lookup main\n32767:\tfrom all lookup default\n'
	[ -e "$lost" ] || printf '5210:\tfrom all fwmark 0x80000/0xff0000 lookup 52\n'
	;;
esac`

// TestReloadOfNetworkdLeavesOthersWhatTheyHave runs others.sh.
func TestReloadOfNetworkdLeavesOthersWhatTheyHave(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	lost := filepath.Join(root, "lost")
	if err := os.MkdirAll(filepath.Join(root, "etc/keepalived"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "etc/keepalived/keepalived.conf"), []byte("virtual_ipaddress { 10.20.0.100/32 dev eth2 }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	programs := map[string]string{
		"sleep": "", "ip": "lost=" + lost + "\n" + otherDevices,
		"networkctl": "case $1 in reload) : >" + lost + " ;; *) echo '4 eth2 ether routable configured' ;; esac",
	}
	text := strings.ReplaceAll(functionsScript(), "${0%/*}", root)
	text = strings.ReplaceAll(text, `print_held ""`, "print_held "+root)
	text = strings.ReplaceAll(text, `"$1/etc/keepalived"`, root+"/etc/keepalived")
	end := hosttest.Script{Text: "set -eu\n" + text + "note_others eth1 br0\nreload_networkd eth1 br0\necho over", Programs: programs}.Run(t)
	var changes []string
	for _, call := range end.Calls {
		if !strings.Contains(call, " show") && !strings.Contains(call, " list ") && !strings.HasPrefix(call, "sleep") {
			changes = append(changes, call)
		}
	}
	lostAll := []string{
		"ip address add 10.20.0.7/24 dev eth2 brd 10.20.0.255 scope global label eth2:1",
		"ip address add 10.30.0.1 dev wg0 peer 10.30.0.2/32 scope global noprefixroute label wg0",
		"ip neigh replace 10.20.0.8 dev eth2 lladdr 02:00:00:00:00:08 nud permanent",
		"ip -4 route add 10.40.0.0/16 via 10.20.0.254 dev eth2 proto static metric 7",
		"ip -4 route add 10.50.0.0/16 table 77 metric 5 nexthop via 10.20.0.1 dev eth2 weight 1 nexthop via 10.20.0.2 dev eth2 weight 1",
		"ip -4 rule add pref 5210 from all fwmark 0x80000/0xff0000 lookup 52",
	}
	want := append([]string{"networkctl reload"}, append(slices.Clone(lostAll), lostAll...)...) // at once, and when the script ends
	if end.Status != 0 || end.Stdout != "over\n" || end.Stderr != "" || !slices.Equal(changes, want) {
		t.Errorf("%d %q %q\n%s\nwant\n%s", end.Status, end.Stdout, end.Stderr, strings.Join(changes, "\n"), strings.Join(want, "\n"))
	}
}

// TestWhatAHolderIsLettingGoIsNotGivenBack has a virtual address go after the note was made, whose configuration is gone already: keepalived's
// change, which is under way, has it in the configuration of before, and exposures in the list of what they put on devices.
func TestWhatAHolderIsLettingGoIsNotGivenBack(t *testing.T) {
	t.Parallel()
	before := host.File{Path: "/etc/keepalived/keepalived.conf", Content: []byte("vrrp_instance a {\n  virtual_ipaddress {\n    10.19.41.184/24 dev eth1\n  }\n}\n")}
	journal, err := json.Marshal(map[string]any{"files": []any{map[string]any{"path": before.Path, "before": before, "wrote": "1f"}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files map[string]string
		given bool
	}{
		"keepalived":      {map[string]string{"var/lib/virtcluster/keepalived/journal.json": string(journal)}, false},
		"exposures":       {map[string]string{"run/virtcluster-exposure/addresses": "eth1 10.19.41.184/24\n"}, false},
		"a person's":      {nil, true},
		"another journal": {map[string]string{"var/lib/virtcluster/haproxy/journal.json": string(journal)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			lost := filepath.Join(root, "lost")
			writeFiles(t, root, c.files)
			writeFiles(t, root, map[string]string{before.Path: "# nothing any more\n"})
			programs := map[string]string{
				"ip":         "case $* in *address*show*) echo '1: lo    inet 127.0.0.1/8 scope host lo'; [ -e " + lost + " ] || echo '3: eth1    inet 10.19.41.184/24 scope global secondary eth1' ;; esac",
				"sleep":      "",
				"networkctl": "case $1 in reload) : >" + lost + " ;; *) echo '3 eth1 ether routable configured' ;; esac",
			}
			text := strings.ReplaceAll(functionsScript(), "${0%/*}", root)
			text = strings.ReplaceAll(text, `print_held ""`, "print_held "+root)
			for _, path := range []string{"/etc/keepalived", "/var/lib/virtcluster/keepalived/journal.json", "/run/virtcluster-exposure/addresses"} {
				text = strings.ReplaceAll(text, "$1"+path, root+path) // a function's arguments are those of the script here
			}
			end := hosttest.Script{Text: "set -eu\n" + text + "note_others br0\nreload_networkd br0\necho over", Programs: programs}.Run(t)
			given := slices.ContainsFunc(end.Calls, func(call string) bool { return strings.Contains(call, "10.19.41.184") })
			if end.Status != 0 || end.Stdout != "over\n" || given != c.given {
				t.Errorf("%d %q %q\n%s", end.Status, end.Stdout, end.Stderr, strings.Join(end.Calls, "\n"))
			}
		})
	}
}

func TestDevicesKeepWhatOthersGaveThem(t *testing.T) {
	t.Parallel()
	setting := func(address string) Setting { return AddressSetting(netip.MustParsePrefix(address)) }
	m, err := ParseMachine([]byte(`[
		{"ifname": "eth1", "addr_info": [{"family": "inet", "local": "10.0.0.5", "prefixlen": 24, "scope": "global"}, {"family": "inet", "local": "10.0.0.6", "prefixlen": 32, "scope": "global"}]},
		{"ifname": "br0", "addr_info": [{"family": "inet", "local": "10.1.0.5", "prefixlen": 24, "scope": "global"}, {"family": "inet", "local": "10.1.0.6", "prefixlen": 32, "scope": "global"}]},
		{"ifname": "eth2", "master": "br0"}]`),
		[]byte(`[{"dst": "10.9.0.0/16", "gateway": "10.0.0.254", "dev": "eth1"}, {"dst": "10.8.0.0/16", "gateway": "10.0.0.254", "dev": "eth1", "protocol": "static", "metric": 100}]`), nil)
	if err != nil {
		t.Fatal(err)
	}
	own := Addressing{Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.5/24")}, Routes: []StaticRoute{{To: netip.MustParsePrefix("10.8.0.0/16"), Via: netip.MustParseAddr("10.0.0.254")}}}
	for name, c := range map[string]struct {
		from, to Desired
		want     string
	}{
		"an interface": {
			Desired{Devices: []Device{{Name: "eth1", Addressing: own}}}, Desired{},
			"settle eth1\nip -force -batch - 2>/dev/null <<'END' || :\naddr replace 10.0.0.6/32 dev eth1\nroute add 10.9.0.0/16 via 10.0.0.254 dev eth1\nEND\n",
		},
		"a bridge, to its port": {
			Desired{Devices: []Device{{Name: "br0", Bridge: &BridgeOptions{}, Inherited: []Setting{setting("10.1.0.5/24")}}, {Name: "eth2", Master: "br0"}}}, Desired{},
			"settle eth2\nip -force -batch - 2>/dev/null <<'END' || :\naddr replace 10.1.0.6/32 dev eth2\nEND\n",
		},
		"a bridge that stays": {
			Desired{Devices: []Device{{Name: "br0", Bridge: &BridgeOptions{}, Inherited: []Setting{setting("10.1.0.5/24")}}, {Name: "eth2", Master: "br0"}}}, Desired{Devices: []Device{{Name: "br0"}}},
			"settle br0\nip -force -batch - 2>/dev/null <<'END' || :\naddr replace 10.1.0.6/32 dev br0\nEND\n",
		},
		"an interface that is given what was others'": {
			Desired{Devices: []Device{{Name: "br0", Bridge: &BridgeOptions{}, Inherited: []Setting{setting("10.1.0.5/24")}}}}, Desired{Devices: []Device{{Name: "br0", Inherited: []Setting{setting("10.1.0.6/32")}}}}, "",
		},
		"what DHCP's client made of a lease": {
			Desired{Backend: Ifupdown, Devices: []Device{{Name: "eth1", Addressing: Addressing{DHCP: true}, Before: DeviceSnapshot{Settings: []Setting{setting("10.0.0.5/24"), setting("10.0.0.6/32")}}}}}, Desired{}, "",
		},
		"what has nothing of others'": {Desired{Devices: []Device{{Name: "eth2"}}}, Desired{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := m.leaveOthers(c.from, c.to); got != c.want {
				t.Errorf("%s\nwant\n%s", got, c.want)
			}
		})
	}
}
