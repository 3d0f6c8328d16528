package planregistry

import (
	"net/netip"
	"testing"
)

func TestThingsOfTwoKindsHaveNoAddressInCommon(t *testing.T) {
	here := Placement{"ssh://root@svc-1", netip.MustParseAddr("10.0.0.1")}
	there := Placement{"ssh://root@svc-2", here.Address}
	for _, second := range []struct {
		name, kind string
		place      Placement
		conflicts  int
	}{
		{"another kind", "bridge", here, 1}, {"the same kind", "VIP", here, 0}, {"another machine", "bridge", there, 0},
	} {
		t.Run(second.name, func(t *testing.T) {
			var p Placements
			if got := p.Replace("VIP", "VIP a", here); got != nil {
				t.Error(got)
			}
			got := p.Replace(second.kind, "the other", second.place)
			if len(got) != second.conflicts || len(got) > 0 && got[0] != (Misplaced{here, "VIP a"}) {
				t.Error(got)
			}
			p.Replace("VIP", "VIP a")
			if got := p.Replace(second.kind, "the other", second.place); got != nil {
				t.Errorf("what was given up: %v", got)
			}
		})
	}
}
