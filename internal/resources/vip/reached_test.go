package vip

import (
	"net/netip"
	"testing"

	planuses "github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan/ledger"
)

func TestAnAddressLeadsToWhatListensThere(t *testing.T) {
	t.Parallel()
	api, web := netip.MustParseAddr("10.0.0.250"), netip.MustParseAddr("10.0.0.251")
	var l ledger.Ledger
	if isReached(&l, "one", []netip.Addr{api}) {
		t.Error("nothing goes, and an address leads to it")
	}
	goes := func(node string, a netip.Addr) {
		l.Note(planuses.Use{Verb: planuses.Gives, Kind: planuses.RemovedListener, On: node, Value: a.String()})
	}
	goes("one", api)
	goes("two", netip.IPv6Unspecified())
	for _, c := range []struct {
		node    string
		address netip.Addr
		want    bool
	}{{"one", api, true}, {"one", web, false}, {"two", web, true}, {"three", api, false}} {
		t.Run(c.node+" at "+c.address.String(), func(t *testing.T) {
			t.Parallel()
			if got := isReached(&l, c.node, []netip.Addr{c.address}); got != c.want {
				t.Errorf("%t", got)
			}
		})
	}
}
