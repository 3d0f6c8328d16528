package ovn

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestGuestsMakeAddressesOfTheirMACAddresses(t *testing.T) {
	t.Parallel()
	one, other := netip.MustParsePrefix("fd00:50::/64"), netip.MustParsePrefix("fd00:51::/64")
	for what, c := range map[string]struct {
		was, now netip.Prefix
		security bool
		has      string
		want     string
	}{
		"a port that was given an address":             {netip.Prefix{}, one, false, "52:54:00:50:00:01 10.50.0.11", "52:54:00:50:00:01 10.50.0.11 fd00:50::5054:ff:fe50:1"},
		"a port with a MAC address alone":              {netip.Prefix{}, one, false, "52:54:00:50:00:01", "52:54:00:50:00:01 fd00:50::5054:ff:fe50:1"},
		"a port that OVN draws addresses for":          {netip.Prefix{}, one, false, "52:54:00:50:00:01 dynamic", "52:54:00:50:00:01 dynamic"},
		"whatever else it sends from":                  {netip.Prefix{}, one, false, "unknown", "unknown"},
		"what may be sent from":                        {netip.Prefix{}, one, true, "52:54:00:50:00:01 10.50.0.11", "52:54:00:50:00:01 10.50.0.11 fd00:50::5054:ff:fe50:1"},
		"any address may be sent from":                 {netip.Prefix{}, one, true, "52:54:00:50:00:01", "52:54:00:50:00:01"},
		"a network that has another network of IPv6":   {one, other, false, "52:54:00:50:00:01 10.50.0.11 fd00:50::5054:ff:fe50:1", "52:54:00:50:00:01 10.50.0.11 fd00:51::5054:ff:fe50:1"},
		"a network that has none any more":             {one, netip.Prefix{}, false, "52:54:00:50:00:01 fd00:50::5054:ff:fe50:1", "52:54:00:50:00:01"},
		"an address that is there already":             {netip.Prefix{}, one, false, "52:54:00:50:00:01 fd00:50::5054:ff:fe50:1", "52:54:00:50:00:01 fd00:50::5054:ff:fe50:1"},
		"a network that never had one":                 {netip.Prefix{}, netip.Prefix{}, false, "52:54:00:50:00:01 10.50.0.11", "52:54:00:50:00:01 10.50.0.11"},
		"a further address in the network stays there": {one, other, false, "52:54:00:50:00:01 fd00:50::7", "52:54:00:50:00:01 fd00:50::7 fd00:51::5054:ff:fe50:1"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if got := withSLAAC([]string{c.has}, c.was, c.now, c.security); !slices.Equal(got, []string{c.want}) {
				t.Errorf("%q becomes %q, want %q", c.has, got, c.want)
			}
		})
	}
}

// A port is read as it was wanted, whether or not its network has IPv6, and a network whose ports lack what it has of IPv6 does not have that.
func TestAPortOfANetworkOfIPv6IsReadAsItWasWanted(t *testing.T) {
	t.Parallel()
	on := Network{Name: "nodes", CIDR: netip.MustParsePrefix("10.50.0.0/24"), IPv6CIDR: netip.MustParsePrefix("fd00:50::/64")}
	s := &Switch{OtherConfig: withoutEmpty(on.otherConfig()), ExternalIDs: map[string]string{}}
	for what, want := range map[string]GuestPort{
		"secure": {MAC: "52:54:00:50:00:01", DHCP: true, Secure: true, Addresses: []netip.Addr{netip.MustParseAddr("10.50.0.11")}, Allowed: []string{"10.50.0.5"}},
		"open":   {MAC: "52:54:00:50:00:01", DHCP: true, Addresses: []netip.Addr{netip.MustParseAddr("10.50.0.11")}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			columns := want.formatColumns(on)
			row := &Port{Addresses: plainValue(columns["addresses"]).([]string), PortSecurity: plainValue(columns["port_security"]).([]string), ExternalIDs: map[string]string{machineKey: "6b0f5b0e"}}
			got := GuestPort{}
			got.readRow(row)
			got.hideSLAAC(ipv6Of(s))
			if got.IPv6 != netip.MustParseAddr("fd00:50::5054:ff:fe50:1") || !slices.Equal(got.Addresses, want.Addresses) || !slices.Equal(got.Allowed, want.Allowed) || got.Secure != want.Secure {
				t.Errorf("it is read as %+v", got)
			}
			if (networkRows{network: s, others: []Port{*row}}).lacksSLAAC() {
				t.Errorf("%v lacks its address", row.Addresses)
			}
			row.Addresses[0] = "52:54:00:50:00:01 10.50.0.11"
			lacking := networkRows{network: s, others: []Port{*row}}
			if !lacking.lacksSLAAC() {
				t.Error("nobody sees that the address is gone")
			}
			if mended := fmt.Sprint(lacking.putSLAAC(on)); !strings.Contains(mended, "fd00:50::5054:ff:fe50:1") {
				t.Errorf("it is mended by %s", mended)
			}
		})
	}
}

// A router has the gateway of a network and the first address of its network of IPv6, and tells guests of that.
func TestARouterAdvertisesANetworkOfIPv6(t *testing.T) {
	t.Parallel()
	with := func(cidr, gateway, six string) *Switch {
		s := &Switch{OtherConfig: map[string]string{}, ExternalIDs: map[string]string{gatewayKey: gateway, mtuKey: "1442"}}
		for key, value := range map[string]string{"subnet": cidr, prefixOption: six} {
			if value != "" {
				s.OtherConfig[key] = value
			}
		}
		return s
	}
	for what, c := range map[string]struct {
		on   *Switch
		want []string
	}{
		"both families":     {with("10.50.0.0/24", "10.50.0.1", "fd00:50::"), []string{"10.50.0.1/24", "fd00:50::1/64"}},
		"IPv4":              {with("10.50.0.0/24", "10.50.0.1", ""), []string{"10.50.0.1/24"}},
		"IPv6":              {with("", "", "fd00:50::"), []string{"fd00:50::1/64"}},
		"no gateway":        {with("10.50.0.0/24", "", "fd00:50::"), []string{}},
		"a person's prefix": {with("10.50.0.0/24", "10.50.0.1", "what"), []string{"10.50.0.1/24"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if got := textsOf(routerAddresses(c.on)); !slices.Equal(got, c.want) {
				t.Errorf("a router has %v, want %v", got, c.want)
			}
			port := &RouterPort{Networks: c.want, Advertises: formatAdvertisement(c.on)}
			if got := port.isRouterOf(c.on); got != (len(c.want) > 0) {
				t.Errorf("a port with %v is its router: %t", c.want, got)
			}
			if port.Advertises = map[string]string{"address_mode": "dhcpv6_stateful"}; port.isRouterOf(c.on) {
				t.Error("one that says something else is its router")
			}
		})
	}
}
