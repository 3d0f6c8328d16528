package provision

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// TestWhatNoResourceReadsIsPrinted runs unmodelled.sh: what only comments is nothing, and neither is an empty directory.
func TestWhatNoResourceReadsIsPrinted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := fstest.MapFS{
		"dhcpd.conf": {Data: []byte("# by hand\n  subnet 10.0.0.0 netmask 255.255.255.0 {}\n")}, "comments.conf": {Data: []byte("# nothing\n\n   # more\n")},
		"dnsmasq.d/a b": {Data: []byte("port=0\n")}, "boot/pxelinux/default": {Data: []byte("menu\n")}, "boot/kernel": {Data: []byte("\n")},
	}
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	const nft = "printf 'table inet virtcluster\\ntable ip filter\\ntable inet virtcluster_ovn\\ntable inet virtclusters\\n'"
	const save = "printf '*nat\\n:POSTROUTING ACCEPT\\n-A POSTROUTING -j MASQUERADE\\n-A POSTROUTING -j ACCEPT\\nCOMMIT\\n*filter\\n:INPUT ACCEPT\\nCOMMIT\\n'"
	for name, c := range map[string]struct {
		programs map[string]string
		rules    []string
	}{
		"no packet filter":  {map[string]string{}, nil},
		"nftables":          {map[string]string{"nft": nft, "iptables-save": save}, []string{"rules nftables ip filter", "rules nftables inet virtclusters"}},
		"beside older ones": {map[string]string{"nft": nft, "iptables-legacy-save": save}, []string{"rules nftables ip filter", "rules nftables inet virtclusters", "rules iptables-legacy nat"}},
		"without nftables":  {map[string]string{"iptables-save": save, "ip6tables-save": "true"}, []string{"rules iptables nat"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			programs := map[string]string{}
			for _, program := range []string{"grep", "find", "head", "wc", "sed", "awk"} {
				programs[program] = "exec /usr/bin/" + program + ` "$@"`
			}
			for program, does := range c.programs {
				programs[program] = does
			}
			end := hosttest.Script{Text: unmodelledScript, Alone: true, Programs: programs, Args: []string{
				dir + "/dhcpd.conf", dir + "/missing.conf", dir + "/comments.conf", dir + "/dnsmasq.d/*", dir + "/boot/", dir + "/empty/", dir + "/absent/",
			}}.Run(t)
			want := append([]string{"file " + dir + "/dhcpd.conf", "file " + dir + "/dnsmasq.d/a b", "files 2 " + dir + "/boot/"}, c.rules...)
			if got := strings.TrimSpace(end.Stdout); got != strings.Join(want, "\n") || end.Status != 0 {
				t.Errorf("it prints\n%s\ninstead of\n%s\n%+v", got, strings.Join(want, "\n"), end)
			}
		})
	}
}

func TestWhatNoResourceReadsIsToldWithWhatIsToBeHad(t *testing.T) {
	t.Parallel()
	all, err := parseUnmodelled("file /etc/dhcp/dhcpd.conf\nfile /etc/dnsmasq.d/lab\nfiles 3 /var/lib/tftpboot/\nfile /etc/apache2/sites-enabled/000-default.conf\nrules nftables ip nat\n")
	if err != nil || len(all) != 5 {
		t.Fatalf("it is told %v, %v", all, err)
	}
	for i, want := range []struct{ place, what string }{
		{"/etc/dhcp/dhcpd.conf", "virtcluster_dhcp_server"}, {"/etc/dnsmasq.d/lab", "virtcluster_dns_zone"}, {"/var/lib/tftpboot/", "(3) are not looked at. What machines boot"},
		{"/etc/apache2/sites-enabled/000-default.conf", "virtcluster_http_content"}, {"table ip nat of nftables", "virtcluster_exposed_service"},
	} {
		t.Run(want.place, func(t *testing.T) {
			if u := all[i]; u.Place != want.place || !strings.Contains(u.What, want.what) || !strings.Contains(u.What, "not looked at") {
				t.Errorf("it says %+v", u)
			}
		})
	}
	if _, err := parseUnmodelled("nonsense\n"); err == nil {
		t.Error("what cannot be understood is taken")
	}
}
