package ovn

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// slaacBits is the length of the networks in which guests make their own addresses (RFC 4862): the other half of an address is the card's.
const slaacBits = 64

// prefixOption is the key of other_config of a switch under which OVN has its network of IPv6, and draws addresses from it.
const prefixOption = "ipv6_prefix"

// ipv6Of returns the network of IPv6 that a switch has; invalid for none.
func ipv6Of(s *Switch) netip.Prefix {
	a, err := netip.ParseAddr(s.OtherConfig[prefixOption])
	if err != nil || !a.Is6() {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(a, slaacBits).Masked()
}

// formatIPv6 is the network of IPv6 as other_config of a switch has it, "" for none.
func (n Network) formatIPv6() string {
	if !n.IPv6CIDR.IsValid() {
		return ""
	}
	return n.IPv6CIDR.Addr().String()
}

// slaacAddress returns the address that a guest makes of a network and its MAC address (RFC 4291, appendix A); invalid of none.
func slaacAddress(on netip.Prefix, mac string) netip.Addr {
	card, err := net.ParseMAC(mac)
	if !on.IsValid() || err != nil || len(card) != 6 {
		return netip.Addr{}
	}
	b := on.Addr().As16()
	copy(b[8:], []byte{card[0] ^ 2, card[1], card[2], 0xff, 0xfe, card[3], card[4], card[5]})
	return netip.AddrFrom16(b)
}

// withSLAAC returns texts of a port, each of which is a MAC address and addresses, with the addresses that guests make of one network and without
// those that they make of another one. OVN draws those of texts that have it draw addresses; and a port that may send from any address may send
// from these.
func withSLAAC(all []string, was, now netip.Prefix, mayBeAny bool) []string {
	changed := []string{}
	for _, text := range all {
		words := strings.Fields(text)
		if len(words) == 0 || slices.Contains(words, "dynamic") {
			changed = append(changed, text)
			continue
		}
		if old := slaacAddress(was, words[0]); old.IsValid() {
			words = slices.DeleteFunc(words, func(word string) bool { return word == old.String() })
		}
		if own := slaacAddress(now, words[0]); own.IsValid() && !slices.Contains(words, own.String()) && (!mayBeAny || len(words) > 1) {
			words = append(words, own.String())
		}
		changed = append(changed, strings.Join(words, " "))
	}
	return changed
}

// changeSLAAC returns what a port of a machine has for other addresses of IPv6, by columns; nil where it has that already.
func (p *Port) changeSLAAC(was, now netip.Prefix) map[string]any {
	if p.ExternalIDs[machineKey] == "" {
		return nil
	}
	addresses, security := withSLAAC(p.Addresses, was, now, false), withSLAAC(p.PortSecurity, was, now, true)
	if slices.Equal(addresses, p.Addresses) && slices.Equal(security, p.PortSecurity) {
		return nil
	}
	return map[string]any{"addresses": texts(addresses...), "port_security": texts(security...)}
}

// lacksSLAAC says whether a port of a machine on the network lacks its address of IPv6: then the network does not have its network of IPv6 as it was
// wanted.
func (r networkRows) lacksSLAAC() bool {
	on := ipv6Of(r.network)
	return on.IsValid() && slices.ContainsFunc(r.others, func(p Port) bool { return p.changeSLAAC(netip.Prefix{}, on) != nil })
}

// putSLAAC has the ports of machines have their addresses of another network of IPv6.
func (r networkRows) putSLAAC(want Network) (operations []ovsdb.Operation) {
	for _, p := range r.others {
		if columns := p.changeSLAAC(ipv6Of(r.network), want.IPv6CIDR); columns != nil {
			operations = append(operations, update(NorthDB, &p, p.UUID, columns))
		}
	}
	return operations
}

// hideSLAAC has a port that was read name the address that its guest makes apart from those that it was given.
func (p *GuestPort) hideSLAAC(on netip.Prefix) {
	own := slaacAddress(on, p.MAC)
	if !own.IsValid() {
		return
	}
	if slices.Contains(p.Addresses, own) || p.Drawn.IsValid() {
		p.IPv6 = own
	}
	p.Addresses = slices.DeleteFunc(p.Addresses, func(a netip.Addr) bool { return a == own })
	p.Allowed = slices.DeleteFunc(p.Allowed, func(text string) bool { return text == own.String() })
}

// routerAddresses returns the addresses that a router has on a network: the gateway, and the first address of its network of IPv6. A network whose
// cidr has no gateway has none.
func routerAddresses(s *Switch) (all []netip.Prefix) {
	if four := gatewayOf(s); four.IsValid() {
		all = append(all, four)
	} else if s.OtherConfig["subnet"] != "" {
		return nil
	}
	if six := ipv6Of(s); six.IsValid() {
		all = append(all, netip.PrefixFrom(six.Addr().Next(), slaacBits))
	}
	return all
}

// formatAdvertisement is what a router tells the guests of a network, by which they make their addresses of IPv6 and know their way out (ovn-nb(5),
// ipv6_ra_configs). Guests that run hear of a change within a minute.
func formatAdvertisement(s *Switch) map[string]string {
	if !ipv6Of(s).IsValid() {
		return map[string]string{}
	}
	return withoutEmpty(map[string]string{"address_mode": "slaac", "send_periodic": "true", "min_interval": "20", "max_interval": "60", "mtu": s.ExternalIDs[mtuKey]})
}

// isRouterOf says whether a port of a router has the addresses on a network, and tells its guests, what is wanted.
func (p *RouterPort) isRouterOf(s *Switch) bool {
	want := textsOf(routerAddresses(s))
	return len(want) > 0 && slices.Equal(slices.Sorted(slices.Values(p.Networks)), slices.Sorted(slices.Values(want))) && maps.Equal(withoutEmpty(p.Advertises), formatAdvertisement(s))
}
