package ovn_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// leads says whether a machine's server leads the cluster of the northbound database.
func leads(t *testing.T, machine string) bool {
	t.Helper()
	return strings.Contains(acctest.On(t, machine, "ovn-appctl", "-t", "/run/ovn/ovnnb_db.ctl", "cluster/status", "OVN_Northbound"), "Role: leader")
}

// Where two of three databases are stopped, the leader among them, what is on OVN is neither read nor changed: an error says why, soon, and the state has
// all that it had.
func TestAccOVNMostDatabasesAreStopped(t *testing.T) {
	acctest.InSandbox(t)
	machines := acctest.Hypervisors(t, 3)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(onCentral(chassis("hv-1"), machines...) + leases(600))
	had := s.Run("state", "list")
	if shown := s.Run("state", "show", "virtcluster_ovn.test"); !strings.Contains(shown, `"ssh://root@10.0.100.11/run/ovn/ovnnb_db.sock,ssh://root@10.0.100.12/run/ovn/ovnnb_db.sock,ssh://root@10.0.100.13/run/ovn/ovnnb_db.sock"`) {
		t.Errorf("northbound is not that of all three: %s", shown)
	}
	const units = "ovn-ovsdb-server-nb ovn-ovsdb-server-sb ovn-northd"
	leader := slices.IndexFunc(machines, func(m string) bool { return leads(t, m) })
	if leader < 0 {
		t.Fatal("nobody leads")
	}
	stopped, left := []string{machines[leader], machines[(leader+1)%3]}, machines[(leader+2)%3]
	start := func() {
		for _, m := range stopped {
			_, _ = acctest.Try(context.Background(), m, "systemctl", "start", "ovn-central", "ovn-ovsdb-server-nb", "ovn-ovsdb-server-sb", "ovn-northd")
		}
	}
	t.Cleanup(start)
	for _, m := range stopped {
		acctest.On(t, m, "sh", "-c", "systemctl stop "+units)
	}
	t.Logf("%v are stopped, %s goes on", stopped, left)
	// It follows the leader that it had until its election timer runs out.
	acctest.Eventually(t, left+" has no leader", func() bool {
		out, _ := acctest.Try(context.Background(), left, "sh", "-c", "ovn-appctl -T 5 -t /run/ovn/ovnnb_db.ctl cluster/status OVN_Northbound; ovn-appctl -T 5 -t /run/ovn/ovnsb_db.ctl cluster/status OVN_Southbound")
		return strings.Count(out, "Leader: unknown") == 2
	})

	refused := func(argv ...string) {
		t.Helper()
		began := time.Now()
		out, err := s.Try(argv...)
		took := time.Since(began)
		t.Logf("%s took %s", strings.Join(argv, " "), took)
		if err == nil || !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(out, "│", " ")), " "), "bound has no leader: 1 of its 3 machines answer, and 2 have to") {
			t.Errorf("%s: %v\n%s", strings.Join(argv, " "), err, out)
		}
		if took > time.Minute {
			t.Errorf("%s took %s", strings.Join(argv, " "), took)
		}
		if has := s.Run("state", "list"); has != had {
			t.Errorf("the state has\n%s\nand had\n%s", has, had)
		}
	}
	refused("plan")
	s.Write(onCentral(chassis("hv-1"), machines...) + leases(700))
	refused("apply", "-auto-approve", "-refresh=false")
	start()
	acctest.Eventually(t, "an apply is made again", func() bool { _, err := s.Try("apply", "-auto-approve"); return err == nil })
	settles(t, s)
	if told := acctest.On(t, left, "ovn-nbctl", "--no-leader-only", "--bare", "--columns=options", "list", "DHCP_Options"); !strings.Contains(told, "lease_time=700") {
		t.Errorf("the databases have %s", told)
	}
}
