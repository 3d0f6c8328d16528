package planregistry

import (
	"net/netip"
	"testing"
)

func TestAListedAddressIsFoundByAnyNameOfItsNetwork(t *testing.T) {
	var l Listed
	ip := netip.MustParseAddr("10.0.0.5")
	l.Replace("", []string{"okd", "5e1a64ae-0000-4000-8000-00000000a1b2"}, map[netip.Addr]string{ip: "52:54:00:00:00:05"})
	for _, name := range []string{"okd", "5e1a64ae-0000-4000-8000-00000000a1b2"} {
		if got := l.MAC("", name, ip); got != "52:54:00:00:00:05" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := l.MAC("other", "okd", ip) + l.MAC("", "other", ip); got != "" {
		t.Errorf("another network lists it for %s", got)
	}
	l.Replace("", []string{"okd"}, nil)
	if got := l.MAC("", "okd", ip); got != "" {
		t.Errorf("what a network does not list any more is listed for %s", got)
	}
}
