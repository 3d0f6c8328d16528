package hostnet

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// runSteps runs commands behind steps.sh as what a change does, on a machine whose files are below a root, and returns how that ended and
// the calls of the programs that change something.
func runSteps(t *testing.T, root, commands string, programs map[string]string) (end hosttest.Ending, changes []string) {
	t.Helper()
	text := strings.NewReplacer("/proc/", root+"/proc/", "/run/", root+"/run/").Replace(functionsScript())
	end = hosttest.Script{Text: "set -eu\n" + text + commands, Programs: programs}.Run(t)
	for _, call := range end.Calls {
		if !strings.Contains(call, " show ") && !strings.Contains(call, " list ") {
			changes = append(changes, call)
		}
	}
	return end, changes
}

// layFiles writes files below a root.
func layFiles(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestStepsWaitUntilItIsSo(t *testing.T) {
	t.Parallel()
	sleep := map[string]string{"sleep": ""}
	if end, _ := runSteps(t, "", "tried=0\nawait 'eth1 has no address' 'tried=$((tried + 1)); [ $tried = 3 ]'\necho $tried", sleep); end.Status != 0 || end.Stdout != "3\n" {
		t.Errorf("%+v", end)
	}
	if end, _ := runSteps(t, "", "await 'eth1 has no address' false\necho over", sleep); end.Status != 1 || end.Stderr != "eth1 has no address\n" || end.Stdout != "" {
		t.Errorf("%+v", end)
	}
}

func TestStepsReconfigureADeviceThatIsAtRest(t *testing.T) {
	t.Parallel()
	state := func(states ...string) map[string]string {
		text := "n=$(grep -c ' list ' \"$(dirname \"$0\")/calls.log\")\ncase $1/$n in\n"
		for i, s := range states {
			pattern := "list/" + string(rune('1'+i))
			if i == len(states)-1 {
				pattern = "list/*"
			}
			text += pattern + ") echo '2 eth1 ether routable " + s + "' ;;\n"
		}
		return map[string]string{"sleep": "", "networkctl": text + "esac"}
	}
	for name, c := range map[string]struct {
		command string
		states  []string
		calls   int
	}{
		"at once":                     {"reconfigure eth1", []string{"configured"}, 1},
		"when it is at rest":          {"reconfigure eth1", []string{"configuring", "pending", "configured"}, 3},
		"not where it is so":          {"reconfigure_unless eth1 true", []string{"configured"}, 0},
		"where it has failed":         {"reconfigure_unless eth1 false", []string{"configuring", "failed"}, 2},
		"where it does not become so": {"reconfigure_unless eth1 false", []string{"configured"}, 50},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end, changes := runSteps(t, "", c.command, state(c.states...))
			asked := len(slices.DeleteFunc(slices.Clone(end.Calls), func(s string) bool { return !strings.Contains(s, " list ") }))
			told := slices.Contains(changes, "networkctl reconfigure eth1")
			if end.Status != 0 || asked != c.calls || told != (c.calls > 0) {
				t.Errorf("%+v", end)
			}
		})
	}
}

func TestStepsForgetAndAskRouters(t *testing.T) {
	t.Parallel()
	root := layFiles(t, map[string]string{"proc/sys/net/ipv6/conf/eth1/accept_ra": "1\n", "proc/sys/net/ipv6/conf/eth2/accept_ra": "0\n"})
	programs := map[string]string{"ip": `case $* in
	*route*show*) printf 'default via fe80::1 proto ra metric 1024 expires 1700sec hoplimit 64\nfd00::/64 proto kernel metric 256\n' ;;
	*show*dynamic) echo '2: eth1    inet6 fd00::5/64 scope global dynamic' ;;
	*show*link) printf '2: eth1    inet6 fe80::5/64 scope link\n2: eth1    inet6 fe80::6/64 scope link\n' ;;
	*del*) exit 2 ;;
	esac`}
	if end, changes := runSteps(t, root, "forget_routers eth1\necho over", programs); end.Stdout != "over\n" || !slices.Equal(changes, []string{
		"ip -6 route del default via fe80::1 proto ra metric 1024 dev eth1", "ip address del fd00::5/64 dev eth1",
	}) {
		t.Errorf("%+v", end)
	}
	programs["ip"] = strings.Replace(programs["ip"], "*del*) exit 2", "*del*)", 1)
	if end, changes := runSteps(t, root, "ask_routers eth1\nask_routers eth2\nask_routers eth3\necho over", programs); end.Stdout != "over\n" || !slices.Equal(changes, []string{
		"ip address del fe80::5/64 dev eth1", "ip address add fe80::5/64 dev eth1",
	}) {
		t.Errorf("%+v", end)
	}
}

func TestStepsHeedRoutersAsAnotherDeviceDid(t *testing.T) {
	t.Parallel()
	const conf = "proc/sys/net/ipv6/conf/"
	root := layFiles(t, map[string]string{
		conf + "eth1/accept_ra": "0\n", conf + "eth1/autoconf": "0\n", conf + "br0/accept_ra": "1\n", conf + "br0/autoconf": "1\n", conf + "br0/use_tempaddr": "7\n",
	})
	end, _ := runSteps(t, root, "heed_routers br0 eth1 2\necho over", nil)
	if end.Stdout != "over\n" || end.Stderr != "" {
		t.Errorf("%+v", end)
	}
	for name, want := range map[string]string{"accept_ra": "2\n", "autoconf": "0\n", "use_tempaddr": "7\n"} {
		t.Run(name, func(t *testing.T) {
			if got, err := os.ReadFile(filepath.Join(root, conf, "br0", name)); string(got) != want {
				t.Errorf("%s is %q, %v", name, got, err)
			}
		})
	}
}

func TestStepsOfIfupdown(t *testing.T) {
	t.Parallel()
	root := layFiles(t, map[string]string{"run/dhclient.eth1.pid": "99999999\n", "run/network/ifstate": "lo=lo\neth1=eth1\neth10=eth10\n", "run/network/ifstate.eth1": "eth1\n"})
	end, changes := runSteps(t, root, "stop_dhcp eth1\nstop_dhcp eth2\nforget_state eth1\nbring_up_again eth1\necho over", map[string]string{
		"ifup": "", "ifquery": `printf 'lo\neth1\neth1:1\neth10:1\neth1:2\n'`,
	})
	want := []string{"ifup --force eth1", "ifquery --list", "ifup --force eth1:1", "ifup --force eth1:2"}
	if end.Stdout != "over\n" || !slices.Equal(changes, want) {
		t.Errorf("%+v", end)
	}
	if text, err := os.ReadFile(root + "/run/network/ifstate"); string(text) != "lo=lo\neth10=eth10\n" {
		t.Errorf("it still has %q, %v", text, err)
	}
	for _, gone := range []string{"/run/dhclient.eth1.pid", "/run/network/ifstate.eth1"} {
		t.Run(gone, func(t *testing.T) {
			if _, err := os.Stat(root + gone); err == nil {
				t.Errorf("%s stays", gone)
			}
		})
	}
}

// What somebody did to the connection that a device had before keeps nobody from giving the device back.
func TestADeviceIsGivenBackWhateverBecameOfItsConnection(t *testing.T) {
	t.Parallel()
	lan := Addressing{Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.5/24")}}
	const exists, gone = `case $* in *' up '*) exit 4 ;; esac`, `case $* in connection*) exit 10 ;; esac`
	for name, c := range map[string]struct {
		nmcli  string
		before Addressing
		status int
		calls  []string
	}{
		"it comes up":                            {"", lan, 0, []string{"nmcli --wait 30 connection up uuid abc ifname eth1"}},
		"it does not come up":                    {exists, lan, 4, []string{"nmcli --wait 30 connection up uuid abc ifname eth1"}},
		"it has no addresses, and no carrier":    {exists, Addressing{}, 0, []string{"nmcli --wait 30 connection up uuid abc ifname eth1"}},
		"it is gone":                             {gone, lan, 0, []string{"ip link set dev eth1 nomaster", "nmcli --wait 30 device connect eth1", "ip -force -batch -"}},
		"it is gone, and the device had a lease": {gone, Addressing{DHCP: true}, 0, []string{"ip link set dev eth1 nomaster", "nmcli --wait 30 device connect eth1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Device{Name: "eth1", Master: "br0", Before: DeviceSnapshot{Name: "eth1", Manager: Manager{Backend: NetworkManager, Connection: "abc"}, Addressing: c.before, Settings: c.before.Settings()}}
			end, changes := runSteps(t, "", bringBackConnection(d), map[string]string{"nmcli": c.nmcli, "ip": ""})
			if end.Status != c.status || !slices.Equal(changes, c.calls) {
				t.Errorf("%+v: it runs %q", end, changes)
			}
		})
	}
}

// A guest that lost its bridge is put back, with the options and VLANs that it had as a port; one that is in it as before is left alone.
func TestStepsKeepGuests(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	programs := map[string]string{
		"ip": `case $* in
		*'master br0'*show* | *show*'master br0') printf '4: eth1: <UP> master br0 \n5: vnet0: <UP> master br0 \n6: vnet1@if2: <UP> master br0 \n' ;;
		*'show dev vnet0') [ ! -e "` + root + `/lost" ] || echo '5: vnet0: <UP>' ;;
		*'show dev vnet1') echo '6: vnet1: <UP> master br0 state UP' ;;
		esac`,
		"bridge": `case $* in
		*link*show) printf '5: vnet0: <UP> mtu 1500 master br0 state forwarding\n    hairpin off guard off isolated on\n6: vnet1: <UP> mtu 1500 master br0\n    isolated off\n7: vnet7: <UP> master br7\n    isolated on\n' | if [ -e "` + root + `/lost" ]; then sed 's/isolated on/isolated off/'; else cat; fi ;;
		vlan*show) printf 'port              vlan-id\nvnet0             7 PVID Egress Untagged\n                  8\nvnet1             1 PVID Egress Untagged\n' ;;
		*batch*) cat >"` + root + `/batch" ;;
		esac`,
	}
	// The background loop is over before anything is lost, so that what follows is the end's doing alone.
	end, changes := runSteps(t, root, "keep_guests br0 br0 eth1\nkill $!\nwait $! || :\n: >'"+root+"/lost'\n: >\"$(dirname \"$(command -v bridge)\")/calls.log\"\necho over", programs)
	batch, err := os.ReadFile(root + "/batch")
	const want = "link set dev vnet0 hairpin off\nlink set dev vnet0 guard off\nlink set dev vnet0 isolated on\n" +
		"vlan del dev vnet0 vid 1\nvlan add dev vnet0 vid 7 pvid untagged\nvlan add dev vnet0 vid 8  \n"
	normal := strings.NewReplacer("  \n", "\n", " \n", "\n")
	if end.Stdout != "over\n" || err != nil || normal.Replace(string(batch)) != normal.Replace(want) {
		t.Errorf("%+v, %v: the batch is\n%s", end, err, batch)
	}
	if !slices.Contains(changes, "ip link set dev vnet0 master br0") || slices.Contains(changes, "ip link set dev vnet1 master br0") {
		t.Errorf("put back are %q", changes)
	}
	if end, changes := runSteps(t, root, "keep_guests br1 br1\necho over", map[string]string{"ip": "", "bridge": ""}); end.Stdout != "over\n" || len(changes) != 0 {
		t.Errorf("without guests: %+v", end)
	}
}
