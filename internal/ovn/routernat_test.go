package ovn

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

func TestIPv4IsNotTranslatedToIPv6(t *testing.T) {
	t.Parallel()
	r := lab()
	r.External.Address, r.External.Gateway, r.Floating = netip.MustParsePrefix("fd00:19::200/64"), netip.Addr{}, nil
	if p := r.Validate(); len(p) != 1 || p[0].Summary != "Address of another family" {
		t.Errorf("%v", p)
	}
	if r.SNAT = false; len(r.Validate()) > 0 {
		t.Errorf("without snat: %v", r.Validate())
	}
}

func TestRouterTranslatesByTheModesOfItsNetworks(t *testing.T) {
	t.Parallel()
	thing := routerThing{name: "lab"}
	for name, c := range map[string]struct {
		nodes, dmz string
		translated []string
		refused    string
	}{
		"both":       {"", Translated, []string{"10.50.0.0/24", "10.51.0.0/24"}, ""},
		"one":        {Translated, Routed, []string{"10.50.0.0/24"}, ""},
		"the other":  {Open, Translated, []string{"10.51.0.0/24"}, ""},
		"none":       {Open, Routed, nil, ""},
		"one has no": {Translated, Isolated, nil, `network "dmz" is isolated`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, want := rowsOf(map[string]string{"nodes": "10.50.0.1/24", "dmz": "10.51.0.1/24"}), lab()
			rows.global, rows.router = &Global{}, &RouterRow{Name: "lab"}
			rows.networks["nodes"].ExternalIDs[modeKey], rows.networks["dmz"].ExternalIDs[modeKey] = c.nodes, c.dmz
			// A row of a person's router, of a network that keeps its addresses, is that person's.
			rows.nat = []NAT{{Type: "snat", External: "10.19.41.200", Logical: "10.50.0.0/24"}, {Type: "snat", External: "10.19.41.200", Logical: "10.51.0.0/24"}}
			err := thing.checkRows(rows, want, Planned{})
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("%v, want %q", err, c.refused)
				}
				return
			}
			var translated, own []string
			for _, x := range thing.listNAT(rows, want) {
				if x.columns["type"] == "snat" {
					translated = append(translated, x.columns["logical_ip"].(string))
				}
			}
			ours, _ := thing.splitNAT(rows, want)
			for _, x := range ours {
				own = append(own, x.Logical)
			}
			slices.Sort(translated)
			if err != nil || !slices.Equal(translated, c.translated) || !slices.Equal(own, c.translated) {
				t.Errorf("translates %v, its own are %v: %v", translated, own, err)
			}
		})
	}
}

func TestRouterFollowsANetworksMode(t *testing.T) {
	t.Parallel()
	network := func(mode string) *Switch {
		s := rowsOf(map[string]string{"dmz": "10.51.0.1/24"}).networks["dmz"]
		s.ExternalIDs[modeKey] = mode
		return &s
	}
	for name, c := range map[string]struct{ was, wanted, done string }{
		"stays":      {"", Translated, "wait"},
		"no more":    {"", Routed, "wait mutate delete"},
		"from now":   {Open, Translated, "wait insert mutate"},
		"still not":  {Open, Routed, "wait"},
		"a person's": {Routed, Translated, "somebody has"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, thing := rowsOf(map[string]string{"nodes": "10.50.0.1/24"}), routerThing{name: "lab"}
			rows.networks["dmz"] = *network(c.was)
			rows.router = &RouterRow{UUID: "r"}
			rows.ports["lab-nodes"], rows.ports["lab-external"] = RouterPort{Name: "lab-nodes", Networks: []string{"10.50.0.1/24"}}, RouterPort{Name: "lab-external", Networks: []string{"10.19.41.200/24"}}
			rows.peers["nodes"] = Port{Options: map[string]string{"router-port": "lab-nodes"}}
			rows.outside = []Port{{Type: "router"}, {Type: "localnet", Options: map[string]string{"network_name": "lan"}}}
			ids := map[string]string{routerKey: "lab", markKey: ""}
			rows.nat = []NAT{{UUID: "a", Type: "snat", External: "10.19.41.200", Logical: "10.50.0.0/24", ExternalIDs: ids}}
			if c.was == "" {
				rows.nat = append(rows.nat, NAT{UUID: "b", Type: "snat", External: "10.19.41.200", Logical: "10.51.0.0/24", ExternalIDs: ids})
			}
			if name == "a person's" {
				rows.foreignNAT = []NAT{{Type: "snat", External: "10.19.41.200", Logical: "10.51.0.0/24"}}
			}
			operations, err := thing.putTranslation(rows, network(c.was), network(c.wanted))
			var done []string
			for _, o := range operations {
				done = append(done, o.Op)
			}
			if err != nil {
				done = []string{err.Error()}
			}
			if got := strings.Join(done, " "); got != c.done && (err == nil || !strings.Contains(got, c.done)) {
				t.Errorf("%q, want %q", got, c.done)
			}
		})
	}
}

func TestWhoTranslatesAFloatingAddress(t *testing.T) {
	t.Parallel()
	rows, thing, want := rowsOf(map[string]string{"nodes": "10.50.0.1/24", "dmz": "10.51.0.1/24"}), routerThing{name: "lab"}, lab()
	rows.guests = []Port{
		{UUID: "2", Name: "another-network's", Addresses: []string{"02:00:00:00:00:02 10.50.0.12"}}, {UUID: "3", Name: "w2", Addresses: []string{"02:00:00:00:00:03 10.50.0.12"}},
		{UUID: "1", Name: "w1", Addresses: []string{"02:00:00:00:00:01 10.50.0.12 fd00::12"}},
	}
	nodes := rows.networks["nodes"]
	nodes.Ports = []string{"3", "1"}
	// Somebody took the network off the router, which is to have it again.
	rows.networks["nodes"], rows.networks["theirs"] = nodes, Switch{Name: "theirs", Ports: []string{"2"}}
	want.Floating = map[string]Floating{"10.19.41.201": {Inside: netip.MustParseAddr("10.50.0.12"), Distributed: true}}
	if got := thing.listNAT(rows, want)["dnat_and_snat 10.19.41.201 10.50.0.12"].columns["logical_port"].(ovsdb.OvsSet).GoSet; len(got) != 1 || got[0] != "w1" {
		t.Errorf("by port %v", got)
	}
	for vip, refused := range map[string]bool{"10.50.0.100:80": false, "10.19.41.210:80": true} {
		t.Run(vip, func(t *testing.T) {
			rows.balancers = []Balancer{{Name: "web", VIPs: map[string]string{vip: "10.50.0.11:80,10.50.0.12:80"}}}
			if err := rows.checkFloating(want); (err != nil) != refused {
				t.Errorf("a guest that %s leads to: %v", vip, err)
			}
		})
	}
}

func TestAddressesOutsideAreOneRoutersAlone(t *testing.T) {
	t.Parallel()
	rows := rowsOf(map[string]string{"nodes": "10.50.0.1/24", "dmz": "10.51.0.1/24"})
	rows.mappings = map[string]string{"other-external": "lan"}
	rows.neighbours = map[string][]RouterPort{"other-external": {{UUID: "p", Networks: []string{"10.19.41.202/24"}}}}
	rows.others = []RouterRow{{Name: "other", Ports: []string{"p"}, NAT: []string{"x"}}, {Name: "third", NAT: []string{"y"}}}
	rows.othersNAT = []NAT{{UUID: "x", External: "10.19.41.203"}, {UUID: "y", External: "10.19.41.204"}}
	for name, c := range map[string]struct{ address, floating, mapping, want string }{
		"nobody's":              {"10.19.41.200/24", "10.19.41.201", "lan", ""},
		"another's own":         {"10.19.41.202/24", "10.19.41.201", "lan", `router "other" has 10.19.41.202 on network "lan"`},
		"another's, translated": {"10.19.41.203/24", "10.19.41.201", "lan", `router "other" has 10.19.41.203`},
		"floating, another's":   {"10.19.41.200/24", "10.19.41.202", "lan", `router "other" has 10.19.41.202`},
		"floating twice":        {"10.19.41.200/24", "10.19.41.203", "lan", `router "other" has 10.19.41.203`},
		"of another network":    {"10.19.41.202/24", "10.19.41.203", "wan", ""},
		"of a router not in it": {"10.19.41.200/24", "10.19.41.204", "lan", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := lab()
			want.External = &External{BridgeMapping: c.mapping, Address: netip.MustParsePrefix(c.address)}
			want.Floating = map[string]Floating{c.floating: {Inside: netip.MustParseAddr("10.50.0.12")}}
			if err := rows.checkOutside(want); (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if uses := lab().Uses(); len(uses) != 3 || uses[1].Value != "10.19.41.200" || uses[2].Value != "10.19.41.201" || uses[2].Scope != `network "lan"` {
		t.Errorf("uses %v", uses)
	}
}

func TestNATByHalfIsNone(t *testing.T) {
	t.Parallel()
	mac, port, other := "0a:00:00:00:00:01", "g1", "g2"
	nat := func(logical string, mac, port *string) NAT {
		return NAT{Type: "dnat_and_snat", External: "10.19.41.201", Logical: logical, MAC: mac, Port: port}
	}
	for name, c := range map[string]struct {
		nat  NAT
		want map[string]Floating
	}{
		"the way out translates": {nat("10.50.0.12", nil, nil), map[string]Floating{"10.19.41.201": {Inside: netip.MustParseAddr("10.50.0.12")}}},
		"the guest's chassis":    {nat("10.50.0.12", &mac, &port), map[string]Floating{"10.19.41.201": {Inside: netip.MustParseAddr("10.50.0.12"), Distributed: true}}},
		"without a port":         {nat("10.50.0.12", &mac, nil), map[string]Floating{}},
		"another guest's port":   {nat("10.50.0.12", &mac, &other), map[string]Floating{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := rowsOf(map[string]string{"nodes": "10.50.0.1/24"})
			rows.networks["nodes"], rows.networks["theirs"] = Switch{Name: "nodes", Ports: []string{"1"}}, Switch{Name: "theirs", Ports: []string{"2"}}
			rows.router, rows.nat = &RouterRow{Name: "lab"}, []NAT{c.nat}
			rows.guests = []Port{{UUID: "2", Name: "g2", Addresses: []string{"02:00:00:00:00:22 10.50.0.12"}}, {UUID: "1", Name: "g1", Addresses: []string{"02:00:00:00:00:12 10.50.0.12"}}}
			got := Router{Networks: []string{"nodes"}, Floating: map[string]Floating{}}
			if got.readNAT(rows); !maps.Equal(got.Floating, c.want) {
				t.Errorf("%v, want %v", got.Floating, c.want)
			}
		})
	}
}

func TestSNATIsThatOfAllNetworks(t *testing.T) {
	t.Parallel()
	rows := rowsOf(map[string]string{"nodes": "10.50.0.1/24", "dmz": "10.51.0.1/24"})
	rows.router = &RouterRow{Name: "lab"}
	for want, logical := range map[bool][]string{true: {"10.50.0.0/24", "10.51.0.0/24"}, false: {"10.50.0.0/24"}} {
		t.Run(strings.Join(logical, " "), func(t *testing.T) {
			rows.nat = nil
			for _, l := range logical {
				rows.nat = append(rows.nat, NAT{Type: "snat", External: "10.19.41.200", Logical: l})
			}
			got := lab()
			if got.readNAT(rows); got.SNAT != want {
				t.Errorf("of %v: %t", logical, got.SNAT)
			}
		})
	}
	// Where no network is translated, as one of IPv6 alone is not, it is what was written.
	six := rows.networks["dmz"]
	six.OtherConfig, six.ExternalIDs = map[string]string{prefixOption: "fd00:51::/64"}, map[string]string{}
	rows.networks = map[string]Switch{"six": six}
	for want, note := range map[bool]string{true: "true", false: ""} {
		t.Run("written "+note, func(t *testing.T) {
			rows.router.ExternalIDs = map[string]string{snatKey: note}
			got := lab()
			got.Networks = []string{"six"}
			if got.readNAT(rows); got.SNAT != want {
				t.Errorf("%t, want %t", got.SNAT, want)
			}
		})
	}
}

func TestWhatAPersonTranslatesIsNotTheRoutersOwn(t *testing.T) {
	t.Parallel()
	thing, persons, port := routerThing{name: "lab"}, "0a:00:00:00:00:99", "w1"
	for name, c := range map[string]struct {
		nat NAT
		own bool
	}{
		"of a network":                        {NAT{Type: "snat", External: "10.19.41.200", Logical: "10.50.0.0/24"}, true},
		"by the address that it has yet":      {NAT{Type: "snat", External: "10.19.41.199", Logical: "10.50.0.0/24"}, true},
		"of a network that it has yet":        {NAT{Type: "snat", External: "10.19.41.200", Logical: "10.52.0.0/24"}, true},
		"of a network that is not its":        {NAT{Type: "snat", External: "10.19.41.200", Logical: "10.99.0.0/24"}, false},
		"by an address that is not its":       {NAT{Type: "snat", External: "10.19.41.222", Logical: "10.50.0.0/24"}, false},
		"to the inside alone":                 {NAT{Type: "dnat", External: "10.19.41.201", Logical: "10.50.0.12"}, false},
		"a floating address":                  {NAT{Type: "dnat_and_snat", External: "10.19.41.202", Logical: "10.50.0.12"}, true},
		"one by half that is wanted":          {NAT{Type: "dnat_and_snat", External: "10.19.41.201", Logical: "10.50.0.13", MAC: &persons}, true},
		"one by half":                         {NAT{Type: "dnat_and_snat", External: "10.19.41.203", Logical: "10.50.0.13", MAC: &persons}, false},
		"one by a port of nobody's":           {NAT{Type: "dnat_and_snat", External: "10.19.41.203", Logical: "10.50.0.13", MAC: &persons, Port: &port}, false},
		"one by its guest's port, a person's": {NAT{Type: "dnat_and_snat", External: "10.19.41.203", Logical: "10.50.0.12", MAC: &persons, Port: &port}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := connectedRows()
			rows.nat = []NAT{c.nat}
			if own, foreign := thing.splitNAT(rows, lab()); (len(own) == 1) != c.own || len(own)+len(foreign) != 1 {
				t.Errorf("own %v, foreign %v", own, foreign)
			}
		})
	}
}

// connectedRows are those of a router that connects two networks, nodes and was, and has another address outside than lab.
func connectedRows() routerRows {
	rows := rowsOf(map[string]string{"nodes": "10.50.0.1/24", "dmz": "10.51.0.1/24", "was": "10.52.0.1/24", "theirs": "10.99.0.1/24"})
	rows.router, rows.global = &RouterRow{Name: "lab"}, &Global{}
	rows.ports["lab-external"] = RouterPort{Name: "lab-external", Networks: []string{"10.19.41.199/24"}}
	rows.outside = []Port{{Type: "router"}, {Type: "localnet", Options: map[string]string{"network_name": "lan"}}}
	for name, address := range map[string]string{"nodes": "10.50.0.1/24", "was": "10.52.0.1/24"} {
		rows.ports["lab-"+name] = RouterPort{Name: "lab-" + name, Networks: []string{address}}
		rows.peers[name] = Port{Options: map[string]string{"router-port": "lab-" + name}}
	}
	nodes := rows.networks["nodes"]
	nodes.Ports = []string{"1"}
	rows.networks["nodes"] = nodes
	rows.guests = []Port{{UUID: "1", Name: "w1", Addresses: []string{"02:00:00:00:00:01 10.50.0.12"}}}
	return rows
}

func TestSNATThatNobodyWantsGoesWhereARouterHadIt(t *testing.T) {
	t.Parallel()
	of := func(logical string) NAT { return NAT{Type: "snat", External: "10.19.41.199", Logical: logical} }
	for name, c := range map[string]struct {
		nat []NAT
		own int
	}{
		"of all networks":            {[]NAT{of("10.50.0.0/24"), of("10.52.0.0/24")}, 2},
		"a person's, of one of them": {[]NAT{of("10.50.0.0/24")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, want := connectedRows(), lab()
			want.SNAT, rows.nat = false, c.nat
			if own, foreign := (routerThing{name: "lab"}).splitNAT(rows, want); len(own) != c.own {
				t.Errorf("own %v, foreign %v", own, foreign)
			}
			if read := (routerThing{name: "lab"}).readRouter(rows); read.SNAT != (c.own > 0) {
				t.Errorf("it reads as %t", read.SNAT)
			}
		})
	}
}
