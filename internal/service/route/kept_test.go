package route

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// TestFileThatKeepsARouteIsFound runs kept.sh on files below a root.
func TestFileThatKeepsARouteIsFound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const text = "# virtcluster owner=me device=eth1 backend=auto\n[Route]\n"
	files := fstest.MapFS{
		"systemd/10-eth1.network.d/virtcluster-route.conf": {Data: []byte(text)},
		"sys/class/net/eth1/ifindex":                       {Data: []byte("7\n")},
		"run/systemd/netif/links/7":                        {Data: []byte("ADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/10-eth1.network\n")},
	}
	if err := os.CopyFS(root, files); err != nil {
		t.Fatal(err)
	}
	script := strings.NewReplacer(`"/sys/`, `"`+root+`/sys/`, `"/run/`, `"`+root+`/run/`).Replace(keptScript)
	end := hosttest.Script{Text: script, Args: []string{root + "/none/*", root + "/systemd/*.d/virtcluster-route.conf"}}.Run(t)
	want := root + "/systemd/10-eth1.network.d/virtcluster-route.conf\n/etc/systemd/network/10-eth1.network\n" + text
	if end.Status != 0 || end.Stdout != want {
		t.Errorf("%+v", end)
	}
	if end := (hosttest.Script{Text: script, Args: []string{root + "/none/*"}}).Run(t); end.Status != 0 || end.Stdout != "" {
		t.Errorf("without a file: %+v", end)
	}
}
