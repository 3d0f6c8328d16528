package planregistry

import (
	"net/netip"
	"testing"
)

func TestSubnetsOfANetworkOfThePlan(t *testing.T) {
	var s Subnets
	subnet := netip.MustParsePrefix("10.0.0.0/24")
	s.Replace(`network "n"`, "kvm1", subnet)
	if got, ok := s.Find("kvm1", "n"); !ok || len(got) != 1 || got[0] != subnet {
		t.Errorf("got %v, %t", got, ok)
	}
	if _, ok := s.Find("kvm2", "n"); ok {
		t.Error("a network of the same name on another hypervisor is taken for it")
	}
	s.Replace(`network "n"`, "kvm2", netip.MustParsePrefix("10.0.1.0/24"))
	if got, ok := s.Find("kvm1", "n"); !ok || len(got) != 1 || got[0] != subnet {
		t.Errorf("a network of the same name on another hypervisor takes its place: %v, %t", got, ok)
	}
	if got := s.Replace(`network "other"`, "kvm1", subnet); len(got) != 1 {
		t.Errorf("the overlap is not seen any more: %v", got)
	}
	if _, ok := s.Find("kvm1", "m"); ok {
		t.Error("a network that the plan does not have is there")
	}
	s.Replace(`network "half"`, "kvm1", netip.MustParsePrefix("fd00::/64"), netip.Prefix{})
	if got, ok := s.Find("kvm1", "half"); ok || got != nil {
		t.Errorf("a network with a subnet that is not known has %v", got)
	}
	if got := s.Replace(`network "third"`, "kvm1", netip.MustParsePrefix("192.0.2.0/24"), netip.Prefix{}); got != nil {
		t.Errorf("what is not known overlaps: %v", got)
	}
}

func TestSubnetsOfAnyHypervisorOverlapThoseOfEach(t *testing.T) {
	pods, nodes := netip.MustParsePrefix("10.128.0.0/14"), netip.MustParsePrefix("10.128.5.0/24")
	for _, first := range []string{AnyHypervisor, "kvm2"} {
		var s Subnets
		second := map[string]string{AnyHypervisor: "kvm2", "kvm2": AnyHypervisor}[first]
		s.Replace("first", first, pods)
		if got := s.Replace("second", second, nodes); len(got) != 1 || got[0].Holder != "first" {
			t.Errorf("%s, then %s: %v", first, second, got)
		}
		s.Replace("third", "kvm3", netip.MustParsePrefix("10.0.0.0/24"))
		if got := s.Replace("fourth", "kvm4", netip.MustParsePrefix("10.0.0.0/24")); len(got) != 0 {
			t.Errorf("two hypervisors have a subnet each: %v", got)
		}
	}
}
