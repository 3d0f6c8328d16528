package alloc

import (
	"fmt"
	"math/big"
	"net/netip"
	"slices"
)

// PodCIDR is the subnet with the given index, from 0, among the subnets of length bits that cidr divides
// into. It works for IPv4 and IPv6.
func PodCIDR(cidr netip.Prefix, bits int, index int64) (netip.Prefix, error) {
	cidr = cidr.Masked()
	width := cidr.Addr().BitLen()
	if bits < cidr.Bits() || bits > width {
		return netip.Prefix{}, fmt.Errorf("a prefix of length %d does not fit into %s: write %d to %d", bits, cidr, cidr.Bits(), width)
	}
	if index < 0 {
		return netip.Prefix{}, fmt.Errorf("the index is %d: write 0 or more", index)
	}
	at := big.NewInt(index)
	if room := bits - cidr.Bits(); at.BitLen() > room {
		return netip.Prefix{}, fmt.Errorf("%s has %s subnets of length %d, so there is none with index %d", cidr, new(big.Int).Lsh(big.NewInt(1), uint(room)), bits, index)
	}
	base := new(big.Int).SetBytes(cidr.Addr().AsSlice())
	base.Add(base, at.Lsh(at, uint(width-bits)))
	addr, _ := netip.AddrFromSlice(base.FillBytes(make([]byte, width/8)))
	return netip.PrefixFrom(addr, bits), nil
}

// PodCIDRs gives each name a subnet of length bits of cidr. A name keeps the one that it had, if that is one of them still; the
// others take the lowest that are free, in the order of their names. So a name that goes, or comes, changes no other's.
func PodCIDRs(cidr netip.Prefix, bits int, had map[string]netip.Prefix, names []string) (map[string]netip.Prefix, error) {
	cidr = cidr.Masked()
	kept, taken := map[string]netip.Prefix{}, map[netip.Prefix]bool{}
	names = slices.Sorted(slices.Values(names))
	for _, name := range names {
		p, ok := had[name]
		if ok && p.Bits() == bits && p == p.Masked() && cidr.Contains(p.Addr()) && !taken[p] {
			kept[name], taken[p] = p, true
		}
	}
	index := int64(0)
	for _, name := range names {
		for ; !kept[name].IsValid(); index++ {
			p, err := PodCIDR(cidr, bits, index)
			if err != nil {
				return nil, fmt.Errorf("%d nodes: %w", len(names), err)
			}
			if !taken[p] {
				kept[name], taken[p] = p, true
			}
		}
	}
	return kept, nil
}
