package cloudinit

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// Interface is one interface as the guest shall configure it.
type Interface struct {
	// Name inside the guest, given by MAC address. "eth0".
	Name, MAC string
	// DHCP4 and DHCP6 say which addresses the guest asks for.
	DHCP4, DHCP6 bool
	Addresses    []netip.Prefix
	// Gateway of the default route; the zero value means none.
	Gateway     netip.Addr
	Routes      []Route
	Nameservers []netip.Addr
	// MTU in bytes; 0 means the default.
	MTU int64
}

// Route is a static route inside the guest.
type Route struct {
	To  netip.Prefix
	Via netip.Addr
}

// NetworkConfig renders version 2 of cloud-init's network configuration. It keeps to what cloud-init
// translates for every distribution: default routes are written as prefixes, because older renderers do
// not know the word "default".
func NetworkConfig(interfaces []Interface) string {
	var b strings.Builder
	b.WriteString("version: 2\nethernets:\n")
	if len(interfaces) == 0 {
		return "version: 2\nethernets: {}\n"
	}
	for _, i := range interfaces {
		name := spellName(i.Name)
		fmt.Fprintf(&b, "  %s:\n    match:\n      macaddress: %q\n    set-name: %s\n", name, i.MAC, name)
		fmt.Fprintf(&b, "    dhcp4: %t\n    dhcp6: %t\n", i.DHCP4, i.DHCP6)
		if i.MTU != 0 {
			fmt.Fprintf(&b, "    mtu: %d\n", i.MTU)
		}
		if len(i.Addresses) > 0 {
			b.WriteString("    addresses:\n")
			for _, a := range i.Addresses {
				fmt.Fprintf(&b, "      - %q\n", a)
			}
		}
		writeRoutes(&b, i)
		if len(i.Nameservers) > 0 {
			b.WriteString("    nameservers:\n      addresses:\n")
			for _, n := range i.Nameservers {
				fmt.Fprintf(&b, "        - %q\n", n)
			}
		}
	}
	return b.String()
}

// spellName returns the name of an interface as YAML takes it for a text. Only a name that would be something else, such as "on" or "10",
// is quoted: the others stay as guests that have booted were told them.
func spellName(name string) string {
	if token.IsNeedQuoted(name) {
		return strconv.Quote(name)
	}
	return name
}

func writeRoutes(b *strings.Builder, i Interface) {
	routes := i.Routes
	if i.Gateway.IsValid() {
		everything := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if i.Gateway.Is6() {
			everything = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
		routes = append([]Route{{To: everything, Via: i.Gateway}}, routes...)
	}
	if len(routes) == 0 {
		return
	}
	b.WriteString("    routes:\n")
	for _, r := range routes {
		fmt.Fprintf(b, "      - to: %q\n        via: %q\n", r.To, r.Via)
	}
}
