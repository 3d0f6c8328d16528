package hostnet

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// TestLookPrintsTheNetwork runs look.sh.
func TestLookPrintsTheNetwork(t *testing.T) {
	t.Parallel()
	ip := `case $* in *address*) echo '[{"ifname": "eth1"}]' ;; *-4*) echo '[{"dst": "default"}]' ;; *-6*) echo '[]' ;; *neigh*) printf '[{"dst": "10.0.0.7",\n"dev": "eth1", "lladdr": "02:00:00:00:00:07"}]\n' ;; esac`
	end := hosttest.Script{Text: "SSH_CONNECTION='10.0.0.1 22222 10.0.0.2 22'\n" + lookScript, Programs: map[string]string{"ip": ip}}.Run(t)
	want := `[{"ifname": "eth1"}]

[{"dst": "default"}]

[]
ssh 10.0.0.1 22222 10.0.0.2 22
neighbours [{"dst": "10.0.0.7","dev": "eth1", "lladdr": "02:00:00:00:00:07"}]
`
	if diff := cmp.Diff(want, end.Stdout); end.Status != 0 || diff != "" {
		t.Errorf("%+v\n%s", end, diff)
	}
	if end := (hosttest.Script{Text: lookScript, Programs: map[string]string{"ip": "[ $1 != -json ]"}}).Run(t); end.Status == 0 {
		t.Errorf("ip fails: %+v", end)
	}
}

// TestStanzasAreFound runs stanzas.sh on files below a directory.
func TestStanzasAreFound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func() hosttest.Ending {
		return hosttest.Script{Text: strings.ReplaceAll(stanzasScript, "/etc/network", root), Args: []string{"eth1", "eth2"}}.Run(t)
	}
	write("interfaces", "iface eth1 inet dhcp\n")
	if end := run(); end.Status != 1 || !strings.Contains(end.Stderr, "does not read") {
		t.Errorf("a directory that is not read: %+v", end)
	}
	write("interfaces", "source "+root+"/interfaces.d/*\niface eth1 inet dhcp\n")
	write("interfaces.d/further", "#virtcluster eth2: iface eth2 inet dhcp\n")
	write("interfaces.d/other", "iface eth10 inet dhcp\n")
	write("interfaces.d/virtcluster-eth1", "iface eth1 inet manual\n")
	if end := run(); end.Status != 0 || end.Stdout != root+"/interfaces\n"+root+"/interfaces.d/further\n" {
		t.Errorf("%+v", end)
	}
}

// TestManagersAreAsked runs managers.sh and reads what it prints.
func TestManagersAreAsked(t *testing.T) {
	t.Parallel()
	end := hosttest.Script{Text: managersScript, Programs: map[string]string{
		"systemctl":  "",
		"nmcli":      `case $* in *device*) echo eth1:connected:11111111-2222-3333-4444-555555555555 ;; *) echo 11111111-2222-3333-4444-555555555555:/etc/NetworkManager/a ;; esac`,
		"networkctl": `echo '{"Interfaces":[{"Name":"eth0","AdministrativeState":"configured","NetworkFile":"/etc/systemd/network/10-eth0.network"}]}'`,
		"netplan":    "exit 1",
		"ifquery":    "[ $1 = eth1 ]",
		"ip":         "printf '1: lo: <LOOPBACK>\\n2: eth1@if3: <UP>\\n3: eth2: <UP>\\n'",
	}}.Run(t)
	m, err := parseManagers(end.Stdout)
	if err != nil || end.Status != 0 {
		t.Fatalf("%v: %+v", err, end)
	}
	want := map[string]Manager{
		"eth0": {Backend: Networkd, File: "/etc/systemd/network/10-eth0.network"},
		"eth1": {Backend: NetworkManager, Connection: "11111111-2222-3333-4444-555555555555", File: "/etc/NetworkManager/a", Others: []string{Ifupdown}},
	}
	if diff := cmp.Diff(want, m.Devices); diff != "" {
		t.Error(diff)
	}
	for _, backend := range []string{NetworkManager, Networkd, Netplan, Ifupdown} {
		t.Run(backend, func(t *testing.T) {
			if !m.Installed[backend] {
				t.Errorf("%s is not found: %+v", backend, end)
			}
		})
	}
	nothing := hosttest.Script{Text: managersScript, Programs: map[string]string{"systemctl": "exit 3"}, Alone: true}.Run(t)
	if nothing.Status != 0 || nothing.Stdout != "" {
		t.Errorf("without any: %+v", nothing)
	}
}

// TestWhoAnswersForAnAddressIsFound runs occupied.sh.
func TestWhoAnswersForAnAddressIsFound(t *testing.T) {
	t.Parallel()
	end := hosttest.Script{Text: occupiedScript, Args: []string{"0.5", "eth1", "10.0.0.7", "10.0.0.8", "10.0.0.9"}, Programs: map[string]string{
		"flock": "", "ping": "exit 1",
		"ip": `case $* in
		"neigh show to 10.0.0.7 dev eth1") echo '10.0.0.7 lladdr 02:00:00:00:00:07 STALE' ;;
		"neigh show to 10.0.0.8 dev eth1") echo '10.0.0.8 lladdr 02:00:00:00:00:08 FAILED' ;;
		esac`,
	}}.Run(t)
	if end.Status != 0 || end.Stdout != "10.0.0.7 02:00:00:00:00:07\n" || !slices.Contains(end.Calls, "ping -n -c 1 -W 0.5 -I eth1 10.0.0.9") {
		t.Errorf("%+v", end)
	}
}

// TestNameServersOfADeviceAreThoseOfItsBackend runs names.sh.
func TestNameServersOfADeviceAreThoseOfItsBackend(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "eth1.network")
	if err := os.WriteFile(file, []byte("[Network]\nAddress=10.0.0.2/24\nDNS=10.0.0.1 10.0.0.9\nDomains=a.example\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for backend, want := range map[string]string{
		NetworkManager: "dns 10.0.0.1 10.0.0.9\nsearch a.example\n",
		Networkd:       "dns 10.0.0.1 10.0.0.9\nsearch a.example\n",
		Netplan:        "dns 10.0.0.1 10.0.0.9\nsearch a.example\n",
		Ifupdown:       "dns 10.0.0.1 10.0.0.9\nsearch a.example b.example\n",
	} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			end := hosttest.Script{Text: namesScript, Args: []string{backend, "eth1", "11111111", file}, Programs: map[string]string{
				"nmcli":   "case $* in *' uuid 11111111') printf 'ipv4.dns:10.0.0.1,10.0.0.9\\nipv6.dns:\\nipv4.dns-search:a.example\\nipv6.dns-search:\\n' ;; esac",
				"ifquery": "[ $1 = eth1 ] && printf 'address: 10.0.0.2/24\\ndns-nameservers: 10.0.0.1 10.0.0.9\\ndns-search: a.example b.example\\n'",
			}}.Run(t)
			if end.Status != 0 || end.Stdout != want {
				t.Errorf("%+v", end)
			}
		})
	}
}

// TestFilesThatAreThereArePrinted runs print.sh.
func TestFilesThatAreThereArePrinted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/a b", []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	end := hosttest.Script{Text: printScript, Args: []string{dir + "/none", dir + "/a b", dir}}.Run(t)
	if end.Status != 0 || end.Stdout != "== "+dir+"/a b\ntext\n" {
		t.Errorf("%+v", end)
	}
}

// TestAChangeThatMayGoBackIsTold runs unproven.sh.
func TestAChangeThatMayGoBackIsTold(t *testing.T) {
	t.Parallel()
	for left, want := range map[string]string{armed: "unproven\n", going: "unproven\n", proven: "", "": ""} {
		t.Run("it is "+left, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			if err := os.MkdirAll(root+stateDir+"/aaaa/"+left, 0o700); err != nil {
				t.Fatal(err)
			}
			end := hosttest.Script{Text: strings.ReplaceAll(UnprovenScript, stateDir, root+stateDir)}.Run(t)
			if end.Status != 0 || end.Stdout != want {
				t.Errorf("%+v", end)
			}
		})
	}
}
