package bridge_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/localhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bridge"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
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

func site() hostnet.Site {
	h := localhost.New()
	return hostnet.Site{Host: h, Fresh: func(context.Context) (host.Host, error) { return h, nil }}
}

func open(s hostnet.Site, claim owner.Claim) *bridge.Store {
	return bridge.Open(s, "accbr0", "local:#accbr0", claim)
}

func external() bridge.Bridge {
	return bridge.Bridge{Name: "accbr0", Interfaces: []string{"eno1"}, Inherit: true, RollbackTimeout: 5 * time.Second}
}

// network is what must be as before: addresses, routes, and which device is in which bridge.
func network(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `ip -br address show | sed 's/ *$//' | grep -v ^veth; ip route; ip -6 route | sed '/fe80/d; / expires /d'; ip -br link show type bridge`).CombinedOutput()
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
	ctx, s, b, before := t.Context(), open(site(), new(owner.Run).New()), external(), network(t)
	got, err := s.Create(ctx, b)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Active) != 1 || got.Active[0] != netip.MustParsePrefix("10.19.41.10/24") || !got.Inherit {
		t.Errorf("the bridge is %+v", got)
	}
	if nic := link(t, "eno1"); nic.Master != b.Name || strings.Contains(network(t), "eno1@if 10.") {
		t.Errorf("eno1 is not in the bridge: %+v", nic)
	}
	reachable(t)
	b.MTU = 1400
	if got, err = s.Update(ctx, b, b); err != nil {
		t.Fatal(err)
	}
	if got.MTU != 1400 || link(t, "eno1").MTU != 1400 {
		t.Errorf("MTU is %d", got.MTU)
	}
	reachable(t)
	if err := s.Delete(ctx); err != nil {
		t.Fatal(err)
	}
	reachable(t)
	asBefore(t, before)
	for _, pattern := range []string{"/run/virtcluster/bridge-*", "/var/lib/virtcluster/network/*", "/etc/systemd/system/virtcluster-*"} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

func link(t *testing.T, name string) hostnet.Link {
	t.Helper()
	m, err := hostnet.Look(t.Context(), localhost.New())
	if err != nil {
		t.Fatal(err)
	}
	link, _ := m.Link(name)
	return link
}

func asBefore(t *testing.T, before string) {
	t.Helper()
	if after := network(t); after != before {
		t.Errorf("after:\n%s\nbefore:\n%s", after, before)
	}
}

// listed is the bridge with an address and a gateway of its own.
func listed() bridge.Bridge {
	b := external()
	b.Inherit, b.Addresses, b.Gateways = false, []netip.Prefix{netip.MustParsePrefix("10.19.41.77/24")}, []netip.Addr{netip.MustParseAddr("10.19.41.254")}
	return b
}

func TestAccBridgeWithAddressesOfItsOwn(t *testing.T) {
	inSandbox(t)
	ctx, s, before := t.Context(), open(site(), new(owner.Run).New()), network(t)
	if _, err := s.Create(ctx, listed()); err != nil {
		t.Fatal(err)
	}
	reachable(t)
	if now := network(t); strings.Contains(now, "10.19.41.10/") || !strings.Contains(now, "10.19.41.77/24") {
		t.Errorf("the network is\n%s", now)
	}
	without := listed()
	without.Gateways = nil
	got, err := s.Update(ctx, listed(), without)
	if err != nil {
		t.Fatal(err)
	}
	if now := network(t); got.Gateways != nil || strings.Contains(now, "default") {
		t.Errorf("the default route that the bridge brought stays: %+v\n%s", got, now)
	}
	if err := s.Delete(ctx); err != nil {
		t.Fatal(err)
	}
	asBefore(t, before)
}

func TestAccInheritedAddressesComeBackAfterAList(t *testing.T) {
	inSandbox(t)
	ctx, s, before := t.Context(), open(site(), new(owner.Run).New()), network(t)
	if _, err := s.Create(ctx, external()); err != nil {
		t.Fatal(err)
	}
	inherited := network(t)
	if _, err := s.Update(ctx, external(), listed()); err != nil {
		t.Fatal(err)
	}
	if now := network(t); strings.Contains(now, "10.19.41.10/") || !strings.Contains(now, "10.19.41.77/24") {
		t.Errorf("with a list the network is\n%s", now)
	}
	if _, err := s.Update(ctx, listed(), external()); err != nil {
		t.Fatal(err)
	}
	asBefore(t, inherited)
	reachable(t)
	if err := s.Delete(ctx); err != nil {
		t.Fatal(err)
	}
	asBefore(t, before)
}

func TestAccBridgeOfSomebodyElseIsLeftAlone(t *testing.T) {
	inSandbox(t)
	ctx, before := t.Context(), network(t)
	run(t, "ip link add accbr0 address $(cat /sys/class/net/eno1/address) type bridge forward_delay 0 && ip addr flush dev eno1 scope global && ip link set eno1 master accbr0 && "+
		"ip link set accbr0 up && ip addr add 10.19.41.10/24 dev accbr0 && ip route add default via 10.19.41.254")
	t.Cleanup(func() {
		// With the record that an import made of it: the bridge of another test is not that one, deleted by somebody.
		run(t, "ip link del accbr0; rm -f /run/virtcluster/bridge-accbr0.json; ip addr add 10.19.41.10/24 dev eno1; ip route add default via 10.19.41.254")
		asBefore(t, before)
	})
	theirs := network(t)
	s := open(site(), new(owner.Run).New())
	for name, want := range map[string]bridge.Bridge{"the same": external(), "other addresses": listed()} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Create(ctx, want)
			if foreign, ok := errors.AsType[*owner.ForeignError](err); !ok || foreign.ImportID != "local:#accbr0" {
				t.Errorf("%s: %v", name, err)
			}
			asBefore(t, theirs)
		})
	}
	if err := s.Delete(ctx); err == nil {
		t.Error("a bridge of somebody else is deleted")
	}
	if _, err := s.Get(ctx); err == nil {
		t.Error("a bridge of somebody else is read as one's own")
	}
	asBefore(t, theirs)
	// An import takes it over knowingly.
	s = open(site(), new(owner.Run).Adopt())
	got, err := s.Get(ctx)
	if err != nil || !got.Inherit || len(got.Active) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err = s.Update(ctx, got, listed()); err != nil || got.Inherit || !slices.Equal(got.Gateways, listed().Gateways) {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := s.Update(ctx, got, external()); err != nil {
		t.Fatal(err)
	}
	asBefore(t, theirs)
}

func TestAccWhatOthersAddToABridgeStays(t *testing.T) {
	inSandbox(t)
	ctx, s, before := t.Context(), open(site(), new(owner.Run).New()), network(t)
	if _, err := s.Create(ctx, listed()); err != nil {
		t.Fatal(err)
	}
	run(t, "ip addr add 10.19.41.99/32 dev accbr0; ip addr add 10.19.41.98/24 dev accbr0; ip link add accveth0 type veth peer name accveth1; ip link set accveth0 master accbr0")
	t.Cleanup(func() {
		run(t, "ip link del accveth0; ip addr del 10.19.41.99/32 dev eno1; ip addr del 10.19.41.98/24 dev eno1")
		asBefore(t, before)
	})
	other := listed()
	other.Addresses = []netip.Prefix{netip.MustParsePrefix("10.19.41.78/24")}
	got, err := s.Get(ctx)
	if err != nil || len(got.Addresses) != 1 || len(got.Interfaces) != 1 {
		t.Errorf("what others added is taken for drift: %+v, %v", got, err)
	}
	if _, err := s.Update(ctx, listed(), other); err != nil {
		t.Fatal(err)
	}
	now := network(t)
	for _, want := range []string{"10.19.41.78/24", "10.19.41.98/24", "10.19.41.99/32", "default via 10.19.41.254"} {
		if !strings.Contains(now, want) {
			t.Errorf("%s is gone:\n%s", want, now)
		}
	}
	if strings.Contains(now, "10.19.41.77/") || link(t, "accveth0").Master != "accbr0" {
		t.Errorf("the network is\n%s", now)
	}
	if err := s.Delete(ctx); err == nil || !strings.Contains(err.Error(), "accveth0") {
		t.Errorf("with somebody's port: %v", err)
	}
	if after := network(t); after != now {
		t.Fatalf("the bridge was\n%s\nand is\n%s", now, after)
	}
	run(t, "ip link set accveth0 nomaster")
	if err := s.Delete(ctx); err != nil {
		t.Fatal(err)
	}
	reachable(t)
}

func run(t *testing.T, script string) {
	t.Helper()
	if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
}

func TestAccBridgeOfAMissingInterface(t *testing.T) {
	inSandbox(t)
	b := external()
	b.Interfaces = []string{"eno7"}
	if _, err := open(site(), new(owner.Run).New()).Create(t.Context(), b); err == nil || !strings.Contains(err.Error(), `no interface "eno7"`) || !strings.Contains(err.Error(), "eno1") {
		t.Errorf("got %v", err)
	}
}
