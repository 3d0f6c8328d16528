package netinterface

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// lan is an interface with all that one can have.
func lan() Interface {
	return Interface{
		Name: "eth1", MTU: 1400, Backend: hostnet.Auto, ActiveBackend: hostnet.Networkd, RollbackTimeout: DefaultRollback,
		Addressing: hostnet.Addressing{
			Addresses: []netip.Prefix{netip.MustParsePrefix("10.19.41.10/24"), netip.MustParsePrefix("2001:db8::10/64")},
			Gateways:  []netip.Addr{netip.MustParseAddr("10.19.41.254"), netip.MustParseAddr("2001:db8::1")}, Metric: 50,
			Routes:      []hostnet.StaticRoute{{To: netip.MustParsePrefix("10.77.0.0/16"), Via: netip.MustParseAddr("10.19.41.253")}},
			Nameservers: []netip.Addr{netip.MustParseAddr("10.0.0.100")}, Search: []string{"okd.example"},
		},
	}
}

func TestInterfaceThatNoMachineTakes(t *testing.T) {
	if p := lan().Validate(); len(p) > 0 {
		t.Fatalf("a good interface: %v", p)
	}
	for want, change := range map[string]func(*Interface){
		"Invalid interface name":     func(i *Interface) { i.Name = "eth0;reboot" },
		"Invalid network":            func(i *Interface) { i.Routes[0].To = netip.MustParsePrefix("10.77.0.1/16") },
		"Invalid gateway":            func(i *Interface) { i.Routes[0].Via = netip.MustParseAddr("2001:db8::1") },
		"Duplicate route":            func(i *Interface) { i.Routes = append(i.Routes, i.Routes[0]) },
		"Gateway outside the subnet": func(i *Interface) { i.Routes[0].Via = netip.MustParseAddr("10.9.9.9") },
		"Invalid domain":             func(i *Interface) { i.Search = []string{"a b"} },
		"Gateway beside DHCP": func(i *Interface) {
			i.Addresses, i.DHCP, i.Gateways = nil, true, i.Gateways[:1]
		},
		"Invalid address":                        func(i *Interface) { i.Addresses = append(i.Addresses, netip.MustParsePrefix("224.0.0.1/4")) },
		"Gateway is the machine itself":          func(i *Interface) { i.Gateways = []netip.Addr{i.Addresses[0].Addr()} },
		"Name servers without a network manager": func(i *Interface) { i.Backend = hostnet.Runtime },
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			i := lan()
			change(&i)
			if p := i.Validate(); len(p) != 1 || p[0].Summary != want {
				t.Errorf("want %q, got %v", want, p)
			}
		})
	}
}

// roundTrip is a record written and read again.
func roundTrip(r Record) (Record, error) {
	got, err := hostnet.ParseRecord[Interface](hostnet.Record[Interface](r).Render())
	return Record(got), err
}

func TestRecordIsReadAsItWasWritten(t *testing.T) {
	r := Record{
		Mark: owner.Mark{ID: "me", Workspace: "here"}, Want: lan(),
		Before: []hostnet.DeviceSnapshot{{Name: "eth1", MTU: 1500, Settings: []hostnet.Setting{hostnet.AddressSetting(netip.MustParsePrefix("10.19.41.101/24"))}, Manager: hostnet.Manager{Backend: hostnet.Networkd, File: "/etc/systemd/network/10-eth1.network"}}},
	}
	got, err := roundTrip(r)
	if diff := cmp.Diff(r, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestWhatIsNotThereIsRead(t *testing.T) {
	m, err := hostnet.ParseMachine(
		[]byte(`[{"ifname":"eth1","mtu":1400,"address":"52:54:00:00:00:01","addr_info":[{"family":"inet","local":"10.19.41.10","prefixlen":24,"scope":"global"},{"family":"inet","local":"10.19.41.99","prefixlen":32,"scope":"global"}]}]`),
		[]byte(`[{"dst":"default","gateway":"10.19.41.254","dev":"eth1","protocol":"static","metric":50}]`), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := lan()
	want.Addresses, want.Gateways, want.Routes = want.Addresses[:1], want.Gateways[:1], []hostnet.StaticRoute{}
	want.Active = m.Prefixes("eth1")
	want.MAC = "52:54:00:00:00:01"
	got := Record{Want: lan()}.readInterface(m)
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" {
		t.Error(diff)
	}
	asks := lan()
	asks.Addressing = hostnet.Addressing{DHCP: true}
	if got := (Record{Want: asks}).readInterface(m); !got.DHCP {
		t.Errorf("an interface that has an address asks for none: %+v", got)
	}
	if got := (Record{Want: asks}).readInterface(hostnet.Machine{}); got.DHCP {
		t.Error("an interface without any address has one by DHCP")
	}
}
