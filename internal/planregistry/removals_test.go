package planregistry

import (
	"net/netip"
	"testing"
)

func TestAnAddressLeadsToWhatListensThere(t *testing.T) {
	api, web := netip.MustParseAddr("10.0.0.250"), netip.MustParseAddr("10.0.0.251")
	var r Removals
	if r.IsReached("one", []netip.Addr{api}) {
		t.Error("nothing goes, and an address leads to it")
	}
	r.Put("one", []netip.Addr{api})
	r.Put("two", []netip.Addr{netip.IPv6Unspecified()})
	for _, c := range []struct {
		node    string
		address netip.Addr
		want    bool
	}{{"one", api, true}, {"one", web, false}, {"two", web, true}, {"three", api, false}} {
		if got := r.IsReached(c.node, []netip.Addr{c.address}); got != c.want {
			t.Errorf("%s at %s: %t", c.node, c.address, got)
		}
	}
}
