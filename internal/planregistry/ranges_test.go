package planregistry

import (
	"net/netip"
	"testing"
)

func TestAVirtualAddressInADHCPRangeIsFoundWhicheverComesFirst(t *testing.T) {
	run := Range{Start: netip.MustParseAddr("10.0.0.210"), End: netip.MustParseAddr("10.0.0.240")}
	inside, outside := netip.MustParseAddr("10.0.0.240"), netip.MustParseAddr("10.0.0.250")

	var r Ranges
	if got := r.ReplaceRanges("network n", run); got != nil {
		t.Fatalf("no virtual address yet: %v", got)
	}
	if got := r.ReplaceVirtual("VIP a", outside, netip.MustParseAddr("fd00::1")); got != nil {
		t.Fatalf("outside of the range: %v", got)
	}
	if got := r.ReplaceVirtual("VIP a", inside); len(got) != 1 || got[0].Network != "network n" {
		t.Fatalf("inside the range: %v", got)
	}
	if got := r.ReplaceRanges("network n", run); len(got) != 1 || got[0].Holder != "VIP a" {
		t.Fatalf("the network comes second: %v", got)
	}
	r.ReplaceVirtual("VIP a", outside)
	if got := r.ReplaceRanges("network n", run); got != nil {
		t.Fatalf("an address that was given up: %v", got)
	}
}
