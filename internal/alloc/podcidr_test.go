package alloc

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestANodeThatLeavesChangesNoOthersCIDR(t *testing.T) {
	t.Parallel()
	cidr := netip.MustParsePrefix("10.128.0.0/14")
	five, err := PodCIDRs(cidr, 23, nil, []string{"n5", "n3", "n1", "n2", "n4"})
	if err != nil || five["n1"] != netip.MustParsePrefix("10.128.0.0/23") || five["n5"] != netip.MustParsePrefix("10.128.8.0/23") {
		t.Fatalf("%v %v", five, err)
	}
	four, err := PodCIDRs(cidr, 23, five, []string{"n1", "n3", "n4", "n5"})
	if err != nil || len(four) != 4 {
		t.Fatalf("%v %v", four, err)
	}
	for name, p := range four {
		if p != five[name] {
			t.Errorf("%s had %s and has %s", name, five[name], p)
		}
	}
	back, err := PodCIDRs(cidr, 23, four, []string{"n0", "n1", "n3", "n4", "n5"})
	if err != nil || back["n0"] != five["n2"] {
		t.Errorf("a new node takes %s, %v", back["n0"], err)
	}
}

func TestPodCIDRsAreDistinctAndStay(t *testing.T) {
	t.Parallel()
	cidr := netip.MustParsePrefix("10.0.0.0/20")
	rapid.Check(t, func(t *rapid.T) {
		had := map[string]netip.Prefix{}
		for range 6 {
			var names []string
			for i := range 16 {
				if rapid.Bool().Draw(t, "there") {
					names = append(names, fmt.Sprint("n", i))
				}
			}
			now, err := PodCIDRs(cidr, 24, had, names)
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for name, p := range now {
				all = append(all, p.String())
				if before, ok := had[name]; ok && before != p {
					t.Fatalf("%s moved from %s to %s", name, before, p)
				}
			}
			slices.Sort(all)
			if len(slices.Compact(all)) != len(names) {
				t.Fatalf("%v", now)
			}
			had = now
		}
	})
}

func TestTooManyNodesForAPodNetwork(t *testing.T) {
	t.Parallel()
	if _, err := PodCIDRs(netip.MustParsePrefix("10.0.0.0/23"), 24, nil, []string{"a", "b", "c"}); err == nil {
		t.Error("three subnets of two")
	}
	if _, err := PodCIDRs(netip.MustParsePrefix("10.0.0.0/23"), 22, nil, []string{"a"}); err == nil {
		t.Error("a subnet larger than the network")
	}
}
