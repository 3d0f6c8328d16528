package node

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// filter is a network filter as libvirt takes it.
type filter struct{ name, xml string }

// filterName is the network filter of one interface: libvirt wants filters named, and this one is the node's own.
func filterName(node, mac string) string {
	return "virtcluster-" + node + "-" + strings.ReplaceAll(mac, ":", "")
}

// antiSpoofing is a network filter that passes only what an interface may send: frames from its own MAC
// address, ARP and IP packets from its own addresses and the allowed ones. What arrives is not filtered.
// DHCP passes, because who asks for an address has none yet; so does asking whether an address is free
// (RFC 5227, RFC 4862).
func antiSpoofing(node, mac string, i *interfaceModel) filter {
	f := filter{name: filterName(node, mac)}
	var b strings.Builder
	rule := func(action string, priority int, match string) {
		fmt.Fprintf(&b, "  <rule action='%s' direction='out' priority='%d'>\n    <%s/>\n  </rule>\n", action, priority, match)
	}
	fmt.Fprintf(&b, "<filter name='%s' chain='root'>\n  <uuid>%s</uuid>\n", f.name, filterUUID(f.name))
	rule("drop", -950, fmt.Sprintf("mac match='no' srcmacaddr='%s'", mac))
	rule("accept", -900, "ip srcipaddr='0.0.0.0' dstipaddr='255.255.255.255' protocol='udp' srcportstart='68' dstportstart='67'")
	rule("accept", -900, fmt.Sprintf("arp arpsrcmacaddr='%s' arpsrcipaddr='0.0.0.0'", mac))
	all := sendable(i)
	for _, p := range all {
		if p.Addr().Is6() {
			rule("accept", -800, ipv6From(p))
			continue
		}
		rule("accept", -800, fmt.Sprintf("arp arpsrcmacaddr='%s' arpsrcipaddr='%s' arpsrcipmask='%d'", mac, p.Addr(), p.Bits()))
		rule("accept", -800, fmt.Sprintf("ip srcipaddr='%s' srcipmask='%d'", p.Addr(), p.Bits()))
	}
	discoveryRules(rule, mac, all)
	for _, kind := range []string{"arp", "rarp", "ip", "ipv6"} {
		rule("drop", 900, kind)
	}
	b.WriteString("</filter>\n")
	f.xml = b.String()
	return f
}

// discoveryRules are what IPv6 needs beside the addresses that were given. The guest cannot play the router
// (134, 137). A filter of libvirt does not see which address a neighbour advertisement (136) is about, only
// who sends it: so only an interface with an IPv6 address advertises at all, and from its own ones only.
// A solicitation (135) tells its sender's MAC address too, so it comes from :: (is this address free?), from
// the interface's own addresses or from the link-local one that belongs to the MAC address. What else is
// sent from a link-local address (DHCPv6, multicast listeners, VRRP) changes no other node's neighbours.
func discoveryRules(rule func(action string, priority int, match string), mac string, all []netip.Prefix) {
	from := func(p netip.Prefix) string { return ipv6From(p) + " protocol='icmpv6' type='135'" }
	rule("drop", -900, "ipv6 protocol='icmpv6' type='134'")
	rule("drop", -900, "ipv6 protocol='icmpv6' type='137'")
	rule("accept", -800, from(only(netip.IPv6Unspecified())))
	if own := derived(mac, all); slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Addr().Is6() }) {
		for _, a := range own {
			rule("accept", -800, ipv6From(only(a)))
		}
	} else {
		rule("accept", -800, from(only(own[0])))
	}
	rule("drop", -700, "ipv6 protocol='icmpv6' type='135'")
	rule("drop", -700, "ipv6 protocol='icmpv6' type='136'")
	rule("accept", -600, ipv6From(only(netip.IPv6Unspecified())))
	rule("accept", -600, ipv6From(netip.MustParsePrefix("fe80::/10")))
}

func ipv6From(p netip.Prefix) string {
	return fmt.Sprintf("ipv6 srcipaddr='%s' srcipmask='%d'", p.Addr(), p.Bits())
}

func only(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// derived are the IPv6 addresses that a guest makes of its MAC address (RFC 4291, appendix A): first the
// link-local one, then one in the /64 of each single address among all. A router that advertises that prefix
// makes the guest add it, and the guest may well send from it rather than from the address it was given.
func derived(mac string, all []netip.Prefix) []netip.Addr {
	var m [6]byte
	if parsed, err := net.ParseMAC(mac); err == nil {
		copy(m[:], parsed)
	}
	var own []netip.Addr
	within := func(prefix netip.Addr) {
		b := prefix.As16()
		copy(b[8:], []byte{m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]})
		if a := netip.AddrFrom16(b); !slices.Contains(own, a) {
			own = append(own, a)
		}
	}
	within(netip.MustParseAddr("fe80::"))
	for _, p := range all {
		if p.Addr().Is6() && p.IsSingleIP() {
			within(p.Addr())
		}
	}
	return own
}

// sendable are the addresses that an interface may send from.
func sendable(i *interfaceModel) []netip.Prefix {
	var all []netip.Prefix
	single := func(text string) {
		if a, err := netip.ParseAddr(text); err == nil {
			all = append(all, only(a))
		}
	}
	single(i.IP.ValueString())
	single(i.IPv6.ValueString())
	for _, text := range texts(i.Addresses) {
		if p, err := netip.ParsePrefix(text); err == nil {
			single(p.Addr().String())
		}
	}
	for _, text := range texts(i.AllowedAddresses) {
		single(text)
		if p, err := netip.ParsePrefix(text); err == nil {
			all = append(all, p.Masked())
		}
	}
	return all
}

// filterUUID is a filter's own, always the same, so that a second define replaces the first one.
func filterUUID(name string) string {
	sum := sha256.Sum256([]byte("network filter " + name))
	return uuidText([16]byte(sum[:16]))
}

// uuidText spells a UUID, with the bits of a random one (RFC 9562, version 4).
func uuidText(u [16]byte) string {
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	h := hex.EncodeToString(u[:])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}
