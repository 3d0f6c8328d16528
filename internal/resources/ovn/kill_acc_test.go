package ovn_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// behind is a router between networks with a load balancer, on OVN of config; lease is told to guests.
func behind(lease string) string {
	return config(chassis("hv-1", "hv-2")) + `
resource "virtcluster_ovn_network" "nodes" {
  ovn     = virtcluster_ovn.test.id
  name    = "nodes"
  cidr    = "10.50.0.0/24"
  gateway = "10.50.0.1"
  dhcp    = { lease_seconds = ` + lease + ` }
}
resource "virtcluster_ovn_router" "lab" {
  ovn      = virtcluster_ovn.test.id
  name     = "lab"
  networks = [virtcluster_ovn_network.nodes.name]
  routes   = [{ cidr = "10.128.0.0/14", via = "10.50.0.1` + lease[:1] + `" }]
}
resource "virtcluster_ovn_load_balancer" "web" {
  ovn    = virtcluster_ovn.test.id
  name   = "web"
  router = virtcluster_ovn_router.lab.name
  vips   = { "10.50.0.100:80" = ["10.50.0.1` + lease[:1] + `:8080"] }
}
`
}

// A provider that was killed after it had started the databases, and before it made them ready, left a database without a row: the next apply
// takes that for nobody's, and goes on.
func TestAccOVNBegunAndNotMadeReady(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	t.Cleanup(func() {
		if out, err := acctest.Try(context.Background(), "hv-1", "sh", "-c", "systemctl stop ovn-ovsdb-server-nb ovn-ovsdb-server-sb; rm -f /var/lib/ovn/*.db /var/lib/ovn/.*.~lock~"); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	acctest.On(t, "hv-1", "sh", "-ec", "systemctl start ovn-ovsdb-server-nb ovn-ovsdb-server-sb; until [ -S /run/ovn/ovnnb_db.sock ] && [ -S /run/ovn/ovnsb_db.sock ]; do sleep 0.1; done")
	if rows := acctest.On(t, "hv-1", "sh", "-c", "ovsdb-client transact unix:/run/ovn/ovnnb_db.sock '[\"OVN_Northbound\",{\"op\":\"select\",\"table\":\"NB_Global\",\"where\":[]}]'"); !strings.Contains(rows, `"rows":[]`) {
		t.Fatalf("the database that nobody made ready has %s", rows)
	}
	s := acctest.NewState(t)
	s.Write(behind("600"))
	s.Run("apply", "-auto-approve")
	s.Settled()
	s.Run("destroy", "-auto-approve")
}

// One apply makes everything that another one did not, which died with its provider, and a destroy leaves nothing.
func TestAccOVNProviderIsKilled(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	before := look(t, "hv-2")
	for _, after := range []time.Duration{300, 700, 1200, 1800, 2600, 3500} {
		t.Run((after * time.Millisecond).String(), func(t *testing.T) {
			s := acctest.NewState(t)
			s.Write(behind("600"))
			c := s.Start("apply", "-auto-approve")
			time.Sleep(after * time.Millisecond)
			pid := 0
			for end := time.Now().Add(time.Second); pid == 0 && time.Now().Before(end); pid = acctest.FindProvider(c.Process.Pid) {
				time.Sleep(time.Millisecond)
			}
			if pid != 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			err := c.Wait()
			t.Logf("after %d ms: %v, %d resources made", after, err, strings.Count(c.Out.String(), "Creation complete"))
			s.Run("apply", "-auto-approve")
			s.Settled()
			s.Run("destroy", "-auto-approve")
			acctest.Eventually(t, "hv-2 is as before", func() bool { return look(t, "hv-2") == before })
		})
	}
}

// One apply makes what another one did not, under which a daemon died, starts that daemon, and leaves alone what a person has.
func TestAccOVNDaemonsAreKilled(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(behind("600"))
	acctest.On(t, "hv-1", "ovn-nbctl", "ls-add", "persons")
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "hv-1", "ovn-nbctl", "--timeout=10", "ls-del", "persons")
	})
	daemons := [][2]string{{"hv-1", "ovn-ovsdb-server-nb"}, {"hv-1", "ovn-ovsdb-server-sb"}, {"hv-1", "ovn-northd"}, {"hv-1", "ovn-controller"}, {"hv-2", "ovn-controller"}}
	refused := 0
	for moment := range 20 {
		d := daemons[moment%len(daemons)]
		s.Write(behind([]string{"700", "800"}[moment%2]))
		c := s.Start("apply", "-auto-approve")
		time.Sleep(time.Duration(100+130*(moment/len(daemons)*3+moment%len(daemons))) * time.Millisecond)
		acctest.On(t, d[0], "sh", "-c", `kill -KILL "$(systemctl show --property=MainPID --value "$1")"`, "sh", d[1])
		if err := c.Wait(); err != nil {
			refused++
		}
		s.Run("apply", "-auto-approve")
		s.Settled()
		if state := acctest.On(t, d[0], "systemctl", "is-active", d[1]); strings.TrimSpace(state) != "active" {
			t.Fatalf("%s on %s is %s", d[1], d[0], state)
		}
	}
	t.Logf("%d of 20 applies did not get through", refused)
	if shown := acctest.On(t, "hv-1", "ovn-nbctl", "ls-list"); !strings.Contains(shown, "(persons)") {
		t.Errorf("a person's network is gone: %s", shown)
	}
}
