// Package alloc is pure, stable assignment: the same question always has the same answer, on every machine
// and in every version. MAC addresses, virtual router ids and pod CIDRs come from here.
package alloc

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"slices"
	"strconv"
)

// qemuPrefix is the locally administered prefix that QEMU and libvirt use for their guests.
var qemuPrefix = [3]byte{0x52, 0x54, 0x00}

// MAC derives an interface's address from its machine's name and its index, which is 0 for the first one.
// Three bytes of SHA-256 follow QEMU's prefix, so among 200 interfaces two share an address in about one
// cluster of 800: whoever hands an address out checks it against those that are in use.
func MAC(name string, index int) net.HardwareAddr {
	// The zero byte keeps ("node1", 1) apart from ("node", 11).
	sum := sha256.Sum256([]byte(name + "\x00" + strconv.Itoa(index)))
	return net.HardwareAddr(append(qemuPrefix[:], sum[:3]...))
}

// CanonicalMAC spells a MAC address the way libvirt does: six bytes, lower case, with colons. It takes
// every spelling of net.ParseMAC.
func CanonicalMAC(text string) (string, error) {
	mac, err := net.ParseMAC(text)
	if err != nil || len(mac) != 6 {
		return "", fmt.Errorf("%q is not a MAC address: write six bytes such as 52:54:00:aa:6c:b1", text)
	}
	return mac.String(), nil
}

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

// VirtualRouterID is the id that OpenShift's Machine Config Operator gives the VRRP instance of a cluster's
// role, "api" or "ingress": Fletcher-8 over "<cluster>-<role>", plus one. It is 1 to 255. Two clusters on
// one segment may share an id by chance ("vmware" and "k8scluster" do): then one of them must set its own.
func VirtualRouterID(cluster, role string) int { return VirtualRouterIDOf(cluster + "-" + role) }

// VirtualRouterIDOf is the id for an instance's whole name, "<cluster>-<role>" or any other.
func VirtualRouterIDOf(name string) int {
	var a, b int
	for _, c := range []byte(name) {
		a = (a + int(c)) % 15
		b = (b + a) % 15
	}
	return (b<<4 | a) + 1
}

// MaskedVirtualRouterID is the id of OpenShift's first form: the sums are cut to four bits instead of divided by 15, and
// nothing is added. It is 0 to 255, and 0 is no id. The installer's script for the bootstrap machine
// (data/data/bootstrap/baremetal/files/usr/local/bin/fletcher8) had it before 4.5, and the nodes
// (openshift/baremetal-runtimecfg) until September 2019.
func MaskedVirtualRouterID(cluster, role string) int {
	var a, b int
	for _, c := range []byte(cluster + "-" + role) {
		a = (a + int(c)) & 0xf
		b = (b + a) & 0xf
	}
	return b<<4 | a
}

// passwordCharacters are those that every daemon's configuration takes as they are.
const passwordCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// Password derives a password of letters and digits from a secret and what it is for: each character is worth 5.9 bits. Who knows one
// password learns neither the secret nor any other.
func Password(secret, purpose string, length int) string {
	// A byte at or above the limit would make the first characters likelier than the others.
	const limit = 256 / len(passwordCharacters) * len(passwordCharacters)
	password := make([]byte, 0, length)
	for block := uint64(0); len(password) < length; block++ {
		sum := hmac.New(sha256.New, []byte(secret))
		sum.Write(binary.BigEndian.AppendUint64(nil, block))
		sum.Write([]byte(purpose))
		for _, b := range sum.Sum(nil) {
			if int(b) < limit && len(password) < length {
				password = append(password, passwordCharacters[int(b)%len(passwordCharacters)])
			}
		}
	}
	return string(password)
}
