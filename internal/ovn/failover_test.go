package ovn

import (
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

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
