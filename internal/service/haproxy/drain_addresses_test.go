package haproxy

import (
	"net/netip"
	"slices"
	"testing"
)

func TestServersAtAnAddressAreFoundThatTakeConnections(t *testing.T) {
	t.Parallel()
	table := serverTable{
		"api":     {"m1": {address: "10.0.0.11"}, "m2": {address: "10.0.0.12"}},
		"ingress": {"m1": {address: "10.0.0.11", drain: true}, "m1-6": {address: "fd00::11"}, "named": {address: "-"}},
		"machine": {"m1": {address: "10.0.0.11"}, "off": {address: "10.0.0.11", maint: true}},
	}
	got := table.listAt([]netip.Addr{netip.MustParseAddr("10.0.0.11"), netip.MustParseAddr("fd00::11")})
	if want := []ServerRef{{"api", "m1"}, {"ingress", "m1-6"}, {"machine", "m1"}}; !slices.Equal(got, want) {
		t.Errorf("found %v", got)
	}
}
