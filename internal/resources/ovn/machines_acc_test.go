package ovn_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// namedChassis are machines as chassis, by the names of these.
func namedChassis(machines map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		m := machines[name]
		all = append(all, fmt.Sprintf("%s = { endpoint = %q, tunnel_ip = \"172.16.0.1%s\" }", name, acctest.Endpoint(m), strings.TrimPrefix(m, "hv-")))
	}
	return "chassis = { " + strings.Join(all, ", ") + " }"
}

// findPIDs returns the processes of units of a machine, which are others once a unit was started anew.
func findPIDs(t *testing.T, machine string, units ...string) string {
	t.Helper()
	return acctest.On(t, machine, append([]string{"systemctl", "show", "--property=MainPID", "--value"}, units...)...)
}

// notesOf are the notes in the databases that begin with a word behind the mark, as they are printed.
func notesOf(t *testing.T, word string) (notes []string) {
	t.Helper()
	out := acctest.On(t, "hv-1", "ovn-nbctl", "--no-leader-only", "--timeout=20", "get", "NB_Global", ".", "external_ids")
	for note := range strings.SplitSeq(strings.Trim(out, "{}"), ", ") {
		if strings.HasPrefix(strings.Trim(note, `"`), "virtcluster-"+word+"-") {
			notes = append(notes, note)
		}
	}
	return notes
}

// A chassis is its machine, whatever it is called: another name leaves its daemons and guests alone, and a name that another machine gets has the one before
// go as any other one does.
func TestAccOVNChassisIsItsMachine(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 3)
	const units = "ovn-controller ovs-vswitchd"
	removeDeadSwitch(t, "hv-2")
	before := look(t, "hv-2")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(config(namedChassis(map[string]string{"one": "hv-1", "two": "hv-2"})) + leases(600))
	stop := startGuests(t)
	pids := func() string {
		return findPIDs(t, "hv-1", strings.Fields(units)...) + "\n" + findPIDs(t, "hv-2", strings.Fields(units)...)
	}
	was := pids()
	for name, machines := range map[string]map[string]string{
		"another name":           {"one": "hv-1", "other": "hv-2"},
		"two change their names": {"one": "hv-2", "other": "hv-1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.For(t)
			count := pings(t)
			s.Apply(config(namedChassis(machines)) + leases(600))
			if err := count(); err != nil {
				t.Error(err)
			}
			s.Settled()
			if now := pids(); now != was {
				t.Errorf("the daemons were\n%s\nand are\n%s", was, now)
			}
			if notes := notesOf(t, "chassis"); len(notes) != 2 {
				t.Errorf("noted are %q", notes)
			}
		})
	}

	moved := config(namedChassis(map[string]string{"one": "hv-1", "other": "hv-3"})) + leases(600)
	s.Apply(config(namedChassis(map[string]string{"one": "hv-1", "other": "hv-2"})) + leases(600))
	s.Write(moved)
	s.Refused([]string{`take chassis "other" away`, "has guests on these ports: g2"}, "apply", "-auto-approve")
	if now := pids(); now != was {
		t.Errorf("after a refusal the daemons were\n%s\nand are\n%s", was, now)
	}
	stop()
	s.Run("apply", "-auto-approve")
	s.Settled()
	becomesAgain(t, "hv-2", before, lookAtMachine)
	if ips := acctest.On(t, "hv-1", "ovn-sbctl", "--timeout=10", "--bare", "--columns=ip", "list", "Encap"); len(strings.Fields(ips)) != 2 || !strings.Contains(ips, "172.16.0.13") {
		t.Errorf("chassis are at %q", ips)
	}
	if notes := notesOf(t, "chassis"); len(notes) != 2 {
		t.Errorf("noted are %q", notes)
	}
}

// A member of three databases is its machine, however its endpoint is written, and at the address at which the cluster has it.
func TestAccOVNDatabaseIsItsMachine(t *testing.T) {
	acctest.InSandbox(t)
	machines := acctest.Hypervisors(t, 3)
	before := map[string]string{}
	for _, m := range machines {
		before[m] = acctest.On(t, m, "sh", "-c", lookAtDatabases)
	}
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	t.Cleanup(func() { logDatabases(t, machines) })
	both := chassis("hv-1", "hv-2")
	s.Apply(onCentral(both, machines...) + leases(600))
	stop := startGuests(t)
	pids := func() string { // ovn-northd is started anew by each change of a cluster
		return findPIDs(t, "hv-2", "ovn-ovsdb-server-nb", "ovn-ovsdb-server-sb", "ovn-controller", "ovs-vswitchd")
	}
	was := pids()

	// hv-2 is a chassis too, by the endpoint that it has had.
	const jump = "ssh://root@10.0.100.12?proxy_jump=root@10.0.100.11"
	respell := func(config string) string {
		return strings.Replace(config, fmt.Sprintf("%q, ", acctest.Endpoint("hv-2")), fmt.Sprintf("%q, ", jump), 1)
	}
	count := pings(t)
	s.Apply(respell(onCentral(both, machines...)) + leases(600))
	if err := count(); err != nil {
		t.Errorf("while another way to it was written: %v", err)
	}
	s.Settled()
	if now := pids(); now != was {
		t.Errorf("the daemons were\n%s\nand are\n%s", was, now)
	}
	if got := servers(t, "hv-2", "OVN_Southbound"); got != allServers {
		t.Errorf("the cluster has the servers %s", got)
	}
	if notes := strings.Join(notesOf(t, "central"), " "); strings.Count(notes, "ssh:") != 3 || !strings.Contains(notes, jump) {
		t.Errorf("noted are %s", notes)
	}

	s.Write(respell(onCentral(both+"\n  address = \"172.16.0.11\"", machines...)) + leases(600))
	s.Refused([]string{"Address of a cluster", "that of the first one is 10.0.100.11", "write three again"}, "plan")

	// A change of the address that was not refused, and did not end.
	acctest.On(t, "hv-1", "ovn-nbctl", "--no-leader-only", "--timeout=20", "set", "NB_Global", ".", `external_ids:virtcluster-central-172.16.0.11="ssh://root@10.0.100.11"`, `external_ids:virtcluster-address="172.16.0.11"`)
	for _, m := range machines {
		acctest.On(t, m, "sh", "-ec", `sed -i 's/10\.0\.100\.11\b/172.16.0.11/g' /var/lib/virtcluster/ovn/peers.nft /etc/systemd/system/ovn-*.service.d/virtcluster.conf
systemctl daemon-reload; systemctl restart ovn-ovsdb-server-nb ovn-ovsdb-server-sb ovn-northd`)
	}
	s.Write(respell(onCentral(both, machines...)) + leases(600))
	if plan, _ := s.Try("plan", "-detailed-exitcode"); !strings.Contains(plan, "serving") || strings.Contains(plan, "172.16.0.11\" ->") {
		t.Errorf("what is left does not show, or as another address:\n%s", plan)
	}
	s.Run("apply", "-auto-approve")
	s.Settled()
	connected(t, "hv-1", "hv-2")
	if notes := notesOf(t, "central"); len(notes) != 3 {
		t.Errorf("noted are %q", notes)
	}
	if got := acctest.On(t, "hv-3", "sh", "-c", "grep -l 172.16.0.11 /var/lib/virtcluster/ovn/peers.nft /etc/systemd/system/ovn-*.service.d/virtcluster.conf || :"); got != "" {
		t.Errorf("hv-3 has the other address in %s", got)
	}

	controller := findPIDs(t, "hv-2", "ovn-controller")
	count = pings(t)
	s.Apply(onCentral(both, "hv-1") + leases(600))
	if err := count(); err != nil {
		t.Errorf("while three became one: %v", err)
	}
	s.Settled()
	if now := findPIDs(t, "hv-2", "ovn-controller"); now != controller {
		t.Errorf("ovn-controller was %s and is %s", controller, now)
	}
	if out, _ := acctest.Try(context.Background(), "hv-2", "systemctl", "is-active", "ovn-ovsdb-server-nb"); strings.TrimSpace(out) == "active" {
		t.Error("hv-2 still has a database")
	}
	stop()
	s.Run("destroy", "-auto-approve")
	for _, m := range machines {
		becomesAgain(t, m, before[m], lookAtDatabases)
	}
}
