package planregistry

import (
	"net/netip"
	"testing"
)

func TestSubnetsOfOneHypervisorMustNotOverlap(t *testing.T) {
	var s Subnets
	wide, narrow := netip.MustParsePrefix("10.0.0.0/16"), netip.MustParsePrefix("10.0.5.0/24")
	if got := s.Replace("a", "", wide); got != nil {
		t.Error(got)
	}
	if got := s.Replace("b", "other", narrow); got != nil {
		t.Error("another hypervisor's network is in the way:", got)
	}
	if got := s.Replace("c", "", narrow); len(got) != 1 || got[0] != (Overlap{narrow, wide, "a"}) {
		t.Error(got)
	}
	if got := s.Replace("a", "", netip.MustParsePrefix("10.1.0.0/16")); got != nil {
		t.Error("planning a network again collides with its own former subnet:", got)
	}
	if got := s.Replace("c", "", narrow); got != nil {
		t.Error("a subnet that was given up is in the way:", got)
	}
}
