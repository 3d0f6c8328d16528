package ovn

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// planView is a plan that has networks and routers, by the ids of their objects.
type planView map[string]any

func (v planView) List(kind plan.Kind) (all []plan.Held) {
	for id, of := range v {
		_, isRouter := of.(Router)
		_, isBalancer := of.(LoadBalancer)
		if isRouter == (kind == plan.OVNRouter) && isBalancer == (kind == plan.OVNLoadBalancer) {
			all = append(all, plan.Held{Holder: plan.Holder{Object: id}, Use: plan.Use{Kind: kind, Of: of}})
		}
	}
	return all
}

func (planView) Find(plan.Use) (holder plan.Holder, found bool) { return holder, false }

func TestAPlanIsAskedForWhatItHasInOneDatabase(t *testing.T) {
	t.Parallel()
	got := FindPlanned(planView{
		"ssh://a#network/nodes": Network{Name: "nodes"}, "ssh://b#network/dmz": Network{Name: "dmz"},
		"ssh://a#router/lab": Router{Name: "lab"}, "ssh://b#router/other": Router{Name: "other"},
		"ssh://a#load_balancer/web": LoadBalancer{Name: "web"}, "ssh://b#load_balancer/api": LoadBalancer{Name: "api"},
	}, "ssh://a")
	if _, there := got.Routers["lab"]; len(got.Networks) != 1 || got.Networks[0].Name != "nodes" || len(got.Routers) != 1 || !there || len(got.Balancers) != 1 || got.Balancers[0].Name != "web" {
		t.Errorf("got %+v", got)
	}
}

func TestNetworksOfAPlanAreComparedBehindItsRouter(t *testing.T) {
	t.Parallel()
	planned := func(name, cidr, gateway string) Network {
		return Network{Name: name, CIDR: netip.MustParsePrefix(cidr), Gateway: netip.MustParseAddr(gateway)}
	}
	for name, c := range map[string]struct {
		there   map[string]string
		planned []Network
		want    string
	}{
		"both are planned":                {nil, []Network{planned("nodes", "10.50.0.0/24", "10.50.0.1"), planned("dmz", "10.51.0.0/24", "10.51.0.1")}, ""},
		"both are planned and overlap":    {nil, []Network{planned("nodes", "10.50.0.0/24", "10.50.0.1"), planned("dmz", "10.50.0.128/25", "10.50.0.129")}, "overlaps"},
		"one is there":                    {map[string]string{"nodes": "10.50.0.1/24"}, []Network{planned("dmz", "10.50.0.128/25", "10.50.0.129")}, "overlaps"},
		"one is there, and gives way":     {map[string]string{"nodes": "10.50.0.1/24", "dmz": "10.50.0.129/25"}, []Network{planned("dmz", "10.51.0.0/24", "10.51.0.1")}, ""},
		"one is there, another state's":   {map[string]string{"nodes": "10.50.0.1/24", "dmz": "10.50.0.129/25"}, nil, "overlaps"},
		"one is there, this state's":      {map[string]string{"nodes": "10.50.0.1/24", "dmz": "10.50.0.129/25"}, nil, ""},
		"none is known":                   {nil, nil, ""},
		"one overlaps the way out":        {nil, []Network{planned("nodes", "10.19.41.0/25", "10.19.41.1")}, "overlaps"},
		"one that is planned, no gateway": {nil, []Network{{Name: "nodes", CIDR: netip.MustParsePrefix("10.50.0.0/24")}}, "no gateway"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := rowsOf(c.there)
			rows.global = &Global{}
			if strings.Contains(name, "this state's") {
				rows.networks["dmz"].ExternalIDs[markKey] = owner.Mark{ID: "1", Workspace: owner.Workspace()}.String()
			}
			if err := (routerThing{name: "lab"}).checkRows(rows, lab(), Planned{Networks: c.planned}); (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestLoadBalancerIsComparedWithThePlannedRouter(t *testing.T) {
	t.Parallel()
	guest := netip.MustParseAddr("10.50.0.11")
	for name, c := range map[string]struct {
		vip         string
		router      string
		distributed bool
		want        string
	}{
		"outside":                          {"10.19.41.210:80", "lab", true, "distributed = false"},
		"outside, translated by one":       {"10.19.41.210:80", "lab", false, ""},
		"in a network of the router":       {"10.50.0.100:80", "lab", true, ""},
		"a router that the plan knows not": {"10.19.41.210:80", "other", true, ""},
		"in a network that is there":       {"10.51.0.100:80", "there", true, ""},
		"outside of one that is there":     {"10.19.41.210:80", "there", true, "distributed = false"},
		"beside a network that is nowhere": {"10.19.41.210:80", "nowhere", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			planned := Planned{
				Networks: []Network{{Name: "nodes", CIDR: netip.MustParsePrefix("10.50.0.0/24")}},
				Routers:  map[string]Router{},
			}
			for router, network := range map[string]string{"lab": "nodes", "there": "dmz", "nowhere": "none"} {
				planned.Routers[router] = Router{Name: router, Networks: []string{network}, Floating: map[string]Floating{"10.19.41.201": {Inside: guest, Distributed: c.distributed}}}
			}
			there := []Switch{{Name: "dmz", OtherConfig: map[string]string{"subnet": "10.51.0.0/24"}}}
			err := LoadBalancer{Router: c.router, VIPs: map[string][]string{c.vip: {"10.50.0.11:8080"}}}.checkPlanned(planned, there)
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// heldView is a plan that has the uses of its holders.
type heldView []plan.Held

func (v heldView) List(kind plan.Kind) (all []plan.Held) {
	for _, held := range v {
		if held.Kind == kind {
			all = append(all, held)
		}
	}
	return all
}

func (heldView) Find(plan.Use) (holder plan.Holder, found bool) { return holder, false }

func TestAPlanSaysHowLargePacketsWillBe(t *testing.T) {
	t.Parallel()
	on := func(id string, kind plan.Kind, mtu string) plan.Held {
		return plan.Held{Holder: plan.Holder{Object: id}, Use: plan.Use{Kind: kind, For: mtu}}
	}
	v := heldView{
		on("ssh://known", plan.OVN, ""), on("ssh://known", plan.OVNMTU, "8942"),
		on("ssh://none", plan.OVN, ""), on("ssh://none", plan.OVNMTU, ""),
		on("ssh://undecided", plan.OVN, ""),
	}
	for id, want := range map[string]struct {
		mtu     int64
		planned bool
	}{"ssh://known": {8942, true}, "ssh://none": {usualMTU, true}, "ssh://undecided": {0, true}, "ssh://elsewhere": {0, false}} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			if mtu, planned := FindPlannedMTU(v, id); mtu != want.mtu || planned != want.planned {
				t.Errorf("got %d, %v, want %+v", mtu, planned, want)
			}
		})
	}
}
