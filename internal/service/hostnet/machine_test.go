package hostnet

import (
	"net/netip"
	"slices"
	"testing"
)

// Several routers that advertise themselves make one route of several ways.
func TestADeviceWithRoutesOfSeveralWaysMovesWhereTheyComeAgain(t *testing.T) {
	t.Parallel()
	for protocol, refused := range map[string]bool{"kernel": false, "ra": false, "dhcp": false, "static": true, "boot": true} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			m, err := ParseMachine([]byte(`[{"ifname":"eno1"}]`), nil, []byte(`[{"dst":"default","protocol":"`+protocol+`","nexthops":[{"gateway":"fe80::1","dev":"eno1"},{"gateway":"fe80::2","dev":"eno1"}]}]`))
			if err != nil {
				t.Fatal(err)
			}
			if err := m.CheckCarried("eno1"); (err != nil) != refused {
				t.Error(err)
			}
		})
	}
}

func TestAGatewayInANetworkOfTheDeviceIsItsGatewayHoweverTheRouteWasMade(t *testing.T) {
	t.Parallel()
	for gateway, c := range map[string]struct {
		flags  string
		onLink bool
	}{
		"10.0.0.1":   {`["onlink"]`, false},
		"10.0.0.2":   {`[]`, false},
		"172.31.1.1": {`["onlink"]`, true},
	} {
		t.Run(gateway, func(t *testing.T) {
			t.Parallel()
			m, err := ParseMachine([]byte(`[{"ifname":"eth0","addr_info":[{"family":"inet","local":"10.0.0.5","prefixlen":24,"scope":"global"}]}]`),
				[]byte(`[{"dst":"default","gateway":"`+gateway+`","dev":"eth0","protocol":"static","metric":100,"flags":`+c.flags+`}]`), nil)
			if err != nil {
				t.Fatal(err)
			}
			want := Addressing{Gateways: []netip.Addr{netip.MustParseAddr(gateway)}, Metric: 100}
			if c.onLink {
				want = Addressing{Routes: []StaticRoute{{To: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr(gateway), Metric: 100, OnLink: true}}}
			}
			got := m.Addressing("eth0")
			if !slices.Equal(got.Gateways, want.Gateways) || got.Metric != want.Metric || !slices.Equal(got.Routes, want.Routes) {
				t.Errorf("it has %+v", got)
			}
		})
	}
}
