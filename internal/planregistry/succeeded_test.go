package planregistry

import "testing"

func TestANetworkThatGoesIsOneOfItsHypervisor(t *testing.T) {
	var s Succeeded
	if s.Has("qemu:///system", "1") {
		t.Error("a network goes before a plan says so")
	}
	s.Put("qemu:///system", "1")
	if !s.Has("qemu:///system", "1") || s.Has("qemu:///system", "2") || s.Has("qemu+ssh://other/system", "1") {
		t.Error("another network goes")
	}
}
