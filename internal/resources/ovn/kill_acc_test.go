package ovn_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// behind is a router between networks with a load balancer, on OVN; lease is told to guests.
func behind(engine, lease string) string {
	return config(engine) + `
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
	s.Write(behind(chassis("hv-1", "hv-2"), "600"))
	s.Run("apply", "-auto-approve")
	s.Settled()
	s.Run("destroy", "-auto-approve")
}

// One apply makes everything that another one did not, which died with its provider in a create or an update, and one destroy ends another one, which leaves
// nothing.
func TestAccOVNProviderIsKilled(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	removeDeadSwitch(t, "hv-1", "hv-2")
	before := look(t, "hv-1") + look(t, "hv-2")
	made := behind(chassis("hv-1"), "600")
	changed := behind(chassis("hv-1", "hv-2")+"\n  certificates = { valid_for = \"48h\", renew_before = \"12h\" }", "700")
	for name, after := range map[string]struct{ create, update, destroy time.Duration }{
		"early": {500, 900, 700}, "in between": {1400, 1600, 1300}, "late": {2600, 2500, 2000},
	} {
		t.Run(name, func(t *testing.T) {
			s := acctest.NewState(t)
			s.DestroyAtEnd()
			for _, step := range []struct {
				verb, config string
				after        time.Duration
			}{{"apply", made, after.create}, {"apply", changed, after.update}, {"destroy", changed, after.destroy}} {
				s.Write(step.config)
				killProvider(t, s.Start(step.verb, "-auto-approve"), step.after*time.Millisecond)
				s.Run(step.verb, "-auto-approve")
				if step.verb == "apply" {
					s.Settled()
				}
			}
			acctest.Eventually(t, "both machines are as before", func() bool { return look(t, "hv-1")+look(t, "hv-2") == before })
		})
	}
}

// An update whose provider was killed leaves a state that keeps no claim, and may leave databases that stand still and cannot say whose they are; an import
// has a claim of its own. Either way the next update knows the chassis that are its own.
func TestAccOVNUpdateFindsItsChassisAgain(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	both := chassis("hv-1", "hv-2")
	s.Apply(behind(both, "600"))

	s.Write(behind(both+"\n  certificates = { valid_for = \"48h\", renew_before = \"12h\" }", "600"))
	c := s.Start("apply", "-auto-approve")
	acctest.On(t, "hv-1", "timeout", "60", "sh", "-c", "until ovn-nbctl get NB_Global . external_ids | grep -q 48h; do :; done")
	killProvider(t, c, 0)
	acctest.On(t, "hv-1", "systemctl", "stop", "ovn-northd", "ovn-ovsdb-server-nb", "ovn-ovsdb-server-sb")
	s.Run("apply", "-auto-approve")
	s.Settled()

	s.Run("state", "rm", "virtcluster_ovn.test")
	s.Run("import", "virtcluster_ovn.test", acctest.Endpoint("hv-1"))
	s.Write(behind(both+"\n  certificates = { valid_for = \"96h\", renew_before = \"12h\" }", "600"))
	s.Run("apply", "-auto-approve")
	s.Settled()
	s.Run("destroy", "-auto-approve")
}

// killProvider kills the provider of a run some time after its begin, or as it comes up where that is later, and waits for the end.
func killProvider(t *testing.T, c *acctest.Command, after time.Duration) {
	t.Helper()
	time.Sleep(after)
	pid := 0
	for end := time.Now().Add(time.Second); pid == 0 && time.Now().Before(end); pid = acctest.FindProvider(c.Process.Pid) {
		time.Sleep(time.Millisecond)
	}
	if pid != 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	err := c.Wait()
	t.Logf("killed after %s: %v, %d resources complete", after, err, strings.Count(c.Out.String(), " complete after "))
}

// One apply makes what another one did not, under which a daemon died, starts that daemon, and leaves alone what a person has. Each dies at
// ACC_OVN_MOMENTS moments of an apply, 3 by default.
func TestAccOVNDaemonsAreKilled(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	both := chassis("hv-1", "hv-2")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(behind(both, "600"))
	acctest.On(t, "hv-1", "ovn-nbctl", "ls-add", "persons")
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "hv-1", "ovn-nbctl", "--timeout=10", "ls-del", "persons")
	})
	daemons := [][2]string{
		{"hv-1", "ovn-ovsdb-server-nb"}, {"hv-1", "ovn-ovsdb-server-sb"}, {"hv-1", "ovn-northd"}, {"hv-1", "ovn-controller"}, {"hv-2", "ovn-controller"},
		{"hv-2", "ovs-vswitchd"}, {"hv-2", "ovsdb-server"},
	}
	many := countMoments(3)
	moments := many * len(daemons)
	refused := 0
	for moment := range moments {
		d := daemons[moment%len(daemons)]
		s.Write(behind(both, []string{"700", "800"}[moment%2]))
		c := s.Start("apply", "-auto-approve")
		// An apply takes two to three seconds: the moments of each daemon are spread over these, and those of one differ from another's.
		time.Sleep(100*time.Millisecond + 2400*time.Millisecond*time.Duration(moment)/time.Duration(moments))
		acctest.On(t, d[0], "sh", "-c", `kill -KILL "$(systemctl show --property=MainPID --value "$1")"`, "sh", d[1])
		if err := c.Wait(); err != nil {
			refused++
		}
		s.Run("apply", "-auto-approve")
		s.Settled()
		if state, _ := acctest.Try(context.Background(), d[0], "systemctl", "is-active", d[1]); strings.TrimSpace(state) != "active" {
			t.Fatalf("%s on %s is %s", d[1], d[0], state)
		}
	}
	t.Logf("%d of %d applies did not get through", refused, moments)
	if shown := acctest.On(t, "hv-1", "ovn-nbctl", "ls-list"); !strings.Contains(shown, "(persons)") {
		t.Errorf("a person's network is gone: %s", shown)
	}
}

// countMoments returns at how many moments of an apply something ends in its middle: as many as ACC_OVN_MOMENTS says, or as usual.
func countMoments(usual int) int {
	if many, err := strconv.Atoi(os.Getenv("ACC_OVN_MOMENTS")); err == nil {
		return many
	}
	return usual
}
