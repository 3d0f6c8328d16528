package ovn_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
)

// onCentral is config with its databases on other machines.
func onCentral(extra string, machines ...string) string {
	var all []string
	for _, m := range machines {
		all = append(all, fmt.Sprintf("%q", acctest.Endpoint(m)))
	}
	return strings.Replace(config(extra), fmt.Sprintf("[%q]", acctest.Endpoint("hv-1")), "["+strings.Join(all, ", ")+"]", 1)
}

// leases is a network whose guests have their addresses for so many seconds, which an apply changes.
func leases(seconds int) string {
	return fmt.Sprintf(`
resource "virtcluster_ovn_network" "nodes" {
  ovn  = virtcluster_ovn.test.id
  name = "nodes"
  cidr = "10.50.0.0/24"
  dhcp = { lease_seconds = %d }
}
`, seconds)
}

// lookAtDatabases prints what a machine has of databases, beside what lookAtMachine does.
const lookAtDatabases = lookAtMachine + `
find /etc/systemd/system -path '*ovn*' -name virtcluster.conf; find /var/lib/virtcluster/ovn -type f 2>/dev/null; nft list tables | grep virtcluster || :`

// servers lists the servers of the cluster of a machine's database, without their ids.
func servers(t *testing.T, machine, database string) string {
	t.Helper()
	short := map[string]string{"OVN_Northbound": "nb", "OVN_Southbound": "sb"}[database]
	return acctest.On(t, machine, "sh", "-c", `ovn-appctl -t /run/ovn/ovn"$1"_db.ctl cluster/status "$2" | sed -n 's/.* at \([a-z]*:[0-9.]*\):.*/\1/p' | sort | tr '\n' ' '`, "sh", short, database)
}

const allServers = "ssl:10.0.100.11 ssl:10.0.100.12 ssl:10.0.100.13"

// connected waits until the chassis of machines are connected to one of the databases.
func connected(t *testing.T, machines ...string) {
	t.Helper()
	for _, m := range machines {
		acctest.Eventually(t, "the chassis of "+m+" is connected", func() bool {
			out, _ := acctest.Try(context.Background(), m, "ovn-appctl", "-T", "5", "-t", "ovn-controller", "connection-status")
			return strings.TrimSpace(out) == "connected"
		})
	}
}

// haveLead has a machine lead the cluster of the northbound database: who leads otherwise is started anew until it does.
func haveLead(t *testing.T, machine string, machines []string) {
	t.Helper()
	acctest.Eventually(t, machine+" leads", func() bool {
		for _, m := range machines {
			out, _ := acctest.Try(context.Background(), m, "ovn-appctl", "-T", "5", "-t", "/run/ovn/ovnnb_db.ctl", "cluster/status", "OVN_Northbound")
			if !strings.Contains(out, "Role: leader") {
				continue
			}
			if m == machine {
				return true
			}
			acctest.On(t, m, "systemctl", "restart", "ovn-ovsdb-server-nb")
		}
		time.Sleep(time.Second)
		return false
	})
}

// logDatabases says of a test that fails what machines' databases said.
func logDatabases(t *testing.T, machines []string) {
	if !t.Failed() {
		return
	}
	for _, m := range machines {
		out, err := acctest.Try(context.Background(), m, "sh", "-c", `systemctl --no-pager --all --plain list-units 'ov*'; journalctl --no-pager --output=short-precise -n 40 -u 'ovn*'; tail -n 15 /var/log/ovn/*.log
for db in OVN_Northbound:nb OVN_Southbound:sb; do ovn-appctl -T 5 -t /run/ovn/ovn${db#*:}_db.ctl cluster/status ${db%:*}; done; ovn-appctl -T 5 -t ovn-controller connection-status`)
		t.Logf("%s: %v: %s", m, err, out)
	}
}

// One database becomes three and one again while guests go on; one of three may be killed, and its machine be cut off.
func TestAccOVNThreeDatabases(t *testing.T) {
	acctest.InSandbox(t)
	machines := acctest.Hypervisors(t, 3)
	before := map[string]string{}
	for _, m := range machines {
		before[m] = acctest.On(t, m, "sh", "-c", lookAtDatabases)
	}
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	both := chassis("hv-1", "hv-2")
	s.Apply(onCentral(both, "hv-1") + leases(600))
	stop := startGuests(t)

	s.Write(onCentral(both, "hv-1", "hv-2") + leases(600))
	s.Refused([]string{"Number of databases", "write one endpoint, or three"}, "plan")

	// Databases of a person, used or a cluster's, are not taken.
	acctest.StartOVNCentral(t, "hv-3")
	acctest.On(t, "hv-3", "ovn-nbctl", "ls-add", "persons")
	s.Write(onCentral(both, "hv-1", "hv-2", "hv-3") + leases(600))
	s.Refused([]string{"Databases of others", "OVN_Northbound with something in it"}, "plan")
	acctest.On(t, "hv-3", "sh", "-ec", `ovn-nbctl ls-del persons; systemctl stop ovn-northd ovn-ovsdb-server-nb
ovsdb-tool create-cluster /var/lib/ovn/c /var/lib/ovn/ovnnb_db.db tcp:127.0.0.1:6643; mv /var/lib/ovn/c /var/lib/ovn/ovnnb_db.db; rm /var/lib/ovn/.c.~lock~; md5sum /var/lib/ovn/ovnnb_db.db >/run/persons`)
	s.Refused([]string{"Databases of others", "OVN_Northbound of another cluster"}, "plan")
	acctest.On(t, "hv-3", "sh", "-ec", "md5sum -c /run/persons; systemctl stop ovn-central ovn-ovsdb-server-sb; rm -f /var/lib/ovn/*.db /var/lib/ovn/.*.~lock~")

	t.Cleanup(func() { logDatabases(t, machines) })
	count := pings(t)
	s.Run("apply", "-auto-approve")
	if err := count(); err != nil {
		t.Errorf("while one became three: %v", err)
	}
	s.Settled()
	for _, m := range machines {
		for _, database := range []string{"OVN_Northbound", "OVN_Southbound"} {
			if got := servers(t, m, database); got != allServers {
				t.Errorf("%s of %s has the servers %s", database, m, got)
			}
		}
	}
	connected(t, "hv-1", "hv-2")
	if shown := s.Run("state", "show", "virtcluster_ovn.test"); !strings.Contains(shown, `"ssl:10.0.100.11:6642,ssl:10.0.100.12:6642,ssl:10.0.100.13:6642"`) {
		t.Errorf("southbound is not that of all three: %s", shown)
	}
	s.Write(onCentral(both, "hv-3", "hv-1", "hv-2") + leases(600))
	s.Settled()

	if rules := acctest.On(t, "hv-1", "nft", "list", "table", "inet", "virtcluster_ovn"); !strings.Contains(rules, "10.0.100.11, 10.0.100.12, 10.0.100.13") {
		t.Errorf("the table has %s", rules)
	}

	// The databases of the machine that OVN is known by die and stay dead.
	const kill = `systemctl mask --runtime --quiet ovn-ovsdb-server-nb ovn-ovsdb-server-sb ovn-northd; systemctl kill --signal=KILL ovn-ovsdb-server-nb ovn-ovsdb-server-sb ovn-northd`
	const revive = "systemctl unmask --runtime --quiet ovn-ovsdb-server-nb ovn-ovsdb-server-sb ovn-northd"
	acctest.On(t, "hv-1", "sh", "-c", kill)
	s.Write(onCentral(both, "hv-1", "hv-2", "hv-3") + leases(700))
	began := time.Now()
	s.Run("apply", "-auto-approve", "-refresh=false") // which would see that the databases of one are to be started
	t.Logf("an apply after the databases of one machine died took %s", time.Since(began))
	if plan, _ := s.Try("plan", "-detailed-exitcode"); !strings.Contains(plan, "serving") || strings.Contains(plan, "lease_seconds") {
		t.Errorf("dead databases do not show, or something else does:\n%s", plan)
	}
	acctest.On(t, "hv-1", "sh", "-c", revive)
	s.Run("apply", "-auto-approve")
	s.Settled()
	if got := servers(t, "hv-1", "OVN_Northbound"); got != allServers {
		t.Errorf("hv-1 has the servers %s after its databases came back", got)
	}

	// Its machine is cut off: what is on OVN is read and changed all the same.
	acctest.On(t, "hv-1", "ip", "link", "set", "eth0", "down")
	up := func() { _, _ = acctest.Try(context.Background(), "hv-1", "ip", "link", "set", "eth0", "up") }
	t.Cleanup(up)
	s.Write(onCentral(both, "hv-1", "hv-2", "hv-3") + leases(800))
	began = time.Now()
	s.Run("apply", "-auto-approve")
	t.Logf("an apply with one machine cut off took %s", time.Since(began))
	if out := acctest.On(t, "hv-2", "ovn-nbctl", "--no-leader-only", "--bare", "--columns=options", "list", "DHCP_Options"); !strings.Contains(out, "lease_time=800") {
		t.Errorf("the databases have %s", out)
	}
	up()
	acctest.Eventually(t, "hv-1 answers", func() bool {
		_, err := acctest.Try(context.Background(), "hypervisor", "ping", "-c1", "-W1", "10.0.100.11")
		return err == nil
	})
	settles(t, s) // hv-1 is a member again
	acctest.Reboot(t, "hv-3")
	settles(t, s)
	if got := servers(t, "hv-3", "OVN_Southbound"); got != allServers {
		t.Errorf("hv-3 has the servers %s after a reboot", got)
	}

	haveLead(t, "hv-3", machines)
	count = pings(t)
	s.Apply(onCentral(both, "hv-1") + leases(800))
	if err := count(); err != nil {
		t.Errorf("while three became one: %v", err)
	}
	s.Settled()
	becomesAgain(t, "hv-3", before["hv-3"], lookAtDatabases)

	// Chassis knew another cluster, which had come further than the new one.
	count = pings(t)
	s.Apply(onCentral(both, "hv-3", "hv-2", "hv-1") + leases(800))
	connected(t, "hv-1", "hv-2")
	if err := count(); err != nil {
		t.Errorf("while one became three again: %v", err)
	}
	s.Settled()
	stop()
	s.Run("destroy", "-auto-approve")
	for _, m := range machines {
		becomesAgain(t, m, before[m], lookAtDatabases)
	}
}

// One apply makes one database three, and another one takes three down to one, that a provider was killed in the middle of, at ACC_OVN_MOMENTS
// moments of each, 4 by default. Or it goes back from there.
func TestAccOVNProviderIsKilledAsDatabasesBecomeThree(t *testing.T) {
	acctest.InSandbox(t)
	machines := acctest.Hypervisors(t, 3)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	before := map[string]string{}
	for _, m := range machines {
		before[m] = acctest.On(t, m, "sh", "-c", lookAtDatabases)
	}
	one, three := onCentral(chassis("hv-1"), "hv-1")+leases(600), onCentral(chassis("hv-1"), machines...)+leases(600)
	s.Apply(one)
	// A run that ended between its notes and the first thing that it did on a machine.
	acctest.On(t, "hv-1", "ovn-nbctl", "set", "NB_Global", ".", fmt.Sprintf("external_ids:%s%q", ovn.MemberKey+"10.0.100.12=", acctest.Endpoint("hv-2")))
	mark := strings.TrimSpace(acctest.On(t, "hv-1", "ovn-nbctl", "get", "NB_Global", ".", "external_ids:"+ovn.MarkKey))
	acctest.On(t, "hv-2", "sh", "-ec", `mkdir -p /var/lib/virtcluster/ovn; echo "$1" >/var/lib/virtcluster/ovn/made`, "sh", strings.Trim(mark, `"`))
	s.Run("apply", "-auto-approve")
	s.Settled()
	becomesAgain(t, "hv-2", before["hv-2"], lookAtDatabases)

	many := countMoments(4)
	for moment := range many {
		after := 1500*time.Millisecond + 4500*time.Millisecond*time.Duration(moment)/time.Duration(many)
		for _, want := range []string{three, one} {
			s.Write(want)
			killProvider(t, s.Start("apply", "-auto-approve"), after)
			s.Run("apply", "-auto-approve")
			s.Settled()
			if got := servers(t, "hv-1", "OVN_Northbound"); want == three && got != allServers {
				t.Fatalf("hv-1 has the servers %s", got)
			}
		}
	}

	// Who goes back instead leaves nothing on the others.
	s.Write(three)
	killProvider(t, s.Start("apply", "-auto-approve"), 2*time.Second)
	s.Apply(one)
	s.Settled()
	for _, m := range machines[1:] {
		becomesAgain(t, m, before[m], lookAtDatabases)
	}
}
