package engine

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// programs are those of a machine with OVN, of which everything runs.
func programs(more map[string]string) map[string]string {
	all := map[string]string{
		"systemctl": "", "ovn-nbctl": "echo 'ovn-nbctl 23.03.1'", "ovn-sbctl": "", "ovs-vsctl": "echo 'ovs-vsctl (Open vSwitch) 3.1.0'", "ovn-appctl": "echo connected", "sleep": "",
		"ip": "echo '1: lo    inet 127.0.0.1/8 scope host lo'", "ping": "",
	}
	for name, text := range more {
		all[name] = text
	}
	return all
}

func TestLookPrintsWhatIsThere(t *testing.T) {
	t.Parallel()
	end := hosttest.Script{Text: machineScript, Args: []string{"look", "127.0.0.1"}, Programs: programs(map[string]string{"systemctl": `case "$*" in *ovn-northd*) exit 3;; esac`})}.Run(t)
	lines := strings.Split(strings.TrimSpace(end.Stdout), "\n")
	for _, want := range []string{"mtu 65536 lo", "ovn 23.03.1", "openvswitch 3.1.0", "active ovs-vswitchd", "active ovn-controller", "connection connected"} {
		t.Run(want, func(t *testing.T) {
			if !slices.Contains(lines, want) {
				t.Errorf("not in %q (status %d: %s)", lines, end.Status, end.Stderr)
			}
		})
	}
	if slices.Contains(lines, "active ovn-northd") {
		t.Errorf("a unit that does not run is among %q", lines)
	}
}

// Whoever is killed between a certificate and its key leaves one that proves nothing: it is taken for none, so the next apply writes both.
func TestACertificateCountsWithItsKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files []string // in the order in which they were written
		want  bool
	}{
		"with its key":                   {[]string{"chassis.pem", "chassis-key.pem"}, true},
		"without a key":                  {[]string{"chassis.pem"}, false},
		"with the key of the one before": {[]string{"chassis-key.pem", "chassis.pem"}, false},
		"an authority's":                 {[]string{"authority-key.pem", "authority.pem"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for i, file := range c.files {
				path, written := filepath.Join(dir, file), time.Now().Add(time.Duration(i)*time.Second)
				if err := errors.Join(os.WriteFile(path, []byte(file), 0o600), os.Chtimes(path, written, written)); err != nil {
					t.Fatal(err)
				}
			}
			end := hosttest.Script{Text: strings.Replace(machineScript, "\nkeys=/var/lib/virtcluster/ovn\n", "\nkeys="+dir+"\n", 1), Args: []string{"look"}, Programs: programs(nil)}.Run(t)
			if end.Status != 0 || strings.Contains(end.Stdout, "certificate ") != c.want {
				t.Errorf("status %d: %s, %q", end.Status, end.Stderr, end.Stdout)
			}
		})
	}
}

func TestDatabasesAreAwaited(t *testing.T) {
	t.Parallel()
	end := hosttest.Script{Text: machineScript, Args: []string{"start", "ovn-ovsdb-server-nb", "ovn-northd"}, Programs: programs(map[string]string{
		"systemctl": `[ "$1" = start ]`,
		"ovn-nbctl": `n=$(cat "$0.n" 2>/dev/null || echo 0); echo $((n + 1)) >"$0.n"; [ "$n" -ge 3 ]`,
	})}.Run(t)
	asked := slices.DeleteFunc(slices.Clone(end.Calls), func(call string) bool { return !strings.HasPrefix(call, "ovn-nbctl") })
	if end.Status != 0 || len(asked) != 4 || !slices.Contains(end.Calls, "systemctl start ovn-northd.service") {
		t.Errorf("status %d, called %q", end.Status, end.Calls)
	}
	end = hosttest.Script{Text: machineScript, Args: []string{"start", "ovn-ovsdb-server-nb"}, Programs: programs(map[string]string{"ovn-nbctl": "echo no database >&2; exit 1"})}.Run(t)
	if end.Status == 0 || !strings.Contains(end.Stderr, "no database") {
		t.Errorf("databases that never answer: status %d, %q", end.Status, end.Stderr)
	}
}

func TestReachPrintsWhoDoesNotAnswer(t *testing.T) {
	t.Parallel()
	end := hosttest.Script{Text: machineScript, Args: []string{"reach", "1500", "172.16.0.12", "172.16.0.13"}, Programs: programs(map[string]string{"ping": `case "$*" in *172.16.0.13) exit 1;; esac`})}.Run(t)
	if end.Status != 0 || end.Stdout != "172.16.0.13\n" || !strings.Contains(strings.Join(end.Calls, "\n"), "-M do -s 1472 172.16.0.12") {
		t.Errorf("status %d, %q, called %q", end.Status, end.Stdout, end.Calls)
	}
}

func TestSilenceIsExplained(t *testing.T) {
	t.Parallel()
	e := three()
	e.UnderlayMTU = 1500
	for answer, want := range map[string]string{"": "small ones do: the network between them carries less", "172.16.0.12\n": "small ones do not either: look there whether `ping -M do -s 1472 172.16.0.12`"} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			err := e.explainSilence(t.Context(), machineSays(t, answer), "kvm1", []string{"172.16.0.12"}).Error()
			if !strings.HasPrefix(err, `packets of 1500 bytes from chassis "kvm1" (172.16.0.11) do not reach "kvm2" (172.16.0.12), and `+want) {
				t.Error(err)
			}
		})
	}
}

func TestConnectionIsAwaited(t *testing.T) {
	t.Parallel()
	late := `case "$*" in *reset) exit;; esac; n=$(cat "$0.n" 2>/dev/null || echo 0); echo $((n + 1)) >"$0.n"; [ "$n" -ge 3 ] && echo connected || echo "not connected"`
	end := hosttest.Script{Text: machineScript, Args: []string{"connected"}, Programs: programs(map[string]string{"ovn-appctl": late})}.Run(t)
	if asked := strings.Count(strings.Join(end.Calls, "\n"), "connection-status"); end.Status != 0 || asked != 4 {
		t.Errorf("status %d after %d questions: %s", end.Status, asked, end.Stderr)
	}
	end = hosttest.Script{Text: machineScript, Args: []string{"connected"}, Programs: programs(map[string]string{"ovn-appctl": "echo 'not connected'"})}.Run(t)
	if end.Status == 0 || end.Stderr != "not connected\n" {
		t.Errorf("one that never connects: status %d, %q", end.Status, end.Stderr)
	}
	// It takes a cluster that was made anew for one that is behind.
	behind := `case "$*" in *sb-cluster-state-reset) touch "$0.reset";; *) [ -e "$0.reset" ] && echo connected || echo "not connected";; esac`
	end = hosttest.Script{Text: machineScript, Args: []string{"connected"}, Programs: programs(map[string]string{"ovn-appctl": behind})}.Run(t)
	if end.Status != 0 {
		t.Errorf("one that has seen more of another cluster: status %d, %q", end.Status, end.Stderr)
	}
}

// A cluster that lets its leader go names that one until another one has been elected: who is asked next would find nobody who leads.
func TestALeaderIsAwaitedWhenOneIsLetGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := strings.NewReplacer("\nturns=/run/lock/virtcluster-ovn\n", "\nturns="+dir+"/turns\n", "\ndatabases=/var/lib/ovn\n", "\ndatabases="+dir+"\n").Replace(clusterScript)
	empty := func(name string) error { return os.WriteFile(filepath.Join(dir, name), nil, 0o600) }
	if err := errors.Join(empty("ovnnb_db.db"), empty("ovnsb_db.db")); err != nil {
		t.Fatal(err)
	}
	status := `case "$*" in *cluster/kick*) exit;; esac
n=$(cat "$0.n" 2>/dev/null || echo 0); echo $((n + 1)) >"$0.n"
leader=2816; [ "$n" -lt 4 ] || leader=self
printf 'Status: cluster member\nLeader: %s\nServers:\n    31fd (31fd at ssl:10.0.100.11:6643) (self)\n' "$leader"
[ "$n" -gt 1 ] || echo '    2816 (2816 at ssl:10.0.100.13:6643)'`
	end := hosttest.Script{Text: script, Args: []string{"kick", "ssl:10.0.100.13"}, Programs: programs(map[string]string{"ovn-appctl": status, "ovsdb-tool": "exit 2"})}.Run(t)
	asked := strings.Count(strings.Join(end.Calls, "\n"), "cluster/status OVN_Northbound")
	if end.Status != 0 || asked != 5 {
		t.Errorf("status %d after %d questions: %s, called %q", end.Status, asked, end.Stderr, end.Calls)
	}
}
