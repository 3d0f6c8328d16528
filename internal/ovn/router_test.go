package ovn

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

func lab() Router {
	return Router{
		Name: "lab", Networks: []string{"dmz", "nodes"}, SNAT: true,
		External: &External{BridgeMapping: "lan", Address: netip.MustParsePrefix("10.19.41.200/24"), Gateway: netip.MustParseAddr("10.19.41.254"), Chassis: []string{"a", "b", "c"}},
		Floating: map[string]Floating{"10.19.41.201": {netip.MustParseAddr("10.50.0.12")}},
		Routes:   []Route{{netip.MustParsePrefix("10.128.0.0/14"), netip.MustParseAddr("10.50.0.9")}},
	}
}

// rowsOf are the rows around a router that is not there yet.
func rowsOf(networks map[string]string) routerRows {
	r := routerRows{ports: map[string]RouterPort{}, peers: map[string]Port{}, networks: map[string]Switch{}}
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
		"Invalid address":                            func(r *Router) { r.Floating = map[string]Floating{"fd00::1": {netip.MustParseAddr("10.50.0.12")}} },
		"Address of the router":                      func(r *Router) { r.Floating = map[string]Floating{"10.19.41.200": {netip.MustParseAddr("10.50.0.12")}} },
		"Invalid network":                            func(r *Router) { r.Routes[0].CIDR = netip.MustParsePrefix("10.128.0.1/14") },
		"No network to translate":                    func(r *Router) { r.Networks = nil },
		"Address of another family":                  func(r *Router) { r.Routes[0].Via = netip.MustParseAddr("fd00::9") },
		"Route described twice":                      func(r *Router) { r.Routes[0].CIDR = netip.MustParsePrefix("0.0.0.0/0") },
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
	thing := routerThing{"lab"}
	ports, err := thing.ports(rows, lab(), "group")
	if err != nil || len(ports) != 3 || ports["lab-nodes"].columns["networks"].(ovsdb.OvsSet).GoSet[0] != "10.50.0.1/24" || ports["lab-external"].columns["mac"] == ports["lab-nodes"].columns["mac"] {
		t.Errorf("%v, %v", ports, err)
	}
	if nat := thing.nat(rows, lab()); len(nat) != 3 || nat["snat 10.19.41.200 10.51.0.0/24"].columns == nil || nat["dnat_and_snat 10.19.41.201 10.50.0.12"].columns == nil {
		t.Errorf("%v", nat)
	}
	if routes := thing.routes(lab()); len(routes) != 2 || routes["0.0.0.0/0 10.19.41.254"].columns == nil {
		t.Errorf("%v", routes)
	}
	rows.others = map[string][]RouterPort{"dmz": {{Name: "mine-dmz", Networks: []string{"10.51.0.1/24"}}}, "nodes": {{Name: "mine-nodes", Networks: []string{"10.50.0.2/24"}}}}
	if _, err := thing.ports(rows, lab(), ""); err == nil || !strings.Contains(err.Error(), `port "mine-dmz" of another router has 10.51.0.1`) {
		t.Errorf("two routers have one address: %v", err)
	}
	for said, networks := range map[string]map[string]string{
		"overlaps": {"nodes": "10.50.0.1/24", "dmz": "10.50.0.129/25"}, "no network": {"nodes": "10.50.0.1/24"}, "overlaps network \"lab-external\"": {"nodes": "10.50.0.1/24", "dmz": "10.19.0.1/16"},
	} {
		t.Run(said, func(t *testing.T) {
			if _, err := thing.ports(rowsOf(networks), lab(), ""); err == nil || !strings.Contains(err.Error(), strings.Split(said, " \"")[0]) {
				t.Errorf("%v: %v", networks, err)
			}
		})
	}
	bare := rowsOf(map[string]string{"nodes": "10.50.0.1/24", "dmz": "10.51.0.1/24"})
	delete(bare.networks["nodes"].ExternalIDs, gatewayKey)
	if _, err := thing.ports(bare, lab(), ""); err == nil || !strings.Contains(err.Error(), "no gateway") {
		t.Errorf("a network without a gateway: %v", err)
	}
}

func TestChildrenBecomeWhatIsWanted(t *testing.T) {
	t.Parallel()
	route := func(uuid, prefix, via string) child {
		return child{uuid, map[string]any{"ip_prefix": prefix, "nexthop": via}}
	}
	has := map[string]child{"stays": route("u1", "10.1.0.0/16", "10.0.0.1"), "changes": route("u2", "10.2.0.0/16", "10.0.0.1"), "goes": route("u3", "10.3.0.0/16", "10.0.0.1")}
	want := map[string]child{"stays": route("", "10.1.0.0/16", "10.0.0.1"), "changes": route("", "10.2.0.0/16", "10.0.0.2"), "comes": route("", "10.4.0.0/16", "10.0.0.1")}
	operations := putChildren(&StaticRoute{}, &RouterRow{}, "router", "static_routes", has, want)
	var done []string
	for _, o := range operations {
		done = append(done, o.Op)
	}
	if got := strings.Join(done, " "); got != "update insert mutate mutate delete" {
		t.Errorf("%s: %+v", got, operations)
	}
	if again := putChildren(&StaticRoute{}, &RouterRow{}, "router", "static_routes", has, has); len(again) > 0 {
		t.Errorf("nothing to change, and yet %+v", again)
	}
}
