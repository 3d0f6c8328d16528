package bind

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

const (
	reverse4 = "in-addr.arpa"
	reverse6 = "ip6.arpa"
)

// ReverseZone is the name of the zone that holds the pointers of a prefix.
//
// An IPv4 prefix that ends between octets belongs to the zone of the octet before (10.0.16.0/20 to
// 0.10.in-addr.arpa), because DNS delegates whole labels; from /25 to /31 it gets a classless zone of
// RFC 2317 (0/25.2.0.192.in-addr.arpa), which the zone of the /24 points to with a CNAME for each address.
// An IPv6 prefix belongs to the zone of the nibble that it ends in or before.
func ReverseZone(p netip.Prefix) string {
	p = p.Masked()
	bytes := p.Addr().AsSlice()
	var labels []string
	if p.Addr().Is4() {
		for i := range p.Bits() / 8 {
			labels = append([]string{strconv.Itoa(int(bytes[i]))}, labels...)
		}
		if p.Bits() > 24 && p.Bits() < 32 {
			labels = append([]string{fmt.Sprintf("%d/%d", bytes[3], p.Bits())}, labels...)
		}
		return strings.Join(append(labels, reverse4), ".")
	}
	for i := range p.Bits() / 4 {
		labels = append([]string{nibbleAt(bytes, i)}, labels...)
	}
	return strings.Join(append(labels, reverse6), ".")
}

func nibbleAt(bytes []byte, i int) string {
	return strconv.FormatUint(uint64(bytes[i/2]>>(4*(1-i%2))&0xf), 16)
}

// ReversePrefix is the prefix that a reverse zone is for: the inverse of ReverseZone where the prefix ends at
// a label.
func ReversePrefix(zone string) (netip.Prefix, bool) {
	if labels, ok := strings.CutSuffix(zone, "."+reverse6); ok {
		return parsePrefix6(strings.Split(labels, "."))
	}
	rest, ok := strings.CutSuffix(zone, "."+reverse4)
	if !ok {
		return netip.Prefix{}, false
	}
	labels := strings.Split(rest, ".")
	if len(labels) > 4 {
		return netip.Prefix{}, false
	}
	bits := 8 * len(labels)
	if first, length, ok := strings.Cut(labels[0], "/"); ok && len(labels) == 4 {
		n, err := strconv.Atoi(length)
		if err != nil || n < 25 || n > 31 {
			return netip.Prefix{}, false
		}
		labels[0], bits = first, n
	}
	var bytes [4]byte
	for i, l := range labels {
		n, err := strconv.ParseUint(l, 10, 8)
		if err != nil || strconv.FormatUint(n, 10) != l {
			return netip.Prefix{}, false
		}
		bytes[len(labels)-1-i] = byte(n)
	}
	p := netip.PrefixFrom(netip.AddrFrom4(bytes), bits)
	return p, p == p.Masked()
}

// hiddenPrefix is what the zone was described by where its name does not tell: 10.0.16.0/20 for 0.10.in-addr.arpa.
func (z Zone) hiddenPrefix(zone string) string {
	p, err := ParseCIDR(z.CIDR)
	if told, ok := ReversePrefix(zone); err != nil || ok && told == p {
		return ""
	}
	return p.String()
}

func parsePrefix6(labels []string) (netip.Prefix, bool) {
	if len(labels) > 32 {
		return netip.Prefix{}, false
	}
	var bytes [16]byte
	for i, l := range labels {
		n, err := strconv.ParseUint(l, 16, 4)
		if err != nil || len(l) != 1 {
			return netip.Prefix{}, false
		}
		at := len(labels) - 1 - i
		bytes[at/2] |= byte(n) << (4 * (1 - at%2))
	}
	return netip.PrefixFrom(netip.AddrFrom16(bytes), 4*len(labels)), true
}

// PointerName is the name of an address's pointer relative to the reverse zone of a prefix.
func PointerName(a netip.Addr, p netip.Prefix) string {
	bytes := a.AsSlice()
	var labels []string
	if a.Is4() {
		from := min(p.Bits()/8, 4)
		for i := from; i < 4; i++ {
			labels = append([]string{strconv.Itoa(int(bytes[i]))}, labels...)
		}
	} else {
		for i := p.Bits() / 4; i < 32; i++ {
			labels = append([]string{nibbleAt(bytes, i)}, labels...)
		}
	}
	if len(labels) == 0 {
		return Apex
	}
	return strings.Join(labels, ".")
}

// PointerAddress is the inverse of PointerName for the prefix of a reverse zone; false where the name is that
// of no whole address.
func PointerAddress(name string, p netip.Prefix) (netip.Addr, bool) {
	if name == Apex {
		return p.Addr(), p.IsSingleIP()
	}
	full, _, _ := strings.Cut(ReverseZone(p), "/")
	if classless := full != ReverseZone(p); classless {
		_, full, _ = strings.Cut(ReverseZone(p), ".")
	}
	single, ok := ReversePrefix(name + "." + full)
	if !ok || !single.IsSingleIP() {
		return netip.Addr{}, false
	}
	return single.Addr(), p.Contains(single.Addr())
}

// ParentRecords are the CNAME records that the zone of the /24 needs so that a classless zone (RFC 2317) is
// found: owner name in the /24's zone to name in the classless one. Nil for other prefixes.
func ParentRecords(p netip.Prefix) map[string]string {
	if !p.Addr().Is4() || p.Bits() <= 24 || p.Bits() == 32 {
		return nil
	}
	p = p.Masked()
	records := map[string]string{}
	for a := p.Addr(); p.Contains(a); a = a.Next() {
		last := strconv.Itoa(int(a.As4()[3]))
		records[last] = last + "." + ReverseZone(p) + "."
	}
	return records
}
