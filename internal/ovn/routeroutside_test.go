package ovn

import (
	"slices"
	"testing"
)

// An interval is what chassis receive at and what they send at: whichever is not what was asked for is read.
func TestFailoverThatAPersonChangedShows(t *testing.T) {
	t.Parallel()
	router := &RouterRow{Name: "lab", ExternalIDs: map[string]string{failoverKey: (&Failover{200, 3}).formatNote()}}
	for name, test := range map[string]struct {
		rx, tx string
		want   int64
	}{"as asked for": {"200", "200", 200}, "they receive more seldom": {"1000", "200", 1000}, "they send more seldom": {"200", "1000", 1000}, "they send as OVN does": {"200", "", 0}} {
		t.Run(name, func(t *testing.T) {
			got := failoverOf(router, &Global{Options: map[string]string{"bfd-min-rx": test.rx, "bfd-min-tx": test.tx, "bfd-mult": "3"}})
			if got == nil || got.IntervalMS != test.want || got.Multiplier != 3 {
				t.Errorf("it is %+v, want %d", got, test.want)
			}
		})
	}
}

// Chassis are the way out as far as the port that leads there refers to them.
func TestWayOutWithoutItsChassisShows(t *testing.T) {
	t.Parallel()
	own, other := "g", "another"
	rows := routerRows{
		outside: []Port{{Type: "router"}, {Type: "localnet", Options: map[string]string{"network_name": "lan"}}},
		group:   &ChassisGroup{UUID: own}, members: []GroupMember{{Chassis: "b", Priority: 1}, {Chassis: "a", Priority: 2}},
	}
	for name, test := range map[string]struct {
		group *string
		want  []string
	}{"its group": {&own, []string{"a", "b"}}, "no group": {nil, nil}, "another group": {&other, nil}} {
		t.Run(name, func(t *testing.T) {
			var got Router
			got.readExternal(rows, RouterPort{Networks: []string{"10.19.41.200/24"}, Group: test.group})
			if got.External == nil || got.External.BridgeMapping != "lan" || !slices.Equal(got.External.Chassis, test.want) {
				t.Errorf("it is %+v, want the chassis %v", got.External, test.want)
			}
		})
	}
}
