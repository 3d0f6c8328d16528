package planregistry

import (
	"net/netip"
	"testing"
)

func TestAReservedAddressInARangeOfItsNetworkIsFoundWhicheverComesFirst(t *testing.T) {
	run := Range{Start: netip.MustParseAddr("10.0.0.210"), End: netip.MustParseAddr("10.0.0.240")}
	inside, outside := netip.MustParseAddr("10.0.0.210"), netip.MustParseAddr("10.0.0.209")

	var r Ranges
	if got := r.ReplaceReserved("a", "", "uuid", inside); got != nil {
		t.Fatalf("no range yet: %v", got)
	}
	if got := r.ReplaceDynamic("other", []string{"n", "uuid"}, run); got != nil {
		t.Fatalf("another hypervisor's network: %v", got)
	}
	if got := r.ReplaceDynamic("", []string{"n", "uuid"}, run); len(got) != 1 || got[0] != (Reserved{inside, run, "a"}) {
		t.Fatalf("the network comes second: %v", got)
	}
	if got := r.ReplaceReserved("b", "", "n", outside, inside); len(got) != 1 || got[0] != (Reserved{inside, run, "b"}) {
		t.Fatalf("the network comes first: %v", got)
	}
	if got := r.ReplaceReserved("b", "", "m", inside); got != nil {
		t.Fatalf("another network: %v", got)
	}
	r.ReplaceReserved("a", "", "uuid")
	if got := r.ReplaceDynamic("", []string{"n", "uuid"}, run); got != nil {
		t.Fatalf("addresses that were given up: %v", got)
	}
}

func TestARangeWithAnUnknownEndHoldsNothing(t *testing.T) {
	a := netip.MustParseAddr("fd00::5")
	for _, run := range []Range{{End: netip.MustParseAddr("fd00::9")}, {Start: netip.MustParseAddr("fd00::1")}, {}} {
		if run.Contains(a) {
			t.Errorf("%s is in %v", a, run)
		}
	}
}
