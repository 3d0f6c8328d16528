package ovn

import (
	"fmt"
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
