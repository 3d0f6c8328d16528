package node

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
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
// (RFC 5227, RFC 4862). A guest makes up its link-local address, but it cannot play the router.
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
	rule("drop", -900, "ipv6 protocol='icmpv6' type='134'")
	rule("accept", -800, "ipv6 srcipaddr='::' srcipmask='128'")
	rule("accept", -800, "ipv6 srcipaddr='fe80::' srcipmask='10'")
	for _, p := range sendable(i) {
		if p.Addr().Is6() {
			rule("accept", -800, fmt.Sprintf("ipv6 srcipaddr='%s' srcipmask='%d'", p.Addr(), p.Bits()))
			continue
		}
		rule("accept", -800, fmt.Sprintf("arp arpsrcmacaddr='%s' arpsrcipaddr='%s' arpsrcipmask='%d'", mac, p.Addr(), p.Bits()))
		rule("accept", -800, fmt.Sprintf("ip srcipaddr='%s' srcipmask='%d'", p.Addr(), p.Bits()))
	}
	for _, kind := range []string{"arp", "rarp", "ip", "ipv6"} {
		rule("drop", 900, kind)
	}
	b.WriteString("</filter>\n")
	f.xml = b.String()
	return f
}

// sendable are the addresses that an interface may send from.
func sendable(i *interfaceModel) []netip.Prefix {
	var all []netip.Prefix
	single := func(text string) {
		if a, err := netip.ParseAddr(text); err == nil {
			all = append(all, netip.PrefixFrom(a, a.BitLen()))
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
