package ovn

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

func addressOf(text string) netip.Addr { return netip.MustParseAddr(text) }

// outsideAt is a router on the network of the chassis that others of sharedAddresses are on.
func outsideAt(name, address string, floating ...string) Router {
	r := Router{Name: name, External: &External{BridgeMapping: "lan", Address: netip.MustParsePrefix(address)}, Floating: map[string]Floating{}}
	for _, outside := range floating {
		r.Floating[outside] = Floating{Inside: addressOf("10.53.0.9")}
	}
	return r
}

func TestRouterAtAnAddressThatSomebodyHas(t *testing.T) {
	t.Parallel()
	lab := outsideAt("lab", "10.19.41.1/24", "10.19.41.11")
	lab.Networks = []string{"nodes", "dmz", "shared"}
	with := func(change func(*Router)) Router {
		r := outsideAt("lab", "10.19.41.1/24", "10.19.41.11")
		r.Networks = lab.Networks
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		want, was Router
		planned   Planned
		says      string
	}{
		"nothing new":                      {want: lab, was: lab},
		"another router's address":         {want: outsideAt("new", "10.19.41.2/24"), says: `router "other" has 10.19.41.2 on network "lan" of the chassis already`},
		"another router's that it has had": {want: outsideAt("new", "10.19.41.2/24"), was: outsideAt("new", "10.19.41.2/24")},
		"another router's floating address": {
			want: outsideAt("new", "10.19.41.9/24", "10.19.41.12"), says: `router "other" has 10.19.41.12`,
		},
		"where another router's load balancer listens": {want: outsideAt("new", "10.19.41.80/24"), says: `load balancer "theirs" of router "other" listens at 10.19.41.80:80`},
		"a floating address where it listens":          {want: outsideAt("new", "10.19.41.9/24", "10.19.41.80"), says: `load balancer "theirs" of router "other"`},
		"an address of a network inside of that":       {want: outsideAt("new", "10.52.0.80/24")},
		"where its own load balancer listens":          {want: with(func(r *Router) { r.Floating["10.50.0.101"] = Floating{} }), was: lab, says: `load balancer "api" of router "lab" listens at 10.50.0.101`},
		"on another network of the chassis":            {want: Router{Name: "new", External: &External{BridgeMapping: "dmz", Address: netip.MustParsePrefix("10.19.41.2/24")}}},
		"another one's of the plan, which gives it up": {
			want: outsideAt("new", "10.19.41.2/24"), planned: Planned{Routers: map[string]Router{"other": outsideAt("other", "10.19.41.3/24")}},
		},
		"nobody's": {want: outsideAt("new", "10.19.41.99/24", "10.19.41.98")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := sharedAddresses().checkRouter(c.want, c.was, c.planned); (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// What another router of this state has, the plan has too, or gives up, unless it was not chosen.
func TestWhatWasNotChosenStays(t *testing.T) {
	here := owner.Mark{ID: "3", Workspace: owner.Workspace()}
	rows := func() balancerRows {
		rows := sharedAddresses()
		rows.others[0].ExternalIDs = map[string]string{markKey: here.String()}
		other := rows.routers["other"]
		other.ExternalIDs = map[string]string{markKey: here.String()}
		rows.routers["other"] = other
		return rows
	}
	web := LoadBalancer{Name: "web", Router: "lab", Protocol: "tcp", VIPs: map[string][]string{"10.50.0.100:6443": {"10.50.0.12:6443"}}}
	for name, chosen := range map[string]bool{"of a whole plan": false, "of a plan of chosen resources": true} {
		t.Run(name, func(t *testing.T) {
			planned := Planned{}
			if chosen {
				planned.Stays = func(m owner.Mark) bool { return m.ID == here.ID }
			}
			if err := rows().checkAddresses(web, planned); (err != nil) != chosen || chosen && !strings.Contains(err.Error(), `load balancer "api" listens at 10.50.0.100:6443`) {
				t.Errorf("a load balancer: %v", err)
			}
			if err := rows().checkRouter(outsideAt("new", "10.19.41.2/24"), Router{}, planned); (err != nil) != chosen {
				t.Errorf("a router: %v", err)
			}
		})
	}
}

func TestNetworkWhoseGatewayLeadsElsewhere(t *testing.T) {
	t.Parallel()
	network := func(name, cidr, gateway string) Network {
		return Network{Name: name, Mode: Translated, CIDR: netip.MustParsePrefix(cidr), Gateway: addressOf(gateway)}
	}
	bridged := func(gateway string) Network {
		return Network{Name: "lan", Mode: Bridged, BridgeMapping: "lan", CIDR: netip.MustParsePrefix("10.19.41.0/24"), Gateway: addressOf(gateway)}
	}
	for name, c := range map[string]struct {
		want Network
		says string
	}{
		"where a load balancer listens":         {network("nodes", "10.50.0.0/24", "10.50.0.100"), `load balancer "api" of router "lab" listens at 10.50.0.100:6443`},
		"where another router's does":           {network("shared", "10.52.0.0/24", "10.52.0.80"), `load balancer "theirs" of router "other" listens at 10.52.0.80:80`},
		"where one listens that is apart":       {network("again", "10.50.0.0/24", "10.50.0.100"), ""},
		"the address of a router":               {network("shared", "10.52.0.0/24", "10.52.0.2"), ""},
		"a floating address":                    {bridged("10.19.41.12"), `router "other" has 10.19.41.12`},
		"where a load balancer listens outside": {bridged("10.19.41.80"), `load balancer "theirs"`},
		"a router of OVN on a bridged network":  {bridged("10.19.41.2"), ""},
		"nobody's":                              {network("nodes", "10.50.0.0/24", "10.50.0.254"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := sharedAddresses().checkNetwork(c.want, Planned{}); (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}
