package planregistry

import (
	"slices"
	"testing"
)

func TestAVolumeThatGoesIsNoDisk(t *testing.T) {
	var d Disks
	if gone := d.ReplaceUses("node a", "", "/v", "/w"); gone != nil {
		t.Errorf("nothing goes: %v", gone)
	}
	if got := d.Remove("", "/v"); !slices.Equal(got, []string{"node a"}) {
		t.Errorf("who has it: %v", got)
	}
	if got := d.ReplaceUses("node a", "", "/w"); got != nil {
		t.Errorf("the machine has let go of it: %v", got)
	}
	if got := d.ReplaceUses("node b", "", "/v"); !slices.Equal(got, []string{"/v"}) {
		t.Errorf("it goes: %v", got)
	}
	if got := d.ReplaceUses("node b", "kvm2", "/v"); got != nil {
		t.Errorf("another hypervisor's goes: %v", got)
	}
}
