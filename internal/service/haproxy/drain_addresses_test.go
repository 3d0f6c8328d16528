package haproxy

import (
	"net/netip"
	"slices"
	"testing"
)

func TestServersAtAnAddressAreFoundByWhetherTheyDrain(t *testing.T) {
	t.Parallel()
	table := serverTable{
		"api":     {"m1": {address: "10.0.0.11"}, "m2": {address: "10.0.0.12"}},
		"ingress": {"m1": {address: "10.0.0.11", drain: true}, "m1-6": {address: "fd00::11"}, "named": {address: "-"}},
		"machine": {"m1": {address: "10.0.0.11"}, "off": {address: "10.0.0.11", maint: true}},
	}
	addresses := []netip.Addr{netip.MustParseAddr("10.0.0.11"), netip.MustParseAddr("fd00::11")}
	if got, want := table.listAt(addresses, false), []ServerRef{{"api", "m1"}, {"ingress", "m1-6"}, {"machine", "m1"}}; !slices.Equal(got, want) {
		t.Errorf("those that take connections are %v", got)
	}
	if got, want := table.listAt(addresses, true), []ServerRef{{"ingress", "m1"}}; !slices.Equal(got, want) {
		t.Errorf("those that drain are %v", got)
	}
}
