package bridge_test

import (
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bridge"
)

func machine(t *testing.T) bridge.Machine {
	t.Helper()
	var parts [3][]byte
	for i, name := range []string{"links", "routes4", "routes6"} {
		text, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		parts[i] = text
	}
	m, err := bridge.ParseMachine(parts[0], parts[1], parts[2])
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMakeMovesAddressesAndRoutesInOneBatch(t *testing.T) {
	b := bridge.Bridge{Name: "kiextbr0", Interfaces: []string{"eno1"}, Inherit: true}
	do, undo, err := b.Make(machine(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(bridge.Commands{
		"link add name kiextbr0 address 52:54:00:00:00:01 type bridge stp_state 0 forward_delay 200",
		"addr flush dev eno1 scope global",
		"link set dev eno1 master kiextbr0 up",
		"link set dev kiextbr0 up",
		"addr replace 10.19.41.10/24 broadcast 10.19.41.255 dev kiextbr0",
		"addr replace 2001:db8::10/64 dev kiextbr0",
		"route replace default via 10.19.41.254 metric 100 dev kiextbr0",
		"route replace ::/0 via 2001:db8::1 dev kiextbr0",
	}, do); diff != "" {
		t.Errorf("do: %s", diff)
	}
	if diff := cmp.Diff(bridge.Commands{
		"link del dev kiextbr0",
		"addr replace 10.19.41.10/24 broadcast 10.19.41.255 dev eno1",
		"addr replace 2001:db8::10/64 dev eno1",
		"route replace default via 10.19.41.254 metric 100 dev eno1",
		"route replace ::/0 via 2001:db8::1 dev eno1",
	}, undo); diff != "" {
		t.Errorf("undo: %s", diff)
	}
}

func TestMakeRefusesWhatIsNotThereOrTaken(t *testing.T) {
	for name, want := range map[string]string{"eno9": `no interface "eno9"`, "eno2": `in bridge "br0" already`} {
		b := bridge.Bridge{Name: "kiextbr0", Interfaces: []string{name}, Inherit: true}
		if _, _, err := b.Make(machine(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValidate(t *testing.T) {
	good := bridge.Bridge{Name: "kiextbr0", Interfaces: []string{"eno1"}, Inherit: true, RollbackTimeout: time.Minute}
	if p := good.Validate(); len(p) > 0 {
		t.Fatalf("a good bridge: %v", p)
	}
	for want, change := range map[string]func(*bridge.Bridge){
		"Invalid bridge name":        func(b *bridge.Bridge) { b.Name = "sixteen-letters-" },
		"No interface":               func(b *bridge.Bridge) { b.Interfaces = nil },
		"Invalid interface":          func(b *bridge.Bridge) { b.Interfaces = []string{"eno1; reboot"} },
		"Duplicate interface":        func(b *bridge.Bridge) { b.Interfaces = []string{"eno1", "eno1"} },
		"Invalid MTU":                func(b *bridge.Bridge) { b.MTU = 10 },
		"Gateway without addresses":  func(b *bridge.Bridge) { b.Gateway = netip.MustParseAddr("10.0.0.1") },
		"Rollback timeout too short": func(b *bridge.Bridge) { b.RollbackTimeout = time.Second },
		"Gateway outside the subnet": func(b *bridge.Bridge) {
			b.Inherit, b.Gateway = false, netip.MustParseAddr("10.9.0.1")
			b.Addresses = []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}
		},
	} {
		b := good
		change(&b)
		if p := b.Validate(); len(p) != 1 || p[0].Summary != want {
			t.Errorf("want %q, got %v", want, p)
		}
	}
}
