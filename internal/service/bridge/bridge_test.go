package bridge

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

func machine(t *testing.T) hostnet.Machine {
	t.Helper()
	var parts [3][]byte
	for i, name := range []string{"links", "routes4", "routes6"} {
		text, err := os.ReadFile("../hostnet/testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		parts[i] = text
	}
	m, err := hostnet.ParseMachine(parts[0], parts[1], parts[2])
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMakeMovesAddressesAndRoutesInOneBatch(t *testing.T) {
	b := Bridge{Name: "kiextbr0", Interfaces: []string{"eno1"}, Inherit: true}
	m := machine(t)
	r, err := b.begin(m, Record{})
	if err != nil {
		t.Fatal(err)
	}
	r.Mark, r.Want.ActiveBackend = owner.Mark{ID: "me", Workspace: "here"}, hostnet.Runtime
	do, undo := r.Make(m)
	if diff := cmp.Diff(hostnet.Batch{
		"link add name kiextbr0 address 52:54:00:00:00:01 type bridge stp_state 0 forward_delay 200",
		`link set dev kiextbr0 alias "owner=me workspace=here"`,
		"route del ::/0 via 2001:db8::1 dev eno1",
		"route del default via 10.19.41.254 metric 100 dev eno1",
		"addr del 2001:db8::10/64 dev eno1",
		"addr del 10.19.41.10/24 broadcast 10.19.41.255 dev eno1",
		"link set dev eno1 master kiextbr0 up",
		"link set dev kiextbr0 up",
		"addr replace 10.19.41.10/24 broadcast 10.19.41.255 dev kiextbr0",
		"addr replace 2001:db8::10/64 dev kiextbr0",
		"route add default via 10.19.41.254 metric 100 dev kiextbr0",
		"route add ::/0 via 2001:db8::1 dev kiextbr0",
	}, do); diff != "" {
		t.Errorf("do: %s", diff)
	}
	if diff := cmp.Diff(hostnet.Batch{
		"link del dev kiextbr0",
		"link set dev eno1 nomaster",
		"addr replace 10.19.41.10/24 broadcast 10.19.41.255 dev eno1",
		"addr replace 2001:db8::10/64 dev eno1",
		"route add default via 10.19.41.254 metric 100 dev eno1",
		"route add ::/0 via 2001:db8::1 dev eno1",
	}, undo); diff != "" {
		t.Errorf("undo: %s", diff)
	}
}

func TestMakeRefusesWhatIsNotThereOrTaken(t *testing.T) {
	for name, want := range map[string]string{"eno9": `no interface "eno9"`, "eno2": `in bridge "br0" already`} {
		b := Bridge{Name: "kiextbr0", Interfaces: []string{name}, Inherit: true}
		if _, err := b.begin(machine(t), Record{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDefaultRouteOfAnotherDeviceIsNotReplaced(t *testing.T) {
	b := Bridge{Name: "kiextbr0", Interfaces: []string{"eno3"}, Addresses: []netip.Prefix{netip.MustParsePrefix("10.9.0.2/24")}, Gateway: netip.MustParseAddr("10.9.0.1"), Metric: 100}
	m := machine(t)
	m.Links = append(m.Links, hostnet.Link{Name: "eno3"})
	if _, err := b.begin(m, Record{}); err == nil || !strings.Contains(err.Error(), "10.19.41.254 dev eno1") {
		t.Errorf("got %v", err)
	}
	b.Metric = 200
	if _, err := b.begin(m, Record{}); err != nil {
		t.Errorf("beside it, with another metric: %v", err)
	}
}

func TestRecordIsReadAsItWasWritten(t *testing.T) {
	m := machine(t)
	b := Bridge{
		Name: "kiextbr0", Interfaces: []string{"eno1"}, STP: true, MTU: 1400, Backend: "auto", RollbackTimeout: DefaultRollback,
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.19.41.77/24")}, Gateway: netip.MustParseAddr("10.19.41.254"), Metric: 7,
	}
	r, err := b.begin(m, Record{})
	if err != nil {
		t.Fatal(err)
	}
	r.Mark = owner.Mark{ID: "me", Workspace: "here"}
	got, err := ParseRecord(b.Name, r.Render())
	if diff := cmp.Diff(r, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if len(got.Before) != 1 || len(got.Before[0].Settings) != 4 {
		t.Errorf("what eno1 had is %+v", got.Before)
	}
}

func TestValidate(t *testing.T) {
	good := Bridge{Name: "kiextbr0", Interfaces: []string{"eno1"}, Inherit: true, RollbackTimeout: DefaultRollback}
	if p := good.Validate(); len(p) > 0 {
		t.Fatalf("a good bridge: %v", p)
	}
	for want, change := range map[string]func(*Bridge){
		"Invalid bridge name":    func(b *Bridge) { b.Name = "sixteen-letters-" },
		"No interface":           func(b *Bridge) { b.Interfaces = nil },
		"Invalid interface":      func(b *Bridge) { b.Interfaces = []string{"eno1; reboot"} },
		"Duplicate interface":    func(b *Bridge) { b.Interfaces = []string{"eno1", "eno1"} },
		"Metric without gateway": func(b *Bridge) { b.Metric = 10 },
		"Duplicate address": func(b *Bridge) {
			b.Inherit, b.Addresses = false, []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24"), netip.MustParsePrefix("10.0.0.2/24")}
		},
		"Gateway without addresses": func(b *Bridge) { b.Gateway = netip.MustParseAddr("10.0.0.1") },
		"Gateway outside the subnet": func(b *Bridge) {
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
