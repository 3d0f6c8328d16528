package hostnet

import "testing"

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
