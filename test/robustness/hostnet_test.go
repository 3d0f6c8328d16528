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
find /etc/systemd/network /etc/resolv.conf /etc/netplan /etc/network -type f -printf '%p %m %u:%g ' -exec sh -c 'sha256sum <"$1" | cut -c1-12' sum {} \; 2>/dev/null | sort
cat /proc/sys/net/ipv4/ip_forward`

// drawNetwork draws one resource of the machine's network: of several that are planned at once, one may fail alone. cut says that the machine cannot be reached with it.
func drawNetwork(rng *rand.Rand) (c configuration, cut bool) {
	node := "${virtcluster_service_node." + networkSubject + ".id}"
	own := "10.0.100.102/24"
	add := func(kind, key string, a map[string]any) {
		a["host"] = node
		if kind != "route" {
			a["rollback_timeout"] = rollbackSeconds
		}
		c = append(c, resource{Type: kind, Key: key, Attributes: a})
	}
	switch rng.IntN(8) {
	case 0:
		add("external_bridge", "b", map[string]any{"name": "br0", "interfaces": []any{map[string]any{"interface": "eth1"}}, "stp": rng.IntN(2) == 0})
	case 1:
		add("external_bridge", "b", map[string]any{"name": "br0", "interfaces": []any{map[string]any{"interface": "eth0"}}})
	case 2:
		add("external_bridge", "b", map[string]any{"name": "br0", "interfaces": []any{map[string]any{"interface": "eth1", "vlan": 10 + rng.IntN(5)}}, "addresses": []any{fmt.Sprintf("10.19.%d.2/24", 42+rng.IntN(5))}})
	case 3:
		add("interface", "i", map[string]any{"name": "eth1", "addresses": []any{fmt.Sprintf("10.19.41.%d/24", 110+rng.IntN(9)), "10.19.41.102/24"}, "mtu": 1400 + 10*rng.IntN(5)})
	case 4:
		add("interface", "i", map[string]any{"name": "eth0", "addresses": []any{own, fmt.Sprintf("10.0.100.%d/24", 120+rng.IntN(9))}, "gateway": "10.0.100.254"})
	case 5: // the machine is elsewhere then
		add("interface", "i", map[string]any{"name": "eth0", "addresses": []any{fmt.Sprintf("10.0.101.%d/24", 120+rng.IntN(9))}, "gateway": "10.0.101.254"})
		cut = true
	case 6: // its answers go nowhere
		add("external_bridge", "b", map[string]any{"name": "br0", "interfaces": []any{map[string]any{"interface": "eth0"}}, "addresses": []any{fmt.Sprintf("10.0.101.%d/24", 120+rng.IntN(9))}})
		cut = true
	case 7:
		add("route", "r", map[string]any{"cidr": fmt.Sprintf("10.77.%d.0/24", rng.IntN(4)), "via": "10.0.100.253"})
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

// TestAccHostNetwork draws changes of a machine's network, among them such that cut it off, and kills some: within rollback_timeout the
// machine can be reached again, as it was to be or exactly as before; and a destroy leaves it exactly as before.
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
	trials := 0
	for ; time.Now().Before(deadline) && !t.Failed(); trials++ {
		tryNetwork(ctx, t, s, rng)
	}
	t.Logf("seed %d: %d changes of a network", seed, trials)
}

func tryNetwork(ctx context.Context, t *testing.T, s *state, rng *rand.Rand) {
	t.Helper()
	// The service node's own registration is no part of the network, and stays.
	before := network(t)
	c, cut := drawNetwork(rng)
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
