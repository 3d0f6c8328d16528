package bridge_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/localhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bridge"
)

// inSandbox keeps these tests away from any real machine's network: they move eno1's address.
func inSandbox(t *testing.T) {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("runs where TF_ACC is set")
	}
	if os.Getenv("SANDBOX_STATE") == "" {
		t.Fatal("this test changes the machine's network: run it by test/sandbox/enter")
	}
}

func site() bridge.Site {
	h := localhost.New()
	return bridge.Site{Host: h, Fresh: func(context.Context) (host.Host, error) { return h, nil }}
}

func external() bridge.Bridge {
	return bridge.Bridge{Name: "accbr0", Interfaces: []string{"eno1"}, Inherit: true, RollbackTimeout: 5 * time.Second}
}

// network is what must be as before: addresses, routes, and which device is in which bridge.
func network(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `ip -br address show | sed 's/ *$//' | grep -v ^veth; ip route; ip -6 route | grep -v fe80; ip -br link show type bridge`).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func reachable(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("ping", "-c", "3", "-i", "0.2", "-W", "2", "10.19.41.254").CombinedOutput(); err != nil {
		t.Errorf("the LAN's gateway does not answer: %s", out)
	}
}

func TestAccBridgeTakesTheAddressAndGivesItBack(t *testing.T) {
	inSandbox(t)
	ctx, s, b, before := t.Context(), site(), external(), network(t)
	if err := s.Create(ctx, b); err != nil {
		t.Fatal(err)
	}
	got, m, err := s.Get(ctx, b.Name)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Addresses) != 1 || got.Addresses[0] != netip.MustParsePrefix("10.19.41.10/24") || got.Gateway != netip.MustParseAddr("10.19.41.254") {
		t.Errorf("the bridge has %v via %v", got.Addresses, got.Gateway)
	}
	if nic, _ := m.Link("eno1"); nic.Master != b.Name || strings.Contains(network(t), "eno1@if 10.") {
		t.Errorf("eno1 is not in the bridge: %+v", nic)
	}
	reachable(t)
	if err := s.Create(ctx, b); err != nil {
		t.Errorf("a bridge that an interrupted apply left must be taken over: %v", err)
	}
	b.MTU = 1400
	if err := s.Update(ctx, b); err != nil {
		t.Fatal(err)
	}
	if got, _, _ = s.Get(ctx, b.Name); got.MTU != 1400 {
		t.Errorf("MTU is %d", got.MTU)
	}
	reachable(t)
	if err := s.Delete(ctx, external()); err != nil {
		t.Fatal(err)
	}
	reachable(t)
	if after := network(t); after != before {
		t.Errorf("after destroy:\n%s\nbefore:\n%s", after, before)
	}
	if left, _ := os.ReadDir("/run/virtcluster"); len(left) > 0 {
		for _, e := range left {
			if strings.HasPrefix(e.Name(), "bridge-") {
				t.Errorf("left in /run/virtcluster: %s", e.Name())
			}
		}
	}
}

func TestAccBridgeWithAddressesOfItsOwn(t *testing.T) {
	inSandbox(t)
	ctx, s, b, before := t.Context(), site(), external(), network(t)
	b.Inherit, b.Addresses, b.Gateway = false, []netip.Prefix{netip.MustParsePrefix("10.19.41.77/24")}, netip.MustParseAddr("10.19.41.254")
	if err := s.Create(ctx, b); err != nil {
		t.Fatal(err)
	}
	reachable(t)
	if now := network(t); strings.Contains(now, "10.19.41.10/") || !strings.Contains(now, "10.19.41.77/24") {
		t.Errorf("the network is\n%s", now)
	}
	if err := s.Delete(ctx, b); err != nil {
		t.Fatal(err)
	}
	if after := network(t); after != before {
		t.Errorf("after destroy:\n%s\nbefore:\n%s", after, before)
	}
}

func TestAccBridgeThatLosesTheMachineIsRolledBack(t *testing.T) {
	inSandbox(t)
	before := network(t)
	for name, fresh := range map[string]func(context.Context) (host.Host, error){
		"no new connection":       func(context.Context) (host.Host, error) { return nil, errors.New("connection refused") },
		"a connection that hangs": func(ctx context.Context) (host.Host, error) { <-ctx.Done(); return nil, ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			s := site()
			s.Fresh = fresh
			if err := s.Create(t.Context(), external()); err == nil || !strings.Contains(err.Error(), "what it had before") {
				t.Errorf("got %v", err)
			}
			if after := network(t); after != before {
				t.Errorf("after the rollback:\n%s\nbefore:\n%s", after, before)
			}
			reachable(t)
		})
	}
}

// deaf is a machine whose connection dies with the change: nothing but its own rollback can help.
type deaf struct {
	host.Host
	dead bool
}

func (d *deaf) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	if d.dead {
		return nil, errors.New("connection lost")
	}
	out, err := d.Host.Run(ctx, cmd)
	d.dead = cmd.Argv[0] == "ip" && cmd.Argv[1] == "-batch"
	return out, err
}

func TestAccMachineThatCannotBeReachedGoesBackByItself(t *testing.T) {
	inSandbox(t)
	before := network(t)
	d := &deaf{Host: localhost.New()}
	s := bridge.Site{Host: d, Fresh: func(context.Context) (host.Host, error) { return d, nil }}
	err := s.Create(t.Context(), external())
	if err == nil || !strings.Contains(err.Error(), "by itself") {
		t.Fatalf("got %v", err)
	}
	if network(t) == before {
		t.Fatal("the change was not made, so this proves nothing")
	}
	for deadline := time.Now().Add(10 * time.Second); network(t) != before; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still\n%s\nbefore:\n%s", network(t), before)
		}
	}
	reachable(t)
}

func TestAccBridgeOfAMissingInterface(t *testing.T) {
	inSandbox(t)
	b := external()
	b.Interfaces = []string{"eno7"}
	if err := site().Create(t.Context(), b); err == nil || !strings.Contains(err.Error(), `no interface "eno7"`) || !strings.Contains(err.Error(), "eno1") {
		t.Errorf("got %v", err)
	}
}
