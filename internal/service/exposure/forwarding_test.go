package exposure

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestForwardingThatOthersMayNeedStaysOn asks exposure.sh who may need forwarding, on a machine whose programs and files are below a root.
func TestForwardingThatOthersMayNeedStaysOn(t *testing.T) {
	const (
		now    = "default via 10.0.0.254 dev eth0 proto static\n10.0.0.0/24 dev eth0 proto kernel scope link src 10.0.0.7 linkdown\n"
		before = "10.0.0.0/24 dev eth0 proto kernel scope link\ndefault via 10.0.0.254 dev eth0 proto static\n192.0.2.0/24 via 10.0.0.9 dev eth0\n"
		legacy = "*filter\n:FORWARD ACCEPT [0:0]\n-A INPUT -s 192.0.2.1 -j DROP\n"
	)
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nobody":                                {nil, ""},
		"an address of the machine's own":       {map[string]string{"routes": now + "fd00::7 dev eth0 proto kernel metric 256\nfe80::/64 dev eth1 proto kernel metric 256\n"}, ""},
		"what routers advertise":                {map[string]string{"routes": now + "default via fe80::1 dev eth0 proto ra metric 1024 expires 1790sec\n"}, ""},
		"a network of a bridge":                 {map[string]string{"routes": now + "192.168.9.0/24 dev virbr9 proto kernel scope link src 192.168.9.1\n"}, "other networks"},
		"a route":                               {map[string]string{"routes": now + "198.51.100.0/24 via 10.0.0.9 dev eth0\n"}, "other networks"},
		"nobody knows what there was":           {map[string]string{"here/networks4": ""}, "other networks"},
		"connections of others":                 {map[string]string{"run/routed4": "\n"}, "connections of others"},
		"rules of nftables":                     {map[string]string{"ruleset": "table ip nat {\n\tchain x {\n\t\ttype nat hook postrouting priority 100; policy accept;\n\t\tmasquerade\n\t}\n}\n"}, "others have rules"},
		"rules of iptables-legacy":              {map[string]string{"proc/ip_tables_names": "filter\n", "legacy": legacy + "-A FORWARD -i wg0 -j ACCEPT\n"}, "iptables-legacy"},
		"a policy of iptables-legacy":           {map[string]string{"proc/ip_tables_names": "filter\n", "legacy": ":FORWARD DROP [0:0]\n"}, "iptables-legacy"},
		"rules that cannot be read":             {map[string]string{"proc/ip_tables_names": "filter\n"}, "iptables-legacy"},
		"rules for what comes in":               {map[string]string{"proc/ip_tables_names": "filter\n", "legacy": legacy}, ""},
		"sysctl.d":                              {map[string]string{"etc/sysctl.d/router.conf": "net.ipv4.ip_forward = 1\n"}, "configuration of the machine"},
		"sysctl.d that switches it off":         {map[string]string{"etc/sysctl.d/router.conf": "net.ipv4.ip_forward = 0\n# net.ipv4.ip_forward = 1\n"}, ""},
		"a .network file of systemd-networkd's": {map[string]string{"etc/systemd/network/10-lan.network": "[Network]\nIPMasquerade=both\n"}, "configuration of the machine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			write := func(file, text string, mode os.FileMode) {
				t.Helper()
				at := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), mode); err != nil {
					t.Fatal(err)
				}
			}
			write("bin/ip", "#!/bin/sh\ncat "+root+"/routes\n", 0o755)
			write("bin/nft", "#!/bin/sh\ncat "+root+"/ruleset 2>/dev/null\n", 0o755)
			write("bin/iptables-legacy-save", "#!/bin/sh\nexec cat "+root+"/legacy\n", 0o755)
			write("routes", now, 0o644)
			write("here/networks4", before, 0o644)
			for file, text := range c.files {
				if write(file, text, 0o644); text == "" {
					_ = os.Remove(filepath.Join(root, file))
				}
			}
			functions, _, _ := strings.Cut(script, "\ncase ${1:-} in\n")
			functions = strings.NewReplacer("/var/lib/virtcluster/exposure", root+"/here", "/run/virtcluster-exposure", root+"/run",
				"/proc/net/", root+"/proc/", "/etc/", root+"/etc/", "/run/systemd", root+"/etc/systemd", "/run/sysctl", root+"/sysctl", "/usr/lib/sysctl", root+"/sysctl", "/usr/local/lib/sysctl", root+"/sysctl").Replace(functions)
			cmd := exec.Command("sh", "-c", functions+"\nneeded_by 4")
			cmd.Env = append(os.Environ(), "PATH="+root+"/bin:"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil && got != "" || c.want == "" && got != "" || !strings.Contains(got, c.want) || strings.Contains(got, "\n") {
				t.Errorf("%v: it is needed by %q, want %q", err, got, c.want)
			}
		})
	}
}

// TestAddressThatIsNotTakenOffIsNotForgotten has exposure.sh take an address off that nothing asks for any more.
func TestAddressThatIsNotTakenOffIsNotForgotten(t *testing.T) {
	for name, c := range map[string]struct{ ip, left, says string }{
		"it is gone":                {"", "", ""},
		"its device is gone":        {"echo 'Device \"eth1\" does not exist.' >&2; exit 1", "", ""},
		"it is there still":         {"echo '3: eth1    inet 10.0.0.7/32 scope global eth1'", "eth1 10.0.0.7/32\n", "cannot take 10.0.0.7/32 off eth1"},
		"the program says rubbish":  {"echo '\\377\\377'", "eth1 10.0.0.7/32\n", "cannot take 10.0.0.7/32 off eth1"},
		"the program cannot be run": {"exit 126", "eth1 10.0.0.7/32\n", "cannot take 10.0.0.7/32 off eth1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for file, text := range map[string]string{"bin/ip": "#!/bin/sh\n" + c.ip + "\n", "here/none": "", "run/addresses": "eth1 10.0.0.7/32\n"} {
				if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755), os.WriteFile(filepath.Join(root, file), []byte(text), 0o755)); err != nil { //nolint:gosec // one of them is a program
					t.Fatal(err)
				}
			}
			functions, _, _ := strings.Cut(script, "\ncase ${1:-} in\n")
			functions = strings.NewReplacer("/var/lib/virtcluster/exposure", root+"/here", "/run/virtcluster-exposure", root+"/run").Replace(functions)
			cmd := exec.Command("sh", "-c", functions+"\naddresses_down")
			cmd.Env = append(os.Environ(), "PATH="+root+"/bin:"+os.Getenv("PATH"))
			said, err := cmd.CombinedOutput()
			left, errLeft := os.ReadFile(filepath.Join(root, "run/addresses"))
			if (err != nil) != (c.says != "") || errLeft != nil || string(left) != c.left || !strings.Contains(string(said), c.says) {
				t.Errorf("%v, %v: it says %q and keeps %q", err, errLeft, said, left)
			}
		})
	}
}

// A unit that runs once has Restart= from systemd 244 on only: older ones do not load it at all.
func TestUnitsThatRunOnceDoNotRestart(t *testing.T) {
	for _, unit := range []string{rulesUnitText, addressesUnitText} {
		t.Run(unit, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(unit, "Type=oneshot") && strings.Contains(unit, "\nRestart") {
				t.Errorf("older systemd refuses\n%s", unit)
			}
		})
	}
}
