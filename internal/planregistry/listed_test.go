package planregistry

import (
	"net/netip"
	"testing"
)

func TestAListedAddressIsFoundByAnyNameOfItsNetwork(t *testing.T) {
	var l Listed
	const uuid = "5e1a64ae-0000-4000-8000-00000000a1b2"
	ip := netip.MustParseAddr("10.0.0.5")
	l.Replace("", []string{"okd", uuid}, map[netip.Addr]string{ip: "52:54:00:00:00:05"})
	for _, name := range []string{"okd", uuid} {
		got := l.ReplaceKept("node", Kept{Network: name, Address: ip, MAC: "52:54:00:00:00:06"})
		if len(got) != 1 || got[0].Listed != "52:54:00:00:00:05" {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := l.ReplaceKept("node", Kept{Hypervisor: "other", Network: "okd", Address: ip, MAC: "06"}, Kept{Network: "other", Address: ip, MAC: "06"}, Kept{Network: "okd", Address: ip, MAC: "52:54:00:00:00:05"}); got != nil {
		t.Errorf("another network, or the same machine: %v", got)
	}
	l.Replace("", []string{"okd"}, nil)
	if got := l.ReplaceKept("node", Kept{Network: "okd", Address: ip, MAC: "52:54:00:00:00:06"}); got != nil {
		t.Errorf("what a network does not list any more: %v", got)
	}
}

func TestANetworkLearnsWhoKeepsWhatItLists(t *testing.T) {
	var l Listed
	ip := netip.MustParseAddr("10.0.0.5")
	l.ReplaceKept("a", Kept{Network: "okd", Address: ip, MAC: "52:54:00:00:00:06"})
	l.ReplaceKept("b", Kept{Network: "green", Address: ip, MAC: "52:54:00:00:00:07"})
	listed := map[netip.Addr]string{ip: "52:54:00:00:00:05"}
	if got := l.Replace("", []string{"okd"}, listed); len(got) != 1 || got[0].Holder != "a" || got[0].Kept.MAC != "52:54:00:00:00:06" {
		t.Errorf("%v", got)
	}
	l.ReplaceKept("a")
	if got := l.Replace("", []string{"okd"}, listed); got != nil {
		t.Errorf("what is kept no more: %v", got)
	}
}
