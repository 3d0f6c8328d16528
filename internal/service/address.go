package service

import (
	"fmt"
	"net/netip"
)

// ParseAddress reads an IPv4 or IPv6 address that goes into a configuration file. A zone ("fe80::1%eth0") is refused: Go takes
// any text for one, line breaks and braces included, and a daemon would read it as configuration.
func ParseAddress(text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%q is no IPv4 or IPv6 address", text)
	}
	if a.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("%q has a zone, which is not supported: write an address without %%", text)
	}
	return a, nil
}
