package ovn

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// sharedAddresses are three routers: lab and another one are on one network of the chassis, and on one inside; apart has the networks of lab's addresses
// again, with nothing in common.
func sharedAddresses() balancerRows {
	network := func(name, uuid, gateway string, ports ...string) Switch {
		return Switch{UUID: uuid, Name: name, Ports: ports, OtherConfig: map[string]string{"subnet": netip.MustParsePrefix(gateway + "/24").Masked().String()}, ExternalIDs: map[string]string{gatewayKey: gateway}}
	}
	nodes, dmz, shared := network("nodes", "n", "10.50.0.1", "n-lab"), network("dmz", "d", "10.51.0.1", "d-lab"), network("shared", "s", "10.52.0.1", "s-lab", "s-other")
	again := network("again", "a", "10.50.0.1", "a-apart")
	udp := "udp"
	return balancerRows{
		switches: []Switch{nodes, dmz, shared, again, {Name: "lab-external", Ports: []string{"x-lab", "l-lab"}}, {Name: "other-external", Ports: []string{"x-other", "l-other"}}},
		networks: map[string][]Switch{"lab": {nodes, dmz, shared}, "apart": {again}},
		peers: []Port{
			{UUID: "n-lab", Options: map[string]string{"router-port": "lab-nodes"}}, {UUID: "d-lab", Options: map[string]string{"router-port": "lab-dmz"}},
			{UUID: "s-lab", Options: map[string]string{"router-port": "lab-shared"}}, {UUID: "s-other", Options: map[string]string{"router-port": "other-shared"}},
			{UUID: "a-apart", Options: map[string]string{"router-port": "apart-again"}},
			{UUID: "x-lab", Options: map[string]string{"router-port": "lab-external"}}, {UUID: "x-other", Options: map[string]string{"router-port": "other-external"}},
		},
		localnets: []Port{{UUID: "l-lab", Options: map[string]string{"network_name": "lan"}}, {UUID: "l-other", Options: map[string]string{"network_name": "lan"}}},
		routerPorts: []RouterPort{
			{UUID: "1", Name: "lab-nodes", Networks: []string{"10.50.0.1/24"}}, {UUID: "2", Name: "lab-dmz", Networks: []string{"10.51.0.1/24"}}, {UUID: "3", Name: "lab-shared", Networks: []string{"10.52.0.1/24"}},
			{UUID: "4", Name: "lab-external", Networks: []string{"10.19.41.1/24"}}, {UUID: "5", Name: "other-external", Networks: []string{"10.19.41.2/24"}},
			{UUID: "6", Name: "other-shared", Networks: []string{"10.52.0.2/24"}}, {UUID: "7", Name: "apart-again", Networks: []string{"10.50.0.1/24", "10.50.0.3/24"}},
		},
		nat: []NAT{
			{UUID: "f-lab", Type: "dnat_and_snat", External: "10.19.41.11", Logical: "10.50.0.11"}, {UUID: "f-other", Type: "dnat_and_snat", External: "10.19.41.12", Logical: "10.52.0.12"},
			{UUID: "s-lab", Type: "snat", External: "10.19.41.1", Logical: "10.50.0.0/24"},
		},
		routers: map[string]RouterRow{
			"lab":   {Name: "lab", Ports: []string{"1", "2", "3", "4"}, NAT: []string{"f-lab", "s-lab"}, Balancers: []string{"b-api", "b-own"}},
			"other": {Name: "other", Ports: []string{"5", "6"}, NAT: []string{"f-other"}, Balancers: []string{"b-theirs"}},
			"apart": {Name: "apart", Ports: []string{"7"}, Balancers: []string{"b-apart"}},
		},
		others: []Balancer{
			{UUID: "b-api", Name: "api", VIPs: map[string]string{"10.50.0.100:6443": "10.50.0.11:6443", "10.50.0.101": "10.50.0.11"}},
			{UUID: "b-own", Name: "dns", Protocol: &udp, VIPs: map[string]string{"10.50.0.100:53": "10.50.0.11:53"}, ExternalIDs: map[string]string{markKey: owner.Mark{ID: "1", Workspace: "another"}.String()}},
			{UUID: "b-theirs", Name: "theirs", VIPs: map[string]string{"10.19.41.80:80": "10.52.0.12:80", "10.52.0.80:80": "10.52.0.12:80"}},
			{UUID: "b-apart", Name: "apart", VIPs: map[string]string{"10.50.0.102:80": "10.50.0.12:80"}},
		},
	}
}

func TestLoadBalancerAtAnAddressThatSomebodyHas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ vip, protocol, want string }{
		"its network's gateway":              {"10.50.0.1:80", "tcp", `gateway of network "nodes", which router "lab" has`},
		"another network's gateway":          {"10.51.0.1:80", "tcp", `gateway of network "dmz", which router "lab" has`},
		"the router's address outside":       {"10.19.41.1:80", "tcp", `address of router "lab" on network "lan" of the chassis`},
		"a floating address of the router":   {"10.19.41.11:80", "tcp", `floating address of router "lab", which leads to 10.50.0.11`},
		"another router's address inside":    {"10.52.0.2:80", "tcp", `router "other" has 10.52.0.2 on network "shared"`},
		"another router's address outside":   {"10.19.41.2:80", "tcp", `router "other" has 10.19.41.2 on network "lan" of the chassis`},
		"another router's floating address":  {"10.19.41.12:80", "tcp", `floating address of router "other" on network "lan" of the chassis, which leads to 10.52.0.12`},
		"another load balancer's address":    {"10.50.0.100:6443", "tcp", `load balancer "api" listens at 10.50.0.100:6443 on router "lab"`},
		"another one's, at all ports":        {"10.50.0.101:6443", "udp", `load balancer "api" listens at 10.50.0.101 on router "lab"`},
		"another one's, of another port":     {"10.50.0.100:80", "tcp", ""},
		"another one's, of another protocol": {"10.50.0.100:53", "tcp", ""},
		"another router's, of any port":      {"10.19.41.80:443", "tcp", `load balancer "theirs" of router "other" listens at 10.19.41.80:80 on network "lan" of the chassis`},
		"another router's, on their network": {"10.52.0.80:443", "tcp", `load balancer "theirs" of router "other" listens at 10.52.0.80:80 on network "shared"`},
		"another router's that is apart":     {"10.50.0.102:80", "tcp", ""},
		"another router's own that is apart": {"10.50.0.3:80", "tcp", ""},
		"nobody's":                           {"10.50.0.200:80", "tcp", ""},
		"nobody's, in no network":            {"10.60.0.1:80", "tcp", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := LoadBalancer{Name: "web", Router: "lab", Protocol: c.protocol, VIPs: map[string][]string{c.vip: {"10.50.0.11:8080"}}}
			if err := sharedAddresses().checkAddresses(b, Planned{}); (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestLoadBalancerIsComparedWithThePlansAddresses(t *testing.T) {
	t.Parallel()
	planned := Planned{
		Networks: []Network{{Name: "nodes", CIDR: netip.MustParsePrefix("10.50.0.0/24"), Gateway: netip.MustParseAddr("10.50.0.254")}},
		Routers: map[string]Router{
			"lab": {Name: "lab", Networks: []string{"nodes"}, External: &External{BridgeMapping: "lan", Address: netip.MustParsePrefix("10.19.41.1/24")}},
			"new": {
				Name: "new", External: &External{BridgeMapping: "lan", Address: netip.MustParsePrefix("10.19.41.9/24")},
				Floating: map[string]Floating{"10.19.41.19": {Inside: netip.MustParseAddr("10.53.0.9")}},
			},
		},
		Balancers: []LoadBalancer{
			{Name: "web", Router: "lab", Protocol: "tcp", VIPs: map[string][]string{"10.50.0.200:80": nil}},
			{Name: "second", Router: "lab", Protocol: "tcp", VIPs: map[string][]string{"10.50.0.201:80": nil}},
			{Name: "outside", Router: "new", Protocol: "tcp", VIPs: map[string][]string{"10.19.41.90:80": nil}},
		},
	}
	for name, c := range map[string]struct{ vip, want string }{
		"its own address":                  {"10.50.0.200:80", ""},
		"another one's of the plan":        {"10.50.0.201:80", `load balancer "second" listens`},
		"another one's outside":            {"10.19.41.90:443", `load balancer "outside" of router "new"`},
		"the gateway that a network gets":  {"10.50.0.254:80", `gateway of network "nodes"`},
		"the gateway that it gives up":     {"10.50.0.1:80", ""},
		"the address of a new router":      {"10.19.41.9:80", `router "new" has 10.19.41.9`},
		"a floating address of that":       {"10.19.41.19:80", `floating address of router "new"`},
		"a floating address that is gone":  {"10.19.41.11:80", ""},
		"another router's that is not new": {"10.19.41.12:80", `floating address of router "other"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := sharedAddresses()
			rows.overlayPlan(planned)
			b := LoadBalancer{Name: "web", Router: "lab", Protocol: "tcp", VIPs: map[string][]string{c.vip: {"10.50.0.11:8080"}}}
			if err := rows.checkAddresses(b, planned); (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
