package hypervisor

import (
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"time"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// errNoRelease says that nobody on the hypervisor's machine can give a lease back.
var errNoRelease = errors.New("libvirt cannot end a lease, and nothing else on the hypervisor's machine could be asked to")

// releasePatience is how long dnsmasq may take to forget a lease.
const releasePatience = 2 * time.Second

// ReleaseLeases gives back the IPv4 leases that a network's DHCP has for a MAC address, as the machine itself would on its way
// out; none, or an absent network, is no error. libvirt has no call for that: the provider tells dnsmasq itself, from
// the hypervisor's machine, be it this one or one that is reached by SSH.
func (c *Client) ReleaseLeases(ctx context.Context, network, mac string) error {
	leases, err := c.listLeasesOf(ctx, network, mac)
	if err != nil || len(leases) == 0 {
		return err
	}
	n, err := c.Network(ctx, network)
	if IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	definition := n.Current()
	if definition.Bridge == nil {
		return nil
	}
	bridge := definition.Bridge.Name
	for _, l := range leases {
		server, found := findGateway(definition, l.IP)
		if !found {
			continue // its subnet is gone, and what dnsmasq knew of it
		}
		if err := c.releaseLease(ctx, bridge, server, l); err != nil {
			return fmt.Errorf("give back the lease of %s on network %q: %w", l.IP, network, err)
		}
	}
	return Retry(ctx, releasePatience, 50*time.Millisecond, func() (bool, error) {
		left, err := c.listLeasesOf(ctx, network, mac)
		return err == nil && len(left) > 0, err
	})
}

// findGateway returns the hypervisor's own address in the subnet of an address.
func findGateway(n *libvirtxml.Network, address netip.Addr) (gateway netip.Addr, found bool) {
	for _, ip := range n.IPs {
		if p, err := Subnet(ip); err == nil && p.Contains(address) {
			return p.Addr(), true
		}
	}
	return netip.Addr{}, false
}

// listLeasesOf returns the IPv4 leases of a MAC address.
func (c *Client) listLeasesOf(ctx context.Context, network, mac string) ([]Lease, error) {
	all, err := c.Leases(ctx, network)
	if IsNotFound(err) {
		return nil, nil
	}
	var own []Lease
	for _, l := range all {
		if l.MAC == mac && l.IP.Is4() {
			own = append(own, l)
		}
	}
	return own, err
}

func (c *Client) releaseLease(ctx context.Context, bridge string, server netip.Addr, l Lease) error {
	if !c.Local() && c.remote == nil {
		return errNoRelease
	}
	message, err := releaseMessage(server, l)
	if err != nil {
		return err
	}
	if c.Local() {
		return sendFrom(ctx, bridge, server, message)
	}
	_, err = c.remote.Run(ctx, host.RepeatableScript("give back a lease", releaseScript, bridge, server.String(), hex.EncodeToString(message)))
	return err
}

// releaseScript sends a message to a DHCP server as if it came from a bridge.
//
//go:embed release.sh
var releaseScript string

// releaseMessage is a DHCPRELEASE (RFC 2131, sections 2 and 4.4.6) for a lease.
func releaseMessage(server netip.Addr, l Lease) ([]byte, error) {
	mac, err := net.ParseMAC(l.MAC)
	if err != nil || len(mac) != 6 {
		return nil, fmt.Errorf("%q is not an Ethernet address", l.MAC)
	}
	client, err := hex.DecodeString(strings.ReplaceAll(l.ClientID, ":", ""))
	if err != nil || len(client) > 255 {
		return nil, fmt.Errorf("cannot understand client id %q", l.ClientID)
	}
	m := make([]byte, 240)
	m[0], m[1], m[2] = 1, 1, 6 // BOOTREQUEST, Ethernet, the length of its addresses
	binary.BigEndian.PutUint32(m[4:], rand.Uint32())
	address, from := l.IP.As4(), server.As4()
	copy(m[12:], address[:])
	copy(m[28:], mac)
	copy(m[236:], []byte{0x63, 0x82, 0x53, 0x63}) // the magic cookie
	m = append(m, 53, 1, 7)                       // DHCPRELEASE
	m = append(append(m, 54, 4), from[:]...)      // the server's identifier
	if len(client) > 0 {
		m = append(append(m, 61, byte(len(client))), client...)
	}
	m = append(m, 255)
	return append(m, make([]byte, max(0, 300-len(m)))...), nil // BOOTP's least size (RFC 1542, section 2.1)
}
