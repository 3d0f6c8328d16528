// Package alloc is pure, stable assignment: the same question always has the same answer, on every machine
// and in every version. MAC addresses, virtual router ids and pod CIDRs come from here.
package alloc

import (
	"crypto/sha256"
	"fmt"
	"net"
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
