package alloc

import (
	"fmt"
	"math/big"
	"net/netip"
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
