package planregistry

import (
	"net/netip"
	"slices"
	"testing"
)

func TestAWholeAddressAndPortsOfItAreInEachOthersWay(t *testing.T) {
	var e Exposures
	outside, other := netip.MustParseAddr("10.19.41.9"), netip.MustParseAddr("10.19.41.8")
	for _, step := range []struct {
		holder, node string
		address      netip.Addr
		whole        bool
		want         []string
	}{
		{"f", "a", outside, true, nil},
		{"f", "a", outside, true, nil}, // planned again
		{"e", "a", outside, false, []string{"f"}},
		{"g", "a", outside, false, []string{"f"}}, // ports beside ports are another matter
		{"f", "a", outside, true, []string{"e", "g"}},
		{"h", "b", outside, true, nil},
		{"f", "a", other, true, nil},
		{"e", "a", outside, false, nil},
	} {
		if got := e.Replace(step.holder, step.node, step.whole, step.address); !slices.Equal(got, step.want) {
			t.Errorf("%+v: %v", step, got)
		}
	}
}
