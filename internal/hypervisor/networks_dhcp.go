package hypervisor

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// DHCPHost is a reservation: a fixed address that a network's DHCP gives to one machine.
type DHCPHost struct {
	// MAC names the machine on IPv4; ID, a DUID such as "0:3:0:1:52:54:0:aa:6c:b1", or else Name does on IPv6.
	MAC string     `attr:"mac,canonical"`
	ID  string     `attr:"duid"`
	IP  netip.Addr `attr:"ip"`
	// Name is the hostname that the machine is told; "" means none.
	Name string `attr:"hostname"`
}

// Key is what the reservation is found by among those of its network.
func (h DHCPHost) Key() string {
	if h.IP.Is6() {
		if h.ID != "" {
			return "id " + CanonicalDUID(h.ID)
		}
		return "name " + h.Name
	}
	return "mac " + strings.ToLower(h.MAC)
}

// CanonicalDUID spells a DHCP unique identifier in lower case, each byte without a leading zero.
func CanonicalDUID(text string) string {
	octets := strings.Split(strings.ToLower(text), ":")
	for i, octet := range octets {
		if len(octet) == 2 {
			octets[i] = strings.TrimPrefix(octet, "0")
		}
	}
	return strings.Join(octets, ":")
}

// String reads as in a message: "10.0.0.1 for 52:54:00:aa:6c:b1".
func (h DHCPHost) String() string {
	who := h.MAC
	if who == "" {
		who = h.ID
	}
	if who == "" {
		who = h.Name
	}
	return fmt.Sprintf("%s for %s", h.IP, who)
}

// DHCPHosts lists the reservations in a network's definition, MAC addresses in lower case.
func DHCPHosts(n *libvirtxml.Network) []DHCPHost {
	var hosts []DHCPHost
	for _, ip := range n.IPs {
		if ip.DHCP == nil {
			continue
		}
		for _, h := range ip.DHCP.Hosts {
			address, _ := netip.ParseAddr(h.IP) // libvirt has checked it; a host without one gets none
			hosts = append(hosts, DHCPHost{MAC: strings.ToLower(h.MAC), ID: h.ID, IP: address, Name: h.Name})
		}
	}
	return hosts
}

// Subnet is the gateway's address with the prefix length of an <ip> element.
func Subnet(ip libvirtxml.NetworkIP) (netip.Prefix, error) {
	address, err := netip.ParseAddr(ip.Address)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("parse the network's address: %w", err)
	}
	if ip.Prefix > 0 {
		return netip.PrefixFrom(address, int(ip.Prefix)), nil
	}
	var mask netip.Addr
	if ip.Netmask != "" {
		if mask, err = netip.ParseAddr(ip.Netmask); err != nil {
			return netip.Prefix{}, fmt.Errorf("parse the network's netmask: %w", err)
		}
	}
	return PrefixOfMask(address, mask), nil
}

// PrefixOfMask is an address with the prefix length that a netmask says. Without one, the invalid address, it is the length that libvirt
// takes where its XML gives neither: 64 on IPv6, that of the address's class on IPv4.
func PrefixOfMask(address, mask netip.Addr) netip.Prefix {
	var bits int
	switch {
	case mask.IsValid():
		bits = leadingOnes(mask)
	case !address.Is4():
		bits = 64
	case address.As4()[0] < 128:
		bits = 8
	case address.As4()[0] < 192:
		bits = 16
	default:
		bits = 24
	}
	return netip.PrefixFrom(address, bits)
}

// leadingOnes counts the leading ones of a netmask.
func leadingOnes(mask netip.Addr) int {
	n := 0
	for _, b := range mask.AsSlice() {
		for ; b&0x80 != 0; b <<= 1 {
			n++
		}
	}
	return n
}

// DHCPRange is a run of addresses that a network's DHCP gives to machines that nothing is kept for, both ends included.
type DHCPRange struct{ Start, End netip.Addr }

// DHCPRanges lists them, in all of a network's subnets.
func DHCPRanges(n *libvirtxml.Network) []DHCPRange {
	var all []DHCPRange
	for _, ip := range n.IPs {
		if ip.DHCP == nil {
			continue
		}
		for _, r := range ip.DHCP.Ranges {
			start, err := netip.ParseAddr(r.Start)
			end, err2 := netip.ParseAddr(r.End)
			if err == nil && err2 == nil { // libvirt has checked them
				all = append(all, DHCPRange{start, end})
			}
		}
	}
	return all
}

// Lease is an address that a network's DHCP has given out.
type Lease struct {
	MAC      string // lower case; "" where only the client id is known
	IP       netip.Addr
	Prefix   int
	Hostname string
	ClientID string
	Expires  time.Time
}

// Leases lists the current leases of a network; an inactive one has none.
func (c *Client) Leases(ctx context.Context, network string) ([]Lease, error) {
	return callIdempotent(ctx, c, fmt.Sprintf("read leases of network %q", network), func(l *libvirt.Libvirt) ([]Lease, error) {
		ref, err := lookupNetwork(l, network)
		if err != nil {
			return nil, err
		}
		active, err := l.NetworkIsActive(ref)
		if err != nil || active == 0 {
			return nil, err
		}
		raw, _, err := l.NetworkGetDhcpLeases(ref, nil, 1, 0)
		if err != nil {
			return nil, err
		}
		var leases []Lease
		for _, r := range raw {
			address, err := netip.ParseAddr(r.Ipaddr)
			if err != nil {
				return nil, fmt.Errorf("parse a lease: %w", err)
			}
			leases = append(leases, Lease{
				MAC: strings.ToLower(readOptString(r.Mac)), IP: address, Prefix: int(r.Prefix), Hostname: readOptString(r.Hostname),
				ClientID: readOptString(r.Clientid), Expires: time.Unix(r.Expirytime, 0).UTC(),
			})
		}
		return leases, nil
	})
}

func readOptString(s libvirt.OptString) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}
