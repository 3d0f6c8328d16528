package robustness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// rollbackSeconds is after how long a machine that cannot be reached has gone back by itself.
const rollbackSeconds = 20

// networkSubject is the machine whose network is changed. The other one is left alone.
const networkSubject = "svc-2"

// networkScript prints all that a change of the network may change: links, addresses, routes, neighbours that were written by hand, and the
// files that have them after a reboot. What counts up is left out.
const networkScript = `ip -d -o link show | grep -v ': lo:' | sed -E 's/^[0-9]+: //; s/(qlen|gc_timer|hello_timer|tcn_timer|topology_change_timer|parentbus|parentdev) [^ ]+//g; s/link-netnsid [0-9]+//; s/@if[0-9]+//' | sort
ip -o -4 addr show | sed -E 's/^[0-9]+: //; s/ +/ /g' | sort
ip -4 route show | sort
ip neigh show nud permanent
find /etc/systemd/network /etc/resolv.conf /etc/netplan /etc/network /etc/NetworkManager -type f -printf '%p %m %u:%g ' -exec sh -c 'sha256sum <"$1" | cut -c1-12' sum {} \; 2>/dev/null | sort
cat /proc/sys/net/ipv4/ip_forward`

// networkBackends are who may have set up the machine's network, and whose files are changed then; "runtime" changes no file.
var networkBackends = []string{"systemd-networkd", "networkmanager", "ifupdown", "netplan", "runtime"}

// drawNetwork draws one resource of the machine's network: of several that are planned at once, one may fail alone. Only eth1 is left to
// other backends than systemd-networkd. cut says that the machine cannot be reached with it.
func drawNetwork(rng *rand.Rand, backend string) (c configuration, cut bool) {
	node := "${virtcluster_service_node." + networkSubject + ".id}"
	add := func(kind, key string, a map[string]any) {
		a["host"] = node
		if kind != "route" {
			a["rollback_timeout"] = rollbackSeconds
		}
		if backend == "runtime" {
			a["backend"] = backend
		}
		c = append(c, resource{Type: kind, Key: key, Attributes: a})
	}
	lan := func() string { return fmt.Sprintf("10.19.41.%d/24", 110+rng.IntN(9)) }
	bridge := func(a map[string]any, interfaces ...any) {
		a["name"], a["interfaces"] = "br0", interfaces
		if rng.IntN(2) == 0 {
			a["stp"] = rng.IntN(2) == 0
		}
		add("external_bridge", "b", a)
	}
	kinds := 6
	if backend == "systemd-networkd" {
		kinds = 10
	}
	switch rng.IntN(kinds) {
	case 0:
		bridge(map[string]any{}, map[string]any{"interface": "eth1"})
	case 1:
		bridge(map[string]any{"addressing": "none"}, map[string]any{"interface": "eth1"})
	case 2:
		bridge(map[string]any{"addresses": []any{fmt.Sprintf("10.19.%d.2/24", 42+rng.IntN(5))}}, map[string]any{"interface": "eth1", "vlan": 10 + rng.IntN(5)})
	case 3:
		mode := []string{"active-backup", "balance-xor", "802.3ad"}[rng.IntN(3)]
		bridge(map[string]any{"addresses": []any{lan()}}, map[string]any{"interface": "bond0", "bond": map[string]any{"interfaces": []any{"eth1"}, "mode": mode}})
	case 4:
		add("interface", "i", map[string]any{"name": "eth1", "addresses": []any{lan(), "10.19.41.102/24"}, "mtu": 1400 + 10*rng.IntN(5)})
	case 5:
		add("route", "r", map[string]any{"cidr": fmt.Sprintf("10.78.%d.0/24", rng.IntN(4)), "via": "10.19.41.253"})
	case 6:
		bridge(map[string]any{}, map[string]any{"interface": "eth0"})
	case 7:
		add("interface", "i", map[string]any{"name": "eth0", "addresses": []any{"10.0.100.102/24", fmt.Sprintf("10.0.100.%d/24", 120+rng.IntN(9))}, "gateway": "10.0.100.254"})
	case 8: // the machine is elsewhere then
		add("interface", "i", map[string]any{"name": "eth0", "addresses": []any{fmt.Sprintf("10.0.101.%d/24", 120+rng.IntN(9))}, "gateway": "10.0.101.254"})
		cut = true
	case 9: // its answers go nowhere
		bridge(map[string]any{"addresses": []any{fmt.Sprintf("10.0.101.%d/24", 120+rng.IntN(9))}}, map[string]any{"interface": "eth0"})
		cut = true
	}
	return c, cut
}

func network(t *testing.T) string {
	t.Helper()
	return acctest.On(t, networkSubject, "sh", "-c", networkScript)
}

// reachable waits until the machine answers SSH at the address that everybody knows, or for a time.
func reachable(limit time.Duration) bool {
	for began := time.Now(); time.Since(began) < limit; time.Sleep(200 * time.Millisecond) {
		if c, err := net.DialTimeout("tcp4", addressOf(slices.Index(machines, networkSubject))+":22", time.Second); err == nil { //nolint:noctx // it has a time limit
			_ = c.Close()
			return true
		}
	}
	return false
}

// difference shows the first line that two texts do not share.
func difference(was, is string) string {
	old, now := strings.Split(was, "\n"), strings.Split(is, "\n")
	for i := range max(len(old), len(now)) {
		a, b := "", ""
		if i < len(old) {
			a = old[i]
		}
		if i < len(now) {
			b = now[i]
		}
		if a != b {
			return fmt.Sprintf("%q became %q", a, b)
		}
	}
	return "nothing differs"
}

// perBackend is how many changes are drawn before the machine's eth1 is left to another manager.
const perBackend = 5

// TestAccHostNetwork draws changes of a machine's network with each backend, among them such that cut it off, and kills some: within
// rollback_timeout the machine can be reached again, as it was to be or exactly as before; and a destroy leaves it exactly as before.
func TestAccHostNetwork(t *testing.T) {
	acctest.InSandbox(t)
	acctest.ServiceNodes(t, 2)
	ctx := context.Background()
	seed := uint64(number("ROBUSTNESS_SEED", int(time.Now().Unix()))) //nolint:gosec // any seed will do
	rng := rand.New(rand.NewPCG(seed, 1))
	deadline := time.Now().Add(time.Duration(number("ROBUSTNESS_SECONDS", 900)) * time.Second)
	s, err := newState(ctx, 0, "terraform", t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	trials := map[string]int{}
	for round := rng.IntN(len(networkBackends)); time.Now().Before(deadline) && !t.Failed(); round++ {
		backend := networkBackends[round%len(networkBackends)]
		t.Run(backend, func(t *testing.T) {
			if backend != "runtime" {
				acctest.LeaveToManager(t, networkSubject, backend)
			}
			for range perBackend {
				if time.Now().Before(deadline) && !t.Failed() {
					trials[backend]++
					tryNetwork(ctx, t, s, rng, backend)
				}
			}
		})
	}
	t.Logf("seed %d: changes of a network by backend: %v", seed, trials)
}

func tryNetwork(ctx context.Context, t *testing.T, s *state, rng *rand.Rand, backend string) {
	t.Helper()
	// The service node's own registration is no part of the network, and stays.
	before := network(t)
	c, cut := drawNetwork(rng, backend)
	o := operation{State: s.name, Action: "apply", Config: c}
	if rng.IntN(3) == 0 {
		o.Kill = &kill{After: time.Duration(rng.Int64N(int64(8 * time.Second))), Signal: syscall.SIGKILL, Provider: rng.IntN(2) == 0}
	}
	r, err := s.perform(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	what := fmt.Sprintf("%s, status %d, %v", o, r.Status, c[0].Attributes)
	t.Log(what)
	// A machine under load takes its time beside what was written.
	if !reachable(rollbackSeconds*time.Second + 30*time.Second) {
		t.Fatalf("%s: the machine cannot be reached any more: %s", what, r.message())
	}
	if r.Killed {
		time.Sleep((rollbackSeconds + 5) * time.Second)
	}
	switch now := network(t); {
	case cut && r.Status == 0 && !r.Killed:
		t.Errorf("%s: it went well although the machine cannot be reached", what)
	case r.Status != 0 && !r.Killed && now != before:
		t.Errorf("%s: it failed (%s), and the network is not as before: %s", what, r.message(), difference(before, now))
	case r.Status == 0 && !r.Killed:
		if p := s.run(ctx, nil, "plan", "-no-color", "-input=false", "-detailed-exitcode"); p.Status != 0 {
			t.Errorf("%s: a plan after it: %s", what, planned(p.Output))
		}
	}
	for range 2 { // what a killed run left is found by the next
		if r = s.run(ctx, nil, "destroy", "-auto-approve", "-no-color", "-input=false"); r.Status == 0 {
			break
		}
	}
	if r.Status != 0 {
		t.Fatalf("%s: destroy: %s", what, r.message())
	}
	_ = s.write(nil)
	if now := network(t); now != before {
		t.Errorf("%s: after the destroy the network is not as before: %s", what, difference(before, now))
	}
}
