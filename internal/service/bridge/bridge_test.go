package bridge

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/localhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
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

// follow is the change from what is desired by one record to another's, as ip(8) gets it; nil is none.
func follow(t *testing.T, now hostnet.Machine, from, to *Record) (do, undo hostnet.Batch) {
	t.Helper()
	desire := func(r *Record) (d hostnet.Desired) {
		if r != nil {
			d = r.toDesired()
		}
		return d
	}
	c, err := now.Follow(t.Context(), nil, desire(from), desire(to))
	if err != nil {
		t.Fatal(err)
	}
	batch := func(script string) hostnet.Batch {
		_, text, _ := strings.Cut(script, "<<'END'\n")
		text, _, _ = strings.Cut(text, "END\n")
		return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return line == "" })
	}
	return batch(c.Do), batch(c.Undo)
}

func TestMakeMovesAddressesAndRoutesInOneBatch(t *testing.T) {
	b := Bridge{Name: "kiextbr0", Interfaces: []string{"eno1"}, Inherit: true}
	m := machine(t)
	r, err := b.beginRecord(m, Record{})
	if err != nil {
		t.Fatal(err)
	}
	r.Mark, r.Want.ActiveBackend = owner.Mark{ID: "me", Workspace: "here"}, hostnet.Runtime
	do, undo := follow(t, m, nil, &r)
	if diff := cmp.Diff(hostnet.Batch{
		"link add name kiextbr0 address 52:54:00:00:00:01 type bridge stp_state 0 forward_delay 200",
		`link set dev kiextbr0 alias "owner=me workspace=here"`,
		"route del ::/0 via 2001:db8::1 dev eno1",
		"route del default via 10.19.41.254 metric 100 dev eno1",
		"addr del 2001:db8::10/64 dev eno1",
		"addr del 10.19.41.10/24 broadcast 10.19.41.255 dev eno1",
		"link set dev eno1 master kiextbr0",
		"link set dev eno1 up",
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

func TestBondTakesInterfacesThatAreDown(t *testing.T) {
	b := Bridge{Name: "brbond", Bonds: []Bond{{Name: "bond0", Mode: "active-backup", Interfaces: []string{"eno1"}}}, Inherit: true}
	m := machine(t)
	r, err := b.beginRecord(m, Record{})
	if err != nil {
		t.Fatal(err)
	}
	r.Want.ActiveBackend = hostnet.Runtime
	do, _ := follow(t, m, nil, &r)
	text := strings.Join(do, "\n")
	if !strings.Contains(text, "link set dev eno1 down\nlink set dev eno1 master bond0\nlink set dev eno1 up\n") {
		t.Errorf("got\n%s", text)
	}
}

// A bond leaves what it lets go of down.
func TestWhatABondHadIsTakenUpBeforeItGetsItsAddressBack(t *testing.T) {
	b := Bridge{Name: "brbond", Bonds: []Bond{{Name: "bond0", Mode: "active-backup", Interfaces: []string{"eno1"}}}, Inherit: true}
	r, err := b.beginRecord(machine(t), Record{})
	if err != nil {
		t.Fatal(err)
	}
	r.Want.ActiveBackend, r.Want.MTU = hostnet.Runtime, 1400
	m := machine(t)
	m.Links = append(m.Links, hostnet.Link{Name: "brbond"}, hostnet.Link{Name: "bond0", Master: "brbond"})
	for i, l := range m.Links {
		if l.Name == "eno1" {
			m.Links[i].Master, m.Links[i].MTU, m.Links[i].Addresses = "bond0", 1400, nil
		}
	}
	m.Routes = nil
	do, _ := follow(t, m, &r, nil)
	text := strings.Join(do, "\n")
	if !strings.Contains(text, "link set dev eno1 nomaster\nlink set dev eno1 up\n") || !strings.Contains(text, "up\nlink set dev eno1 mtu 1500\naddr replace 10.19.41.10/24") {
		t.Errorf("got\n%s", text)
	}
}

func TestMakeRefusesWhatIsNotThereOrTaken(t *testing.T) {
	for name, want := range map[string]string{"eno9": `no interface "eno9"`, "eno2": `in bridge "br0" already`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := Bridge{Name: "kiextbr0", Interfaces: []string{name}, Inherit: true}
			if _, err := b.beginRecord(machine(t), Record{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func TestDefaultRouteOfAnotherDeviceIsNotReplaced(t *testing.T) {
	b := Bridge{Name: "kiextbr0", Interfaces: []string{"eno3"}, Addressing: hostnet.Addressing{
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.9.0.2/24")}, Gateways: []netip.Addr{netip.MustParseAddr("10.9.0.1")}, Metric: 100,
	}}
	m := machine(t)
	m.Links = append(m.Links, hostnet.Link{Name: "eno3"})
	if _, err := b.beginRecord(m, Record{}); err == nil || !strings.Contains(err.Error(), "10.19.41.254 dev eno1") {
		t.Errorf("got %v", err)
	}
	b.Metric = 200
	if _, err := b.beginRecord(m, Record{}); err != nil {
		t.Errorf("beside it, with another metric: %v", err)
	}
}

// roundTrip is a record written and read again.
func roundTrip(r Record) (Record, error) {
	got, err := hostnet.ParseRecord[Bridge](hostnet.Record[Bridge](r).Render())
	return Record(got), err
}

func TestRecordIsReadAsItWasWritten(t *testing.T) {
	m := machine(t)
	b := Bridge{
		Name: "kiextbr0", Interfaces: []string{"eno1"}, STP: true, VLANFiltering: true, MTU: 1400, Backend: "auto", RollbackTimeout: DefaultRollback,
		VLANs: []hostnet.VLANOptions{{Parent: "eno2", ID: 10, Manager: hostnet.Manager{Backend: hostnet.Networkd, File: "/etc/systemd/network/10-lan.network"}}},
		Addressing: hostnet.Addressing{
			Addresses: []netip.Prefix{netip.MustParsePrefix("10.19.41.77/24")}, Gateways: []netip.Addr{netip.MustParseAddr("10.19.41.254")}, Metric: 7,
		},
	}
	r, err := b.beginRecord(m, Record{})
	if err != nil {
		t.Fatal(err)
	}
	r.Mark = owner.Mark{ID: "me", Workspace: "here"}
	got, err := roundTrip(r)
	if diff := cmp.Diff(r, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if len(got.Before) != 1 || len(got.Before[0].Settings) != 4 {
		t.Errorf("what eno1 had is %+v", got.Before)
	}
}

// adopted is a bridge of eno1 that a person's files make, as an import finds it.
func adopted(backend string) Record {
	address := netip.MustParsePrefix("10.19.41.10/24")
	return Record{
		Want: Bridge{Name: "br7", Interfaces: []string{"eno1"}, Inherit: true, Backend: hostnet.Auto, ActiveBackend: backend},
		MAC:  "52:54:00:00:00:01",
		Adopted: &hostnet.DeviceSnapshot{
			Name: "br7", MTU: 1500, Settings: []hostnet.Setting{hostnet.AddressSetting(address)},
			Addressing: hostnet.Addressing{Addresses: []netip.Prefix{address}}, Manager: hostnet.Manager{Backend: backend, File: "/etc/systemd/network/20-br7.network"},
		},
		Before: []hostnet.DeviceSnapshot{{Name: "eno1", MTU: 1500, Manager: hostnet.Manager{Backend: backend}}},
	}
}

func TestBridgeOfAPersonIsNotMadeAgain(t *testing.T) {
	for backend, ports := range map[string]int{hostnet.Networkd: 1, hostnet.NetworkManager: 1, hostnet.Ifupdown: 1, hostnet.Netplan: 0} {
		t.Run(backend, func(t *testing.T) {
			r := adopted(backend)
			back, err := roundTrip(r)
			if diff := cmp.Diff(r, back, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); err != nil || diff != "" {
				t.Errorf("%s: %v %s", backend, err, diff)
			}
			devices := back.listDevices()
			if len(devices) != 1+ports || devices[0].Before.Manager.Backend != backend || len(devices[0].Addresses) != 1 {
				t.Errorf("%s: %+v", backend, devices)
			}
			if backend == hostnet.Ifupdown {
				return // it asks the machine for stanzas
			}
			if c, err := (hostnet.Machine{}).Follow(t.Context(), localhost.New(), r.toDesired(), hostnet.Desired{}); err != nil || strings.Contains(c.Do, "ip link del") || strings.Contains(c.Do, "device delete") {
				t.Errorf("%s: the person's bridge goes: %v\n%s", backend, err, c.Do)
			}
		})
	}
}

func TestWhatAPersonsFilesSayOfABridgeIsNotChanged(t *testing.T) {
	for want, change := range map[string]func(*Bridge){
		"":                                    func(b *Bridge) { b.Inherit, b.MTU = false, 1400 },
		`backend: .*"systemd-networkd" or`:    func(b *Bridge) { b.Backend = hostnet.Runtime },
		`interfaces: .*with \["eno1"\]`:       func(b *Bridge) { b.Interfaces = []string{"eno1", "eno2"} },
		`stp: .*with false`:                   func(b *Bridge) { b.STP = true },
		`vlan_filtering: .*with false`:        func(b *Bridge) { b.VLANFiltering = true },
		`interfaces: .*this provider did not`: func(b *Bridge) { b.VLANs = []hostnet.VLANOptions{{Parent: "eno3", ID: 10}} },
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			r := adopted(hostnet.Networkd)
			b := r.Want
			change(&b)
			err := b.fitsAdopted(r)
			text := ""
			if at, ok := errors.AsType[*service.AttributeError](err); ok {
				text = fmt.Sprint(at.Path[0], ": ", err)
			}
			if !regexp.MustCompile(want).MatchString(text) || (want == "") != (err == nil) {
				t.Errorf("want %q, got %q", want, text)
			}
		})
	}
	b := adopted(hostnet.Netplan).Want
	b.MTU = 1400
	if err := b.fitsAdopted(adopted(hostnet.Netplan)); err == nil {
		t.Error("netplan takes another MTU of the ports that a person describes")
	}
}

func TestPlanSaysThatTheAddressThatTerraformComesThroughMoves(t *testing.T) {
	m := machine(t)
	m.Reached = netip.MustParseAddr("10.19.41.10")
	f, k := found{Machine: m, name: "kiextbr0"}, kind{"kiextbr0"}
	warned := k.Warn(f, Bridge{Name: "kiextbr0", Interfaces: []string{"eno1"}, Inherit: true, RollbackTimeout: DefaultRollback})
	if len(warned) != 1 || !strings.Contains(warned[0].Detail, "10.19.41.10, which is on eno1 and goes to bridge kiextbr0") {
		t.Errorf("got %v", warned)
	}
	if warned := k.Warn(f, Bridge{Name: "kiextbr0", Interfaces: []string{"eno2"}, Inherit: true}); len(warned) > 0 {
		t.Errorf("another interface: %v", warned)
	}
}

func TestDestroySaysThatTheAddressThatTerraformComesThroughMoves(t *testing.T) {
	m := machine(t)
	k := kind{"kiextbr0"}
	r := Record{Want: Bridge{Name: "kiextbr0", Interfaces: []string{"eno1"}, RollbackTimeout: DefaultRollback}}
	f := found{Machine: m, Record: r, known: true, name: "kiextbr0", there: true}
	m.Links = slices.Clone(m.Links)
	at := slices.IndexFunc(m.Links, func(l hostnet.Link) bool { return l.Name == "eno1" })
	m.Links[at].Name, m.Links[at].LinkInfo.Kind = "kiextbr0", "bridge"
	f.Machine = m
	if warned := k.WarnOfRemoval(f); len(warned) > 0 {
		t.Errorf("reached by nothing: %v", warned)
	}
	f.Reached = netip.MustParseAddr("10.19.41.10")
	if warned := k.WarnOfRemoval(f); len(warned) != 1 || !strings.Contains(warned[0].Detail, "10.19.41.10, which is on bridge kiextbr0, and without it eno1") {
		t.Errorf("got %v", warned)
	}
}

func TestValidate(t *testing.T) {
	good := Bridge{Name: "kiextbr0", Interfaces: []string{"eno1"}, Inherit: true, RollbackTimeout: DefaultRollback}
	if p := good.Validate(); len(p) > 0 {
		t.Fatalf("a good bridge: %v", p)
	}
	for want, change := range map[string]func(*Bridge){
		"Invalid bridge name":         func(b *Bridge) { b.Name = "sixteen-letters-" },
		"No interface":                func(b *Bridge) { b.Interfaces = nil },
		"Invalid interface":           func(b *Bridge) { b.Interfaces = []string{"eno1; reboot"} },
		"Duplicate interface":         func(b *Bridge) { b.Interfaces = []string{"eno1", "eno1"} },
		"Metric without gateway":      func(b *Bridge) { b.Metric = 10 },
		"Invalid VLAN id":             func(b *Bridge) { b.VLANs = []hostnet.VLANOptions{{Parent: "eno2", ID: 4095}} },
		"VLAN of a port":              func(b *Bridge) { b.VLANs = []hostnet.VLANOptions{{Parent: "eno1", ID: 10}} },
		"Invalid bond mode":           func(b *Bridge) { b.Bonds = []Bond{{Name: "bond0", Mode: "fast", Interfaces: []string{"eno2"}}} },
		"Empty bond":                  func(b *Bridge) { b.Bonds = []Bond{{Name: "bond0", Mode: "802.3ad"}} },
		"VLAN filtering with netplan": func(b *Bridge) { b.Backend, b.VLANFiltering = hostnet.Netplan, true },
		"Two gateways of one family": func(b *Bridge) {
			b.Inherit, b.Addresses = false, []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}
			b.Gateways = []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.3")}
		},
		"Duplicate address": func(b *Bridge) {
			b.Inherit, b.Addresses = false, []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24"), netip.MustParsePrefix("10.0.0.2/24")}
		},
		"Gateway without addresses": func(b *Bridge) { b.Gateways = []netip.Addr{netip.MustParseAddr("10.0.0.1")} },
		"Gateway outside the subnet": func(b *Bridge) {
			b.Inherit, b.Gateways = false, []netip.Addr{netip.MustParseAddr("10.9.0.1")}
			b.Addresses = []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}
		},
	} {
		t.Run(want, func(t *testing.T) {
			b := good
			change(&b)
			if p := b.Validate(); len(p) != 1 || p[0].Summary != want {
				t.Errorf("want %q, got %v", want, p)
			}
		})
	}
}

func TestAPortThatSomebodyMovedStaysWhereItIs(t *testing.T) {
	b := Bridge{Name: "kiextbr0", Interfaces: []string{"eno1"}, Inherit: true}
	earlier, err := b.beginRecord(machine(t), Record{})
	if err != nil {
		t.Fatal(err)
	}
	in := func(master string) hostnet.Machine {
		m := machine(t)
		for i, l := range m.Links {
			if l.Name == "eno1" {
				m.Links[i].Master = master
			}
		}
		m.Links = append(m.Links, hostnet.Link{Name: "kiextbr0"})
		return m
	}
	for master, refused := range map[string]bool{"kiextbr0": false, "": false, "br0": true} {
		t.Run(master, func(t *testing.T) {
			_, err := b.beginRecord(in(master), earlier)
			at, placed := errors.AsType[*service.AttributeError](err)
			if refused != (err != nil) || refused && (!placed || at.Path[0] != "interfaces" || !strings.Contains(err.Error(), `"eno1" is in bridge "br0" now`)) {
				t.Errorf("in %q: %v", master, err)
			}
		})
	}
	bonded := Bridge{Name: "kiextbr0", Bonds: []Bond{{Name: "bond0", Mode: "active-backup", Interfaces: []string{"eno1"}}}, Inherit: true}
	if _, err := bonded.beginRecord(in("kiextbr0"), earlier); err != nil {
		t.Errorf("from the bridge into a bond of it: %v", err)
	}
	for _, backend := range []string{hostnet.Networkd, hostnet.NetworkManager} {
		t.Run(backend, func(t *testing.T) {
			r := earlier
			r.Want.ActiveBackend = backend
			r.Before[0].Manager = hostnet.Manager{Backend: backend, Connection: "0ba2d1c0"}
			for master, left := range map[string]bool{"kiextbr0": false, "br0": true} {
				c, err := in(master).Follow(t.Context(), nil, r.toDesired(), hostnet.Desired{})
				if err != nil || left == strings.Contains(c.Do, "eno1") || !slices.ContainsFunc(c.Files, func(f hostnet.File) bool { return strings.Contains(f.Path, "eno1") && f.Absent }) {
					t.Errorf("%s, without the bridge, eno1 in %q: %v\n%s\n%v", backend, master, err, c.Do, c.Files)
				}
			}
		})
	}
}

// What systemd-networkd would not make at the machine's next start is drift, though it is there now.
func TestAVLANThatTheNextStartDoesNotMakeIsDrift(t *testing.T) {
	t.Parallel()
	vlans := []hostnet.VLANOptions{{Parent: "eno1", ID: 10}, {Parent: "eno1", ID: 20}}
	f := found{name: "br9", known: true, there: true, Record: Record{Want: Bridge{Name: "br9", VLANs: vlans}}, unkept: []string{"eno1.10"}}
	f.Links = []hostnet.Link{{Name: "br9"}, {Name: "eno1"}, {Name: "eno1.10", Master: "br9"}, {Name: "eno1.20", Master: "br9"}}
	f.Links[0].LinkInfo.Kind = "bridge"
	if got, err := (kind{"br9"}).Read(f); err != nil || len(got.VLANs) != 1 || got.VLANs[0].ID != 20 {
		t.Errorf("read as %+v, %v", got.VLANs, err)
	}
}

// What no network manager can say of another device is refused before anything of it is lost.
func TestABridgeTakesNothingThatItCannotCarry(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct{ links, routes string }{
		"with 10.9.9.2 at its other end": {`[{"ifname":"eno1","addr_info":[{"family":"inet","local":"10.9.9.1","address":"10.9.9.2","prefixlen":32,"scope":"global"}]}]`, `[]`},
		"by several ways":                {`[{"ifname":"eno1"}]`, `[{"dst":"default","nexthops":[{"gateway":"10.0.0.1","dev":"eno1"},{"gateway":"10.1.0.1","dev":"eno2"}]}]`},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			m, err := hostnet.ParseMachine([]byte(c.links), []byte(c.routes), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := (Bridge{Name: "br9", Interfaces: []string{"eno1"}, Inherit: true}).beginRecord(m, Record{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Two devices of one hardware address in a network would take each other's packets.
func TestTheAddressOfAnInterfaceThatLeftGoesWithIt(t *testing.T) {
	t.Parallel()
	of := func(interfaces ...string) Bridge { return Bridge{Name: "br9", Interfaces: interfaces, Inherit: true} }
	m := hostnet.Machine{Links: []hostnet.Link{{Name: "eth1", Address: "52:54:00:00:00:11"}, {Name: "eth2", Address: "52:54:00:00:00:12"}}}
	made, err := of("eth1", "eth2").beginRecord(m, Record{})
	if err != nil || made.MAC != "52:54:00:00:00:11" {
		t.Fatalf("%q, %v", made.MAC, err)
	}
	made.Want.ActiveBackend = hostnet.Networkd
	m.Links[0].Master, m.Links[1].Master = "br9", "br9"
	m.Links = append(m.Links, hostnet.Link{Name: "br9", Address: made.MAC})
	m.Links[2].LinkInfo.Kind = "bridge"
	for name, c := range map[string]struct {
		want Bridge
		mac  string
	}{
		"it leaves":        {of("eth2"), "52:54:00:00:00:12"},
		"another one does": {of("eth1"), "52:54:00:00:00:11"},
		"it is the second": {of("eth2", "eth1"), "52:54:00:00:00:11"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := c.want.beginRecord(m, made)
			if err != nil || r.MAC != c.mac {
				t.Fatalf("%q, %v", r.MAC, err)
			}
			for _, backend := range []string{hostnet.Runtime, hostnet.Networkd} {
				from := made
				from.Want.ActiveBackend, r.Want.ActiveBackend = backend, backend
				change, err := m.Follow(t.Context(), nil, from.toDesired(), r.toDesired())
				if sets := "link set dev br9 address " + c.mac + "\n"; err != nil || strings.Contains(change.Do, sets) != (c.mac != made.MAC) {
					t.Errorf("%s, %v: it does\n%s", backend, err, change.Do)
				}
			}
		})
	}
}
