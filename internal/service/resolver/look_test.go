package resolver

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// TestLookTellsWhatResolvesNames runs look.sh on files below a root.
func TestLookTellsWhatResolvesNames(t *testing.T) {
	t.Parallel()
	dhclientHooks := map[string]string{"etc/dhcp/dhclient-enter-hooks.d/x": "", "sbin/dhclient-script": "run-parts /etc/dhcp/dhclient-enter-hooks.d\n"}
	for name, c := range map[string]struct {
		files    map[string]string
		programs map[string]string
		want     []string // lines that it prints beside those of resolv.conf
	}{
		"a file":                              {nil, map[string]string{"systemctl": "exit 3"}, nil},
		"systemd-resolved and NetworkManager": {nil, map[string]string{"systemctl": "", "busctl": `echo 's "dnsmasq"'`}, []string{"resolved", "mode dnsmasq"}},
		"name servers for every name": {map[string]string{
			"etc/systemd/resolved.conf": "#DNS=1.1.1.1\nDNS=\n", "etc/systemd/resolved.conf.d/90-virtcluster.conf": "DNS=10.0.0.1\n", "etc/systemd/resolved.conf.d/10-a.conf": "DNS=10.0.0.9\n",
		}, nil, []string{"global /etc/systemd/resolved.conf.d/10-a.conf"}},
		"a client that runs": {map[string]string{"proc/12/comm": "udhcpc\n", "proc/13/comm": "sh\n"}, nil, []string{"client udhcpc"}},
		"dhclient with its own script": {
			map[string]string{"proc/12/comm": "dhclient\n", "proc/12/cmdline": "dhclient\x00eth0\x00"}, nil, []string{"client dhclient"},
		},
		"dhclient of NetworkManager": {map[string]string{"proc/12/comm": "dhclient\n", "proc/12/cmdline": "dhclient\x00-sf\x00/usr/libexec/nm\x00"}, nil, nil},
		"a client that ifupdown will start": {
			map[string]string{"etc/network/interfaces.d/eth0": "iface eth0 inet dhcp\n"}, map[string]string{"dhcpcd": "", "dhclient": ""}, []string{"client dhclient"},
		},
		"a client that leaves it alone": {map[string]string{"proc/12/comm": "dhcpcd\n", "etc/dhcpcd.conf": "nohook resolv.conf\n"}, nil, nil},
		"hooks":                         {dhclientHooks, nil, []string{"hooks"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			file := root + "/etc/resolv.conf"
			files := map[string]string{"etc/resolv.conf": "nameserver 10.0.0.1\n"}
			for path, text := range c.files {
				files[path] = text
			}
			for path, text := range files {
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // as the machine's is
					t.Fatal(err)
				}
			}
			programs := map[string]string{"systemctl": "exit 3"}
			for program, text := range c.programs {
				programs[program] = text
			}
			text := strings.NewReplacer("/proc/", root+"/proc/", "/etc/", root+"/etc/", " /sbin/", " "+root+"/sbin/", "/usr/sbin/", root+"/usr/sbin/").Replace(lookScript)
			end := hosttest.Script{Text: text, Args: []string{file, root + "/none"}, Programs: programs}.Run(t)
			head, rest, _ := strings.Cut(end.Stdout, "== ")
			lines := strings.Split(strings.ReplaceAll(strings.TrimSpace(head), "global "+root, "global "), "\n")
			if end.Status != 0 || rest != file+"\nnameserver 10.0.0.1\n\n" || lines[0] != "target "+file || !strings.HasPrefix(lines[1], "stat 644 ") || !slices.Equal(lines[2:], c.want) {
				t.Errorf("%+v", end)
			}
		})
	}
}
