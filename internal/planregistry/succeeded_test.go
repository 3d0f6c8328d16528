package planregistry

import "testing"

func TestANetworkThatGoesIsOneOfItsHypervisor(t *testing.T) {
	var s Succeeded
	if s.Has("qemu:///system", "1") {
		t.Error("a network goes before a plan says so")
	}
	s.Put("qemu:///system", "1", Succession{First: true})
	if !s.Has("qemu:///system", "1") || s.Has("qemu:///system", "2") || s.Has("qemu+ssh://other/system", "1") {
		t.Error("another network goes")
	}
	if by, goes := s.Find("qemu:///system", "1"); !goes || !by.First {
		t.Error("how it is replaced is lost")
	}
}
