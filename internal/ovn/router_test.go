package ovn

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

func lab() Router {
	return Router{
		Name: "lab", Networks: []string{"dmz", "nodes"}, SNAT: true,
		External: &External{BridgeMapping: "lan", Address: netip.MustParsePrefix("10.19.41.200/24"), Gateway: netip.MustParseAddr("10.19.41.254"), Chassis: []string{"a", "b", "c"}},
		Floating: map[string]Floating{"10.19.41.201": {Inside: netip.MustParseAddr("10.50.0.12")}},
		Routes:   []Route{{netip.MustParsePrefix("10.128.0.0/14"), netip.MustParseAddr("10.50.0.9")}},
	}
}

// rowsOf are the rows around a router that is not there yet.
func rowsOf(networks map[string]string) routerRows {
	r := routerRows{ports: map[string]RouterPort{}, peers: map[string]Port{}, networks: map[string]Switch{}, global: &Global{UUID: "global"}}
	for name, address := range networks {
		p := netip.MustParsePrefix(address)
		r.networks[name] = Switch{UUID: name, Name: name, OtherConfig: map[string]string{"subnet": p.Masked().String()}, ExternalIDs: map[string]string{gatewayKey: p.Addr().String()}}
	}
	return r
}

func TestRouterThatOVNDoesNotTake(t *testing.T) {
	t.Parallel()
	if p := lab().Validate(); len(p) > 0 {
		t.Fatalf("a good router: %v", p)
	}
	for want, change := range map[string]func(*Router){
		"No way out":                                 func(r *Router) { r.External = nil },
		"Gateway outside the network":                func(r *Router) { r.External.Gateway = netip.MustParseAddr("10.19.42.254") },
		"Two chassis do not stand in for each other": func(r *Router) { r.External.Chassis = []string{"a", "b"} },
		"Invalid address": func(r *Router) {
			r.Floating = map[string]Floating{"fd00::1": {Inside: netip.MustParseAddr("10.50.0.12")}}
		},
		"Address of the router": func(r *Router) {
			r.Floating = map[string]Floating{"10.19.41.200": {Inside: netip.MustParseAddr("10.50.0.12")}}
		},
		"Address of the gateway": func(r *Router) {
			r.Floating = map[string]Floating{"10.19.41.254": {Inside: netip.MustParseAddr("10.50.0.12")}}
		},
		"Invalid network":           func(r *Router) { r.Routes[0].CIDR = netip.MustParsePrefix("10.128.0.1/14") },
		"No network to translate":   func(r *Router) { r.Networks = nil },
		"Address of another family": func(r *Router) { r.Routes[0].Via = netip.MustParseAddr("fd00::9") },
		"Route described twice":     func(r *Router) { r.Routes[0].CIDR = netip.MustParsePrefix("0.0.0.0/0") },
		"Default route of the external network": func(r *Router) {
			r.External.Gateway, r.Routes[0] = netip.Addr{}, Route{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParseAddr("10.19.41.254")}
		},
	} {
		t.Run(want, func(t *testing.T) {
			r := lab()
			change(&r)
			if p := r.Validate(); len(p) != 1 || p[0].Summary != want {
				t.Errorf("want %q, got %v", want, p)
			}
		})
	}
}

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

func TestRouterHasTheGatewaysOfItsNetworks(t *testing.T) {
	t.Parallel()
	rows := rowsOf(map[string]string{"nodes": "10.50.0.1/24", "dmz": "10.51.0.1/24"})
	thing := routerThing{name: "lab"}
	ports, err := thing.listPorts(rows, lab(), "group")
	if err != nil || len(ports) != 3 || ports["lab-nodes"].columns["networks"].(ovsdb.OvsSet).GoSet[0] != "10.50.0.1/24" || ports["lab-external"].columns["mac"] == ports["lab-nodes"].columns["mac"] {
		t.Errorf("%v, %v", ports, err)
	}
	if nat := thing.listNAT(rows, lab()); len(nat) != 3 || nat["snat 10.19.41.200 10.51.0.0/24"].columns == nil || nat["dnat_and_snat 10.19.41.201 10.50.0.12"].columns == nil {
		t.Errorf("%v", nat)
	}
	if routes := thing.listRoutes(lab()); len(routes) != 2 || routes["0.0.0.0/0 10.19.41.254"].columns == nil {
		t.Errorf("%v", routes)
	}
	rows.neighbours = map[string][]RouterPort{"dmz": {{Name: "mine-dmz", Networks: []string{"10.51.0.1/24"}}}, "nodes": {{Name: "mine-nodes", Networks: []string{"10.50.0.2/24"}}}}
	if _, err := thing.listPorts(rows, lab(), ""); err == nil || !strings.Contains(err.Error(), `port "mine-dmz" of another router has 10.51.0.1`) {
		t.Errorf("two routers have one address: %v", err)
	}
	for said, networks := range map[string]map[string]string{
		"overlaps": {"nodes": "10.50.0.1/24", "dmz": "10.50.0.129/25"}, "no network": {"nodes": "10.50.0.1/24"}, "overlaps network \"lab-external\"": {"nodes": "10.50.0.1/24", "dmz": "10.19.0.1/16"},
	} {
		t.Run(said, func(t *testing.T) {
			if _, err := thing.listPorts(rowsOf(networks), lab(), ""); err == nil || !strings.Contains(err.Error(), strings.Split(said, " \"")[0]) {
				t.Errorf("%v: %v", networks, err)
			}
		})
	}
	bare := rowsOf(map[string]string{"nodes": "10.50.0.1/24", "dmz": "10.51.0.1/24"})
	delete(bare.networks["nodes"].ExternalIDs, gatewayKey)
	if _, err := thing.listPorts(bare, lab(), ""); err == nil || !strings.Contains(err.Error(), "no gateway") {
		t.Errorf("a network without a gateway: %v", err)
	}
}

// A second switch of a network's name would have nobody know which of the two is meant, and two ports of one name are refused by the database in its own words.
func TestRouterIsNotCalledSoThatItsWayOutHasATakenName(t *testing.T) {
	t.Parallel()
	mine := owner.Mark{ID: "1", Workspace: owner.Workspace()}.String()
	network := Network{Name: "lab-external", CIDR: netip.MustParsePrefix("10.52.0.0/24")}
	for name, c := range map[string]struct {
		change  func(*Router, *routerRows)
		planned Planned
		want    string
	}{
		"nothing is called so": {func(*Router, *routerRows) {}, Planned{}, ""},
		"somebody's network":   {func(_ *Router, r *routerRows) { r.networks["lab-external"] = Switch{Name: "lab-external"} }, Planned{}, `there is a network "lab-external"`},
		"one without a way out": {func(w *Router, r *routerRows) {
			r.networks["lab-external"], *w = Switch{Name: "lab-external"}, Router{Name: "lab", Networks: []string{"nodes"}}
		}, Planned{}, ""},
		"one of the state that the plan has not": {func(_ *Router, r *routerRows) {
			r.networks["lab-external"] = Switch{Name: "lab-external", ExternalIDs: map[string]string{markKey: mine}}
		}, Planned{}, ""},
		"a network of the plan": {func(*Router, *routerRows) {}, Planned{Networks: []Network{network}}, `there is a network "lab-external"`},
		"the router's own port": {func(w *Router, _ *routerRows) { w.Networks = append(w.Networks, "external") }, Planned{}, `called "lab-external", as that to network "external" is`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			thing, rows, want := routerThing{name: "lab"}, rowsOf(map[string]string{"nodes": "10.50.0.1/24", "dmz": "10.51.0.1/24", "external": "10.53.0.1/24"}), lab()
			rows.global = &Global{}
			c.change(&want, &rows)
			if err := thing.checkRows(rows, want, c.planned); (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// Two OVNs on one network may have routers of one name; a router that is there keeps its hardware addresses.
func TestRoutersOfTwoOVNsHaveOtherHardwareAddresses(t *testing.T) {
	t.Parallel()
	thing, want := routerThing{name: "lab"}, lab()
	want.Floating = map[string]Floating{"10.19.41.201": {Inside: netip.MustParseAddr("10.50.0.12"), Distributed: true}}
	list := func(global string, ports map[string]RouterPort, nat []NAT) (outside, floating any) {
		rows := rowsOf(map[string]string{"nodes": "10.50.0.1/24", "dmz": "10.51.0.1/24"})
		rows.global.UUID, rows.nat = global, nat
		if ports != nil {
			rows.ports = ports
		}
		all, err := thing.listPorts(rows, want, "group")
		if err != nil {
			t.Fatal(err)
		}
		return all["lab-external"].columns["mac"], thing.listNAT(rows, want)["dnat_and_snat 10.19.41.201 10.50.0.12"].columns["external_mac"].(ovsdb.OvsSet).GoSet[0]
	}
	outside, floating := list("1", nil, nil)
	if other, otherFloating := list("2", nil, nil); other == outside || otherFloating == floating {
		t.Errorf("both are %s, and %s", outside, floating)
	}
	mac := hardwareAddress("lab 10.19.41.201")
	had := map[string]RouterPort{"lab-external": {Name: "lab-external", MAC: hardwareAddress("lab-external")}}
	if outside, floating := list("1", had, []NAT{{External: "10.19.41.201", MAC: &mac}}); outside != had["lab-external"].MAC || floating != mac {
		t.Errorf("what is there changes to %s, and %s", outside, floating)
	}
	had["lab-external"] = RouterPort{Name: "lab-external", MAC: outside.(string)}
	if again, _ := list("1", had, nil); again != outside {
		t.Errorf("it is %s, and %s at the next time", outside, again)
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

func TestOVNHasOneFailover(t *testing.T) {
	t.Parallel()
	rows := routerRows{global: &Global{UUID: "g", Options: map[string]string{"bfd-mult": "5", "mac_prefix": "aa:bb"}}, router: &RouterRow{Name: "lab"}}
	fast := &Failover{IntervalMS: 200, Multiplier: 3}
	if _, err := rows.putFailover(fast); err == nil || !strings.Contains(err.Error(), "somebody has set OVN's failover already, bfd-mult = 5") {
		t.Errorf("what a person set is taken: %v", err)
	}
	rows.global.ExternalIDs = map[string]string{failoverKey: "what a router that is gone had"}
	if operations, err := rows.putFailover(fast); err != nil || len(operations) != 2 || len(operations[1].Mutations) != 4 {
		t.Errorf("%v, %v", operations, err)
	}
	if operations, err := rows.putFailover(nil); err != nil || len(operations) > 0 {
		t.Errorf("what a person set goes with a router that has no failover: %v, %v", operations, err)
	}
	rows.others = []RouterRow{{Name: "other", ExternalIDs: map[string]string{failoverKey: (&Failover{500, 5}).formatNote()}}}
	rows.router.ExternalIDs = map[string]string{failoverKey: fast.formatNote()}
	if operations, err := rows.putFailover(nil); err != nil || len(operations) > 0 {
		t.Errorf("what another router wants goes: %v, %v", operations, err)
	}
}

// Whoever removes a router by `ovn-nbctl lr-del` leaves what leads to it, and OVN's failover.
func TestWhatARemovedRouterLeftGoes(t *testing.T) {
	t.Parallel()
	rows := rowsOf(map[string]string{"nodes": "10.50.0.1/24", "dmz": "10.51.0.1/24"})
	rows.global = &Global{UUID: "g", Options: map[string]string{"bfd-mult": "3"}, ExternalIDs: map[string]string{failoverKey: "200 ms, 3 times"}}
	rows.peers["nodes"] = Port{UUID: "peer"}
	list := func() (words []string) {
		operations, err := routerThing{name: "lab"}.dropRows(rows, &Northbound{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range operations {
			words = append(words, o.Op+" "+o.Table)
		}
		return words
	}
	if got, want := list(), []string{"wait NB_Global", "mutate NB_Global", "mutate Logical_Switch", "delete Logical_Switch_Port"}; !slices.Equal(got, want) {
		t.Errorf("done are %q, want %q", got, want)
	}
	rows.others = []RouterRow{{Name: "other", ExternalIDs: map[string]string{failoverKey: "200 ms, 3 times"}}}
	if got := list(); slices.Contains(got, "mutate NB_Global") {
		t.Errorf("what another router wants goes: %q", got)
	}
}

func TestRoutersHaveOneFailover(t *testing.T) {
	t.Parallel()
	fast, slow := &Failover{IntervalMS: 200, Multiplier: 3}, &Failover{IntervalMS: 500, Multiplier: 5}
	here, elsewhere := owner.Mark{ID: "1", Workspace: owner.Workspace()}.String(), owner.Mark{ID: "2", Workspace: "elsewhere"}.String()
	planned := func(other *Failover) Planned {
		return Planned{Routers: map[string]Router{"lab": {Name: "lab", Failover: fast}, "other": {Name: "other", Failover: other}}}
	}
	for name, c := range map[string]struct {
		mark    string
		is      *Failover
		planned Planned
		refused bool
	}{
		"another state's has the same":            {elsewhere, fast, Planned{}, false},
		"another state's has another":             {elsewhere, slow, Planned{}, true},
		"both change together":                    {here, slow, planned(fast), false},
		"both change together, and are applied":   {here, slow, Planned{}, false},
		"the other one gives it up":               {here, slow, planned(nil), false},
		"the other one changes to another":        {here, fast, planned(slow), true},
		"the other one leaves":                    {here, slow, Planned{Routers: map[string]Router{"lab": {Name: "lab", Failover: fast}}}, false},
		"the other one is not chosen, and stays":  {here, slow, Planned{Stays: func(owner.Mark) bool { return true }}, true},
		"a person's router that the plan changes": {"", slow, planned(fast), false},
		"another state's, which no plan here has": {elsewhere, slow, Planned{Routers: map[string]Router{"lab": {Name: "lab", Failover: fast}}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := routerRows{others: []RouterRow{{Name: "other", ExternalIDs: map[string]string{markKey: c.mark, failoverKey: c.is.formatNote()}}}}
			if err := rows.checkFailover(Router{Name: "lab", Failover: fast}, c.planned); (err != nil) != c.refused {
				t.Errorf("%v", err)
			}
			if err := rows.checkFailover(Router{Name: "lab"}, c.planned); err != nil {
				t.Errorf("without a failover: %v", err)
			}
		})
	}
}

func TestChildrenBecomeWhatIsWanted(t *testing.T) {
	t.Parallel()
	has := keyRows([]StaticRoute{{UUID: "u1", Prefix: "10.1.0.0/16", Via: "10.0.0.1"}, {UUID: "u2", Prefix: "10.2.0.0/16", Via: "10.0.0.1"}, {UUID: "u3", Prefix: "10.3.0.0/16", Via: "10.0.0.1"}}, func(r *StaticRoute) string {
		return map[string]string{"u1": "stays", "u2": "changes", "u3": "goes"}[r.UUID]
	})
	route := func(prefix, via string) child {
		return child{columns: map[string]any{"ip_prefix": prefix, "nexthop": via}}
	}
	want := map[string]child{"stays": route("10.1.0.0/16", "10.0.0.1"), "changes": route("10.2.0.0/16", "10.0.0.2"), "comes": route("10.4.0.0/16", "10.0.0.1")}
	operations := putChildren(&StaticRoute{}, &RouterRow{}, "router", "static_routes", has, want)
	var done []string
	for _, o := range operations {
		done = append(done, o.Op)
	}
	if got := strings.Join(done, " "); got != "update insert mutate mutate delete" {
		t.Errorf("%s: %+v", got, operations)
	}
	same := map[string]child{"stays": want["stays"], "changes": route("10.2.0.0/16", "10.0.0.1"), "goes": route("10.3.0.0/16", "10.0.0.1")}
	if again := putChildren(&StaticRoute{}, &RouterRow{}, "router", "static_routes", has, same); len(again) > 0 {
		t.Errorf("nothing to change, and yet %+v", again)
	}
}

func TestNetworkHasTheBalancersOfItsRouter(t *testing.T) {
	t.Parallel()
	r := rowsOf(map[string]string{"nodes": "10.50.0.1/24", "dmz": "10.51.0.1/24"})
	nodes := r.networks["nodes"]
	nodes.Balancers = []string{"web", "persons"}
	r.networks["nodes"] = nodes
	r.peers["nodes"] = Port{UUID: "peer", Type: "router", Addresses: []string{"router"}, Options: map[string]string{"router-port": "lab-nodes"}}
	r.balancers = []Balancer{{UUID: "web", ExternalIDs: map[string]string{markKey: "owner=a"}}, {UUID: "persons"}}
	changed := func(networks ...string) (words []string) {
		for _, o := range (routerThing{name: "lab"}).putPeers(r, networks) {
			for _, m := range o.Mutations {
				if m.Column == "load_balancer" {
					words = append(words, fmt.Sprintf("%v %s %v", o.Where[0].Value, m.Mutator, m.Value.(ovsdb.OvsSet).GoSet))
				}
			}
		}
		return words
	}
	if got := changed("nodes", "dmz"); !slices.Equal(got, []string{"{dmz} insert [{web}]"}) {
		t.Errorf("a network more: %q", got)
	}
	if got := changed(); !slices.Equal(got, []string{"{nodes} delete [{web}]"}) {
		t.Errorf("none: %q", got)
	}
	if got := changed("nodes"); len(got) > 0 {
		t.Errorf("as it is: %q", got)
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

func TestPortOfAPersonIsNotTheRoutersOwn(t *testing.T) {
	t.Parallel()
	thing, here := routerThing{name: "lab"}, owner.Mark{ID: "1", Workspace: "a"}
	rows := rowsOf(map[string]string{"nodes": "10.50.0.1/24"})
	rows.router = &RouterRow{Name: "lab"}
	for name, want := range map[string]bool{"lab-nodes": true, "lab-external": true, "lab-persons": false, "persons": false, "nodes": false} {
		t.Run("of a person's router: "+name, func(t *testing.T) {
			if got := thing.isOwnPort(rows, RouterPort{Name: name}); got != want {
				t.Errorf("%s: %t", name, got)
			}
		})
	}
	rows.router = &RouterRow{Name: "lab", ExternalIDs: map[string]string{markKey: here.String()}}
	for name, c := range map[string]struct {
		ids  map[string]string
		want bool
	}{
		"its own":                              {map[string]string{routerKey: "lab", markKey: here.String()}, true},
		"of a router of this state that went":  {map[string]string{routerKey: "lab", markKey: owner.Mark{ID: "2", Workspace: "a"}.String()}, true},
		"of another state's, which went":       {map[string]string{routerKey: "lab", markKey: owner.Mark{ID: "2", Workspace: "b"}.String()}, false},
		"of another router":                    {map[string]string{routerKey: "other", markKey: here.String()}, false},
		"a person's, which has a network name": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := thing.isOwnPort(rows, RouterPort{Name: "lab-nodes", ExternalIDs: c.ids}); got != c.want {
				t.Errorf("%t", got)
			}
		})
	}
	if thing.isOwn(nil, map[string]string{routerKey: "lab", markKey: owner.Mark{ID: "2", Workspace: "elsewhere"}.String()}) {
		t.Error("what another state's router left is this one's")
	}
}

func TestWhatAPersonHasARouterDoIsNotDoneTwice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		nat   []NAT
		route []StaticRoute
		want  string
	}{
		"nothing":                    {nil, nil, ""},
		"something else":             {[]NAT{{Type: "snat", External: "10.19.41.222", Logical: "10.99.0.0/24"}}, []StaticRoute{{Prefix: "10.140.0.0/14", Via: "10.50.0.9"}}, ""},
		"a network":                  {[]NAT{{Type: "snat", External: "10.19.41.200", Logical: "10.50.0.0/24"}}, nil, "translate so already, snat 10.19.41.200 10.50.0.0/24"},
		"a floating address":         {[]NAT{{Type: "dnat_and_snat", External: "10.19.41.201", Logical: "10.50.0.99"}}, nil, "translate so already, dnat_and_snat"},
		"a port of a router address": {[]NAT{{Type: "dnat", External: "10.19.41.200", Logical: "10.50.0.99"}}, nil, ""},
		"a route":                    {nil, []StaticRoute{{Prefix: "10.128.0.0/14", Via: "10.50.0.9"}}, "lead to 10.128.0.0/14"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := connectedRows()
			rows.router.ExternalIDs = map[string]string{markKey: owner.Mark{ID: "1", Workspace: "a"}.String()}
			rows.foreignNAT, rows.foreignRoutes = c.nat, c.route
			if err := (routerThing{name: "lab"}).checkForeign(rows, lab()); (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestColumnsOfRowsAndOperationsCompare(t *testing.T) {
	t.Parallel()
	group := "g"
	row := &RouterPort{UUID: "u", Name: "lab-nodes", Networks: []string{"10.50.0.1/24", "fd00::1/64"}, Group: &group}
	for name, c := range map[string]struct {
		want map[string]any
		same bool
	}{
		"all of it":         {map[string]any{"name": "lab-nodes", "networks": texts("fd00::1/64", "10.50.0.1/24"), "ha_chassis_group": references("g")}, true},
		"another text":      {map[string]any{"name": "lab-dmz"}, false},
		"a set with less":   {map[string]any{"networks": texts("10.50.0.1/24")}, false},
		"no reference":      {map[string]any{"ha_chassis_group": references()}, false},
		"nothing is wanted": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := hasColumns(row, c.want); got != c.same {
				t.Errorf("%t", got)
			}
		})
	}
	if ids := &(NAT{}); !hasColumns(ids, map[string]any{"external_mac": texts(), "logical_port": texts()}) {
		t.Error("a column that is not there is not an empty one")
	}
	if !hasColumns(&Port{Options: map[string]string{"a": "1", "b": "2"}}, map[string]any{"options": pairs(map[string]string{"b": "2", "a": "1"})}) {
		t.Error("maps are compared by their order")
	}
}

func TestWayOutIsToldToItsNeighbours(t *testing.T) {
	t.Parallel()
	_, operations := (routerThing{name: "lab"}).putOutside(routerRows{}, lab())
	for _, o := range operations {
		if o.Row["name"] == "lab-external-lab" && fmt.Sprint(o.Row["options"]) == fmt.Sprint(pairs(map[string]string{"router-port": "lab-external", "nat-addresses": "router"})) {
			return
		}
	}
	t.Errorf("no port to the router tells its addresses: %+v", operations)
}

func TestALoneWayOutIsWarnedOf(t *testing.T) {
	t.Parallel()
	out := func(chassis ...string) Router {
		return Router{External: &External{BridgeMapping: "lan", Chassis: chassis}}
	}
	for name, c := range map[string]struct {
		router  Router
		chassis int
		warned  bool
	}{
		"one of three":       {out("a"), 3, true},
		"one of two":         {out("a"), 2, true},
		"the only one":       {out("a"), 1, false},
		"nobody knows":       {out("a"), 0, false},
		"two of three":       {out("a", "b"), 3, false},
		"without an outside": {Router{}, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.router.WarnOfLoneGateway(c.chassis); (len(got) > 0) != c.warned {
				t.Errorf("%v", got)
			}
		})
	}
}
