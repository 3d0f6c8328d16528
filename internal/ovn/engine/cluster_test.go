package engine

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

func three() Engine {
	e := lab()
	e.Central, e.TLS = append(e.Central, "ssh://root@10.0.0.12", "ssh://root@10.0.0.13"), true
	return e
}

func TestThreeDatabasesListenAndAreReached(t *testing.T) {
	t.Parallel()
	e := three()
	if e.Remote() != "ssl:10.0.0.11:6642,ssl:10.0.0.12:6642,ssl:10.0.0.13:6642" || e.newListener() != (ovn.Listener{Target: "pssl:6642:0.0.0.0", Role: "ovn-controller"}) {
		t.Errorf("reached at %s, listening at %v", e.Remote(), e.newListener())
	}
	e.Address = netip.MustParseAddr("fd00::11")
	if got := e.newListener().Target; got != "pssl:6642:[::]" {
		t.Errorf("by IPv6: %s", got)
	}
}

func TestUnitsOfACluster(t *testing.T) {
	t.Parallel()
	first, second := three().renderUnits(0), three().renderUnits(1)
	const nb = `# Written by virtcluster_ovn: the databases are on several machines.
[Service]
ExecStartPre=/usr/sbin/nft -f /var/lib/virtcluster/ovn/peers.nft
ExecStart=
ExecStart=/usr/share/ovn/scripts/ovn-ctl run_nb_ovsdb --db-nb-cluster-local-proto=ssl --db-nb-cluster-local-addr=10.0.0.11 --ovn-nb-db-ssl-key=/var/lib/virtcluster/ovn/central-key.pem --ovn-nb-db-ssl-cert=/var/lib/virtcluster/ovn/central.pem --ovn-nb-db-ssl-ca-cert=/var/lib/virtcluster/ovn/central-authority.pem $OVN_CTL_OPTS -- --remote=pssl:6641:10.0.0.11
`
	if got := string(first[1].Content); got != nb || first[1].Path != "/etc/systemd/system/ovn-ovsdb-server-nb.service.d/virtcluster.conf" {
		t.Errorf("%s:\n%s", first[1].Path, got)
	}
	if got := string(second[2].Content); !strings.Contains(got, "--db-sb-cluster-local-addr=10.0.0.12 --db-sb-cluster-remote-proto=ssl --db-sb-cluster-remote-addr=10.0.0.11") || !strings.Contains(got, "--remote=pssl:16642:10.0.0.12") {
		t.Errorf("the southbound one of the second machine:\n%s", got)
	}
	if got := string(first[3].Content); !strings.Contains(got, "--ovn-northd-nb-db=ssl:10.0.0.11:6641,ssl:10.0.0.12:6641,ssl:10.0.0.13:6641 --ovn-northd-sb-db=ssl:10.0.0.11:16642,") || !strings.Contains(got, "ExecStop=\nExecStop=/usr/share/ovn/scripts/ovn-ctl stop_northd --ovn-manage-ovsdb=no") {
		t.Errorf("ovn-northd:\n%s", got)
	}
	if got := first[4]; got.Path != ovn.MembersFile || string(got.Content) != "ssh://root@10.0.0.11\nssh://root@10.0.0.12\nssh://root@10.0.0.13\n" {
		t.Errorf("%s:\n%s", got.Path, got.Content)
	}
	plain := three()
	plain.TLS = false
	if got := string(plain.renderUnits(1)[1].Content); strings.Contains(got, "ssl") || !strings.Contains(got, "--db-nb-cluster-remote-proto=tcp") || !strings.Contains(got, "--remote=ptcp:6641:10.0.0.12") {
		t.Errorf("without TLS:\n%s", got)
	}
}

func TestGuardOfACluster(t *testing.T) {
	t.Parallel()
	got := renderGuard(three().listPlaces())
	for _, want := range []string{"ip saddr != { 10.0.0.11, 10.0.0.12, 10.0.0.13 } tcp dport { 6641, 6643, 6644, 16642 } drop", "meta nfproto ipv6 tcp dport { 6641, 6643, 6644, 16642 } drop"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestMachinesThatCannotHaveTheDatabases(t *testing.T) {
	t.Parallel()
	if p := three().Validate(); len(p) > 0 {
		t.Fatalf("three good ones: %v", p)
	}
	for name, test := range map[string]struct {
		want    string
		central []string
	}{
		"two":               {"Number of databases", []string{"ssh://root@10.0.0.11", "ssh://root@10.0.0.12"}},
		"a name":            {"No address of the databases", []string{"ssh://root@10.0.0.11", "ssh://root@kvm2", "ssh://root@10.0.0.13"}},
		"one endpoint":      {"One machine twice", []string{"ssh://root@10.0.0.11", "ssh://root@10.0.0.12", "ssh://root@10.0.0.12:22"}},
		"two ways to it":    {"One machine twice", []string{"ssh://root@10.0.0.11", "ssh://root@10.0.0.12", "ssh://root@10.0.0.12?proxy_jump=bastion"}},
		"two ways to first": {"One machine twice", []string{"ssh://root@10.0.0.11", "ssh://root@10.0.0.12", "ssh://admin@10.0.0.11"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := three()
			e.Central = test.central
			if p := e.Validate(); len(p) != 1 || p[0].Summary != test.want {
				t.Errorf("want %q, got %v", test.want, p)
			}
		})
	}
}

func TestWhatIsSaidOfStoredDatabases(t *testing.T) {
	t.Parallel()
	got, err := parseDatabases("OVN_Northbound clustered 1234\nOVN_Northbound peer ssl:10.0.0.11\nOVN_Northbound peer ssl:10.0.0.12\nOVN_Northbound leads\nOVN_Southbound standalone used\n")
	if nb, sb := got["OVN_Northbound"], got["OVN_Southbound"]; err != nil || !nb.IsMember || !nb.Leads || sb.Leads || nb.Cluster != "1234" || len(nb.Peers) != 2 || sb.IsMember || !sb.IsUsed {
		t.Errorf("%+v, %v", got, err)
	}
	for word, want := range map[string]storedDatabase{"joining": {IsMember: true, IsJoining: true}, "-": {IsMember: true}} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			if got, err := parseDatabases("OVN_Northbound clustered " + word + "\n"); err != nil || got["OVN_Northbound"].Cluster != "" || got["OVN_Northbound"].IsJoining != want.IsJoining {
				t.Errorf("it is %+v, %v", got, err)
			}
		})
	}
	for _, text := range []string{"OVN_Northbound\n", "OVN_Northbound lost 5\n"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if _, err := parseDatabases(text); err == nil {
				t.Error("it is understood")
			}
		})
	}
}

// membersOf are machines whose both databases are this.
func membersOf(all ...storedDatabase) (c central) {
	for i, d := range all {
		c.members = append(c.members, member{Place: three().listPlaces()[i], host: hosttest.New(), databases: map[string]storedDatabase{ovn.NorthDB.Name: d, ovn.SouthDB.Name: d}})
	}
	return c
}

func TestWhoMayJoinACluster(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		joins storedDatabase
		may   bool
	}{
		"none":                        {storedDatabase{}, true},
		"one that holds something":    {storedDatabase{IsUsed: true}, false},
		"a member of this cluster":    {storedDatabase{IsMember: true, Cluster: "ours"}, true},
		"a member of another cluster": {storedDatabase{IsMember: true, Cluster: "theirs"}, false},
		"one that joins another one":  {storedDatabase{IsMember: true}, false},
		"one that joins this one":     {storedDatabase{IsMember: true, IsJoining: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Store{claim: owner.BeginRun().New(), known: three()}
			if err := s.mayJoin(membersOf(storedDatabase{IsMember: true, Cluster: "ours"}, c.joins)); (err == nil) != c.may {
				t.Errorf("%v", err)
			}
		})
	}
	alone := &Store{claim: owner.BeginRun().New(), known: three()}
	if err := alone.mayJoin(membersOf(storedDatabase{}, storedDatabase{IsMember: true})); err == nil {
		t.Error("a member of an unknown cluster joins a database that stands alone")
	}
}

func TestAMachineThatLeftTheClusterIsSeen(t *testing.T) {
	t.Parallel()
	inside := storedDatabase{IsMember: true, Cluster: "ours", Peers: []string{"ssl:10.0.0.11", "ssl:10.0.0.12"}}
	left := storedDatabase{IsMember: true, Cluster: "ours"}
	leads := inside
	leads.Leads = true
	if c := membersOf(leads, inside, left); c.isOutside(c.members[1], "ssl:10.0.0.12") || !c.isOutside(c.members[2], "ssl:10.0.0.13") {
		t.Error("it is not seen who is a member")
	}
	all := storedDatabase{IsMember: true, Cluster: "ours", Leads: true, Peers: []string{"ssl:10.0.0.11", "ssl:10.0.0.12", "ssl:10.0.0.13"}}
	if c := membersOf(all, inside, left); c.isOutside(c.members[2], "ssl:10.0.0.13") {
		t.Error("what one that follows knew before has it left")
	}
	if c := membersOf(inside, storedDatabase{IsMember: true, IsJoining: true}); c.isOutside(c.members[1], "ssl:10.0.0.13") {
		t.Error("one that is about to join has left")
	}
	if c, e := membersOf(inside, inside, left), three(); c.hasAllMembers(e) {
		t.Error("two of three are all")
	}
}

// A machine whose provider was killed while it joined has joined by the time at which it is looked at, and the leader was looked at before that.
func TestAMachineThatHasJoinedMeanwhileHasNotLeft(t *testing.T) {
	t.Parallel()
	leads := storedDatabase{IsMember: true, Cluster: "ours", Leads: true, Peers: []string{"ssl:10.0.0.11"}}
	c := membersOf(leads, storedDatabase{IsMember: true, Cluster: "ours"})
	says(c.members[0].host, map[string]string{"cluster.sh look": "OVN_Northbound clustered ours\nOVN_Northbound peer ssl:10.0.0.11\nOVN_Northbound peer ssl:10.0.0.12\nOVN_Northbound leads\n"})
	says(c.members[1].host, map[string]string{"cluster.sh look": "OVN_Northbound clustered ours\n"})
	if again := c.lookAgain(t.Context()); !c.isOutside(c.members[1], "ssl:10.0.0.12") || again.isOutside(again.members[1], "ssl:10.0.0.12") {
		t.Errorf("once more it is %+v", again.members)
	}
}

// says has a machine answer scripts by their names.
func says(h host.Host, answers map[string]string) {
	machine := h.(*hosttest.Host)
	machine.On(func(_ context.Context, _ *hosttest.Host, cmd host.Cmd) ([]byte, error) {
		return []byte(answers[cmd.Name]), nil
	}, "sh", "-c")
}

// A cluster of three lets a server go by the word of both that stay: one that is gone first, as it would have to agree otherwise.
func TestMachinesThatAreGoneLeaveFirst(t *testing.T) {
	t.Parallel()
	known := storedDatabase{IsMember: true, Peers: []string{"ssl:10.0.0.11", "ssl:10.0.0.12", "ssl:10.0.0.13"}}
	c := membersOf(known, known, known)
	// Whoever was killed between the two databases has let one go by half.
	for _, m := range c.members {
		m.databases[ovn.NorthDB.Name] = storedDatabase{IsMember: true, Peers: known.Peers[:2]}
	}
	c.host, c.members[2].err = c.members[0].host, errors.New("no route to host")
	for _, m := range c.members {
		says(m.host, nil)
	}
	var kicked []string
	c.host.(*hosttest.Host).On(func(_ context.Context, _ *hosttest.Host, cmd host.Cmd) ([]byte, error) {
		if cmd.Name == "cluster.sh kick" {
			kicked = append(kicked, cmd.Argv[len(cmd.Argv)-1])
		}
		return nil, nil
	}, "sh", "-c")
	s := &Store{claim: owner.BeginRun().New(), known: three()}
	one := three()
	one.Central = one.Central[:1]
	if err := s.dropMembers(t.Context(), c, s.claim, one); err != nil || !slices.Equal(kicked, []string{"ssl:10.0.0.13", "ssl:10.0.0.12"}) {
		t.Errorf("%v, kicked %q", err, kicked)
	}
}

// A machine that has forgotten whose it is would keep the databases that were made for that one, where whoever puts it back ends in between.
func TestDatabasesThatWereMadeGoBeforeTheMachineForgetsWhoseItIs(t *testing.T) {
	t.Parallel()
	s := &Store{claim: owner.BeginRun().New(), known: three()}
	h := hosttest.New(host.File{Path: "/var/lib/virtcluster/service-node.json", Content: []byte(`{"before":{},"users":{"` + s.claim.Mark().ID + `":{"services":["ovn-central"]}}}`)})
	says(h, nil)
	_ = s.releaseMember(t.Context(), member{host: h, machine: Machine{Made: true}}, s.claim) // its services are not known here
	log := h.Log()
	forgets := slices.IndexFunc(log, func(line string) bool { return strings.HasSuffix(line, " sh forget") })
	gives := slices.IndexFunc(log, func(line string) bool { return strings.HasPrefix(line, "lock ") })
	if forgets < 0 || gives < forgets {
		t.Errorf("forgets at %d, gives back at %d", forgets, gives)
	}
}

// A machine on which nothing was done yet but to note that databases would be made has that note no more; databases of others stay with theirs.
func TestANoteOfDatabasesThatWereNotMadeGoes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		machine Machine
		forgets bool
	}{"none were made": {Machine{Made: true}, true}, "somebody else's were": {Machine{Made: true, Stored: true}, false}, "there is no note": {Machine{}, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, h := &Store{claim: owner.BeginRun().New(), known: three()}, hosttest.New()
			says(h, nil)
			err := s.releaseMember(t.Context(), member{host: h, machine: c.machine}, s.claim)
			if done := h.Count("run"); err != nil || (done == 1) != c.forgets || done > 1 {
				t.Errorf("%v, done: %d", err, done)
			}
		})
	}
}

// A unit whose file is there does not start without the table of the guard: whoever is killed in between leaves databases that start.
func TestUnitsAreRemovedBeforeTheirGuard(t *testing.T) {
	t.Parallel()
	h := hosttest.New()
	says(h, nil)
	if err := removeUnits(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	log := h.Log()
	of := func(word string) int {
		return slices.IndexFunc(log, func(line string) bool { return strings.Contains(line, word) })
	}
	if units, guard := of("ovn-ovsdb-server-nb.service.d"), of(guardFile); units < 0 || guard < units {
		t.Errorf("done: %q", log)
	}
}

// clusterIn is the script with its directories in another one, whose database files of these names are there.
func clusterIn(t *testing.T, args []string, programs map[string]string, files ...string) (hosttest.Ending, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "ovn") // a short path: it has sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	text := clusterScript
	for name, path := range map[string]string{"databases": "/var/lib/ovn", "keys": "/var/lib/virtcluster/ovn", "run": "/run/ovn", "units": "/etc/systemd/system", "turns": "/run/lock/virtcluster-ovn"} {
		text = strings.Replace(text, "\n"+name+"="+path+"\n", "\n"+name+"="+filepath.Join(dir, name)+"\n", 1)
		if name == "turns" {
			continue // a file
		}
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, socket := range []string{"ovnnb_db.sock", "ovnsb_db.sock"} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, "run", socket))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
	}
	all := map[string]string{
		"systemctl": "", "sleep": "", "nft": "", "ovsdb-client": "", "ovn-appctl": "exit 2",
		// Each look at the clock is ten seconds after the one before.
		"date": `echo >>"$0.looks"; echo "$(($(wc -l <"$0.looks") * 10))"`,
		// A file that has the word cluster in it is a cluster's.
		"ovsdb-tool": `case $1 in --election-timer=5000) shift ;; esac
case $1 in
db-is-standalone) ! grep -q cluster "$2" || exit 2 ;;
create-cluster) { echo cluster of; cat "$3"; } >"$2" ;;
join-cluster) echo cluster joined >"$2" ;;
cluster-to-standalone) sed s/cluster/lone/ "$3" >"$2" ;;
db-cid) grep -q joined "$2" && exit 1; echo 1234 ;;
query) echo '[{"rows":[]},{"rows":[{"name":"persons"}]}]' ;;
esac`,
	}
	for name, program := range programs {
		all[name] = program
	}
	return hosttest.Script{Text: text, Args: args, Programs: all}.Run(t), dir
}

func readIn(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // a directory of the test
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

func TestALoneDatabaseBeginsACluster(t *testing.T) {
	t.Parallel()
	end, dir := clusterIn(t, []string{"form", "ssl:10.0.0.11"}, map[string]string{"systemctl": `[ "$1" != is-active ]`}, "databases/ovnnb_db.db", "databases/ovnsb_db.db")
	if end.Status != 0 || readIn(t, dir, "databases/ovnnb_db.db") != "cluster of databases/ovnnb_db.db" || !slices.Contains(end.Calls, "systemctl restart ovn-ovsdb-server-sb.service") {
		t.Errorf("status %d: %s, called %q", end.Status, end.Stderr, end.Calls)
	}
	if calls := strings.Join(end.Calls, "\n"); !strings.Contains(calls, " ssl:10.0.0.11:6644") || strings.Index(calls, "stop ovn-ovsdb-server-nb") > strings.Index(calls, "create-cluster") {
		t.Errorf("called %q", end.Calls)
	}
	end, _ = clusterIn(t, []string{"form", "ssl:10.0.0.11"}, nil, "databases/cluster")
	if strings.Contains(strings.Join(end.Calls, "\n"), "restart") {
		t.Errorf("what runs as it should is started anew: %q", end.Calls)
	}
}

func TestADatabaseJoinsACluster(t *testing.T) {
	t.Parallel()
	args := []string{"join", "ssl:10.0.0.12", "ssl:10.0.0.11", "ssl:10.0.0.13"}
	end, dir := clusterIn(t, args, nil, "databases/ovnnb_db.db", "databases/ovnsb_db.db")
	if end.Status != 0 || readIn(t, dir, "databases/ovnnb_db.db") != "cluster joined" || readIn(t, dir, "keys/before/ovnnb_db.db") != "databases/ovnnb_db.db" {
		t.Errorf("one of a person's: status %d: %s, called %q", end.Status, end.Stderr, end.Calls)
	}
	if calls := strings.Join(end.Calls, "\n"); !strings.Contains(calls, "OVN_Southbound ssl:10.0.0.12:6644 ssl:10.0.0.11:6644 ssl:10.0.0.13:6644") {
		t.Errorf("called %q", end.Calls)
	}
	end, dir = clusterIn(t, args, nil, "databases/ovnnb_db.db", "keys/made")
	if end.Status != 0 || readIn(t, dir, "keys/before/ovnnb_db.db") != "" || readIn(t, dir, "databases/ovnnb_db.db") != "cluster joined" {
		t.Errorf("one of the provider's: status %d: %s", end.Status, end.Stderr)
	}
	end, dir = clusterIn(t, []string{"leave"}, nil, "databases/ovnnb_db.db", "keys/made")
	if end.Status != 0 || readIn(t, dir, "databases/ovnnb_db.db") == "" {
		t.Errorf("one that stands alone goes with a cluster: status %d: %s", end.Status, end.Stderr)
	}
}

func TestTheLastDatabaseStandsAlone(t *testing.T) {
	t.Parallel()
	programs := map[string]string{"ovsdb-tool": `case $1 in db-is-standalone) exit 2 ;; cluster-to-standalone) echo lone >"$2" ;; esac`}
	end, dir := clusterIn(t, []string{"disband"}, programs, "databases/ovnnb_db.db", "databases/ovnsb_db.db")
	if end.Status != 0 || readIn(t, dir, "databases/ovnsb_db.db") != "lone" || !slices.Contains(end.Calls, "nft delete table inet virtcluster_ovn") {
		t.Errorf("status %d: %s, called %q", end.Status, end.Stderr, end.Calls)
	}
}

func TestAServerIsTakenOutOfItsCluster(t *testing.T) {
	t.Parallel()
	kick := func(appctl string) (hosttest.Ending, []string) {
		end, _ := clusterIn(t, []string{"kick", "ssl:10.0.0.12"}, map[string]string{"ovn-appctl": appctl, "ovsdb-tool": "exit 2"}, "databases/ovnnb_db.db")
		return end, slices.DeleteFunc(slices.Clone(end.Calls), func(call string) bool { return !strings.Contains(call, "cluster/kick") })
	}
	const (
		listed = `echo "    44f0 (44f0 at ssl:10.0.0.12:6643) last msg 2 ms ago"`
		alone  = `{ echo "Leader: self"; echo "    2a90 (2a90 at ssl:10.0.0.11:6643) (self)"; }`
	)
	for name, appctl := range map[string]string{
		"at once":                            `case $* in *kick*) : >"$0.kicked" ;; *) [ -e "$0.kicked" ] && ` + alone + ` || ` + listed + ` ;; esac`,
		"while its status is not said first": `case $* in *kick*) : >"$0.kicked" ;; *) [ -e "$0.kicked" ] && ` + alone + ` || { [ -e "$0.asked" ] || { : >"$0.asked"; exit 1; }; ` + listed + `; } ;; esac`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if end, kicks := kick(appctl); end.Status != 0 || len(kicks) != 1 || !strings.HasSuffix(kicks[0], "OVN_Northbound ssl:10.0.0.12:6643") {
				t.Errorf("status %d: %s, kicked %q", end.Status, end.Stderr, kicks)
			}
		})
	}
	if end, kicks := kick(`case $* in *kick*) echo >>"$0.asked"; [ "$(wc -l <"$0.asked")" -gt 2 ] || exit 2; : >"$0.kicked" ;; *) [ -e "$0.kicked" ] && ` + alone + ` || ` + listed + ` ;; esac`); end.Status != 0 || len(kicks) != 3 {
		t.Errorf("while nobody leads: status %d: %s, called %q", end.Status, end.Stderr, end.Calls)
	}
	if end, _ := kick(listed); end.Status == 0 || !strings.Contains(end.Stderr, "does not let ssl:10.0.0.12:6643 go") {
		t.Errorf("one that stays: status %d: %s", end.Status, end.Stderr)
	}
}

func TestAServerIsAwaitedUntilItKnowsAll(t *testing.T) {
	t.Parallel()
	// It knows one more with each look, and at last who leads.
	const status = `echo >>"$0.looks"; looks=$(wc -l <"$0.looks")
echo "Status: cluster member"; [ "$looks" -lt 4 ] && echo "Leader: unknown" || echo "Leader: 2a90"
printf '    44f0 (44f0 at ssl:10.0.0.11:6643) (self)\n'; [ "$looks" -lt 2 ] || printf '    2a90 (2a90 at ssl:10.0.0.12:6643) last msg 51 ms ago\n'`
	end, _ := clusterIn(t, []string{"await", "ssl:10.0.0.12", "ssl:10.0.0.11"}, map[string]string{"ovn-appctl": status})
	looks := slices.DeleteFunc(slices.Clone(end.Calls), func(call string) bool { return !strings.Contains(call, "cluster/status") })
	if end.Status != 0 || len(looks) != 5 || !strings.HasSuffix(looks[4], "OVN_Southbound") {
		t.Errorf("status %d: %s, looked %q", end.Status, end.Stderr, looks)
	}
	end, _ = clusterIn(t, []string{"await", "ssl:10.0.0.12", "ssl:10.0.0.13"}, map[string]string{"ovn-appctl": status})
	if end.Status == 0 || !strings.Contains(end.Stderr, "OVN_Northbound is not in the cluster of ssl:10.0.0.12 ssl:10.0.0.13: Status: cluster member") {
		t.Errorf("others than it has: status %d: %s", end.Status, end.Stderr)
	}
}

// A change that goes on although its provider is gone is waited for: here it ends without the database that it had begun to replace.
func TestALookWaitsForAChange(t *testing.T) {
	t.Parallel()
	const ending = `[ "$*" = "-s -w 300 9" ] && rm "$(dirname "$(readlink /proc/self/fd/9)")/databases/ovnnb_db.db"`
	end, _ := clusterIn(t, []string{"look"}, map[string]string{"systemctl": "exit 3", "flock": ending}, "turns", "databases/ovnnb_db.db")
	if end.Status != 0 || end.Stdout != "" || !slices.Contains(end.Calls, "flock -s -w 300 9") {
		t.Errorf("status %d: %s, %q, called %q", end.Status, end.Stderr, end.Stdout, end.Calls)
	}
}

func TestStoredDatabasesAreLookedAt(t *testing.T) {
	t.Parallel()
	const stopped, runs = "exit 3", ""
	const rows = `'[{"rows":[{"name":"persons"}]}]'`
	member := `case $1 in db-is-standalone) exit 2 ;; db-cid) echo 1234 ;; esac`
	status := `printf 'Status: cluster member\nRole: %s\nServers:\n    44f0 (44f0 at ssl:10.0.0.11:6643) (self)\n    2a90 (2a90 at ssl:[fd00::3]:6643) last msg 51 ms ago\n' `
	for name, c := range map[string]struct {
		programs map[string]string
		want     storedDatabase
	}{
		"one with something in it":           {map[string]string{"systemctl": stopped}, storedDatabase{IsUsed: true}},
		"one that runs, with nothing in it":  {map[string]string{"systemctl": runs, "ovsdb-client": `echo '[{"rows":[]}]'`}, storedDatabase{}},
		"one that runs, with something":      {map[string]string{"systemctl": runs, "ovsdb-client": "echo " + rows}, storedDatabase{IsUsed: true}},
		"one whose server is about to begin": {map[string]string{"systemctl": runs, "ovsdb-client": `[ -e "$0.began" ] || { : >"$0.began"; exit 1; }; echo '[{"rows":[]}]'`}, storedDatabase{}},
		"one whose server never answers":     {map[string]string{"systemctl": runs, "ovsdb-client": "exit 1"}, storedDatabase{IsUsed: true}},
		"one whose file is just made":        {map[string]string{"systemctl": stopped, "ovsdb-tool": `case $1 in db-is-standalone) [ -e "$0.made" ] || { : >"$0.made"; exit 1; } ;; query) echo '[{"rows":[]}]' ;; esac`}, storedDatabase{}},
		"the leader of a cluster":            {map[string]string{"ovn-appctl": status + "leader", "ovsdb-tool": member}, storedDatabase{IsMember: true, Cluster: "1234", Leads: true, Peers: []string{"ssl:10.0.0.11", "ssl:[fd00::3]"}}},
		"one that follows":                   {map[string]string{"ovn-appctl": status + "follower", "ovsdb-tool": member}, storedDatabase{IsMember: true, Cluster: "1234", Peers: []string{"ssl:10.0.0.11", "ssl:[fd00::3]"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end, _ := clusterIn(t, []string{"look"}, c.programs, "databases/ovnnb_db.db")
			if got, err := parseDatabases(end.Stdout); end.Status != 0 || err != nil || len(got) != 1 || !reflect.DeepEqual(got["OVN_Northbound"], c.want) {
				t.Errorf("status %d: %s, %q", end.Status, end.Stderr, end.Stdout)
			}
		})
	}
	end, _ := clusterIn(t, []string{"look"}, map[string]string{"ovsdb-tool": "echo bad magic >&2; exit 1"}, "databases/ovnnb_db.db")
	if end.Status == 0 || !strings.Contains(end.Stderr, "ovnnb_db.db is no database: bad magic") {
		t.Errorf("what is no database: status %d: %s, %q", end.Status, end.Stderr, end.Stdout)
	}
}
