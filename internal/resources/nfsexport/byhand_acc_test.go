package nfsexport_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// The sandbox's kernel serves no NFS: what is real here are the files, and the table that exportfs keeps of them.
func TestAccWhatAPersonExportsByHandStays(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	const unit = "nfs-server.service"
	acctest.On(t, "svc-1", "sh", "-ec", `
printf '[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n' >/etc/systemd/system/`+unit+`
systemctl daemon-reload
systemctl start `+unit+`
mkdir -p /srv/a /srv/ab "/srv/a b" /srv/by-hand
exportfs -i -o rw,no_subtree_check,sec=sys 10.0.100.9:/srv/ab
exportfs -i -o ro,no_subtree_check "10.0.100.9:/srv/a b"
exportfs -i -o ro,no_subtree_check 10.0.100.9:/srv/by-hand`)
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "svc-1", "sh", "-c", "exportfs -ua; systemctl stop "+unit+"; rm -f /etc/systemd/system/"+unit+"; systemctl daemon-reload; rmdir /srv/a /srv/ab '/srv/a b' /srv/by-hand")
	})
	table := func() string {
		t.Helper()
		return acctest.On(t, "svc-1", "exportfs", "-s")
	}
	before := table()
	for _, by := range []string{"/srv/ab", `/srv/a\040b`, "/srv/by-hand"} {
		if !strings.Contains(before, by+"  10.0.100.9(") {
			t.Fatalf("%s is not exported by hand: %s", by, before)
		}
	}

	export := func(path string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_nfs_export" "it" {
  service_node = "ssh://root@%s"
  path         = %q
  owner        = "daemon"
  group        = "5"
  permissions  = "0711"
  clients      = [{ match = "10.0.100.9", options = ["rw"] }, { match = "fd00:100::/64" }, { match = "fd00:101::9", options = ["ro"] }]
}
`, node, path)
	}
	state := acctest.NewState(t)
	state.DestroyAtEnd()
	state.Write(export("/srv/by-hand"))
	state.Refused([]string{"/srv/by-hand is exported by hand already"}, "apply", "-auto-approve")
	if after := table(); after != before {
		t.Errorf("what was refused left\n%s\ninstead of\n%s", after, before)
	}
	look := func(path string) string {
		t.Helper()
		return strings.TrimSpace(acctest.On(t, "svc-1", "stat", "-c", "%U %g %a", path))
	}
	if is := look("/srv/by-hand"); is != "root 0 755" {
		t.Errorf("what was refused has its directory changed: %s", is)
	}
	if is := look("/srv/a"); is != "root 0 755" {
		t.Fatalf("/srv/a is %s", is)
	}

	state.Apply(export("/srv/a"))
	state.Settled()
	if is := look("/srv/a"); is != "daemon 5 711" {
		t.Errorf("/srv/a is %s", is)
	}
	for _, client := range []string{"10.0.100.9", "fd00:100::/64", "fd00:101::9"} {
		if after := table(); !strings.Contains(after, "/srv/a  "+client+"(") {
			t.Errorf("/srv/a is not exported to %s: %s", client, after)
		}
	}
	for what, script := range map[string]string{
		"a client":      "exportfs -u [fd00:100::]/64:/srv/a",
		"the directory": "rmdir /srv/a",
	} {
		t.Run(what, func(t *testing.T) {
			state := state.For(t)
			acctest.On(t, "svc-1", "sh", "-ec", script)
			if plan := state.Run("plan"); !strings.Contains(plan, "1 to change") {
				t.Errorf("that it is gone is not seen: %s", plan)
			}
			state.Apply(export("/srv/a"))
			state.Settled()
			if after := table(); !strings.Contains(after, "/srv/a  fd00:100::/64(") || look("/srv/a") != "daemon 5 711" {
				t.Errorf("it was not put back: %s", after)
			}
		})
	}
	state.Run("destroy", "-auto-approve")
	if after := table(); after != before {
		t.Errorf("the end of /srv/a left\n%s\ninstead of\n%s", after, before)
	}
}
