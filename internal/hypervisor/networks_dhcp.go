package hypervisor

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/netip"
	"strings"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor/netspec"
)

// DHCPHost is a reservation: a fixed address that a network's DHCP gives to one machine.
type DHCPHost struct {
	// MAC names the machine on IPv4; ID, a DUID such as "0:3:0:1:52:54:0:aa:6c:b1", or else Name does on IPv6.
	MAC, ID string
	IP      netip.Addr
	// Name is the hostname that the machine is told; "" means none.
	Name string
}

// key is what the reservation is found by among those of its network.
func (h DHCPHost) key() string {
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

// PutDHCPHost makes a reservation what it shall be: it adds the one that is not there, changes the one for the
// same machine (by MAC, DUID or name) and leaves an equal one alone. It works live on an active network and on
// the configuration of any, and takes turns with other changes of the network. An address or a name that another
// machine has is an error that names it.
func (c *Client) PutDHCPHost(ctx context.Context, network string, h DHCPHost) error {
	what := fmt.Sprintf("reserve %s on network %q", h, network)
	return c.updateNetwork(ctx, what, network, func(n *Network, definition *libvirtxml.Network) ([]networkUpdate, error) {
		index, err := subnetOf(definition, h.IP)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		var was *DHCPHost
		for _, other := range DHCPHosts(definition) {
			switch {
			case other.key() == h.key() && other == h:
				return nil, nil
			case other.key() == h.key():
				was = &other
			case other.IP == h.IP:
				return nil, fmt.Errorf("%s: the address is reserved already: %s", what, other)
			case h.Named(other) && onSubnet(definition, index, other.IP):
				return nil, fmt.Errorf("%s: its name %s is that of another reservation already: %s; write another name, or give that one another first", what, h.Name, other)
			}
		}
		lease := subnetLease(definition.IPs[index], n.ConfigXML)
		if was == nil {
			return []networkUpdate{hostUpdate(libvirt.NetworkUpdateCommandAddLast, index, h, lease)}, nil
		}
		return changeHost(definition, *was, h, index, lease)
	})
}

// changeHost turns one reservation into another for the same machine. libvirt changes the first one that has the MAC
// address, the address or the name: it does not find a machine that is known by its DUID, nor one in another subnet.
func changeHost(definition *libvirtxml.Network, was, want DHCPHost, index int32, lease *libvirtxml.NetworkDHCPLease) ([]networkUpdate, error) {
	from, err := subnetOf(definition, was.IP)
	if err != nil {
		return nil, err
	}
	for _, h := range definition.IPs[from].DHCP.Hosts {
		if h.IP == was.IP.String() && h.Lease != nil {
			lease = h.Lease // somebody gave it
		}
	}
	if from == index && want.MAC != "" {
		return []networkUpdate{hostUpdate(libvirt.NetworkUpdateCommandModify, index, want, lease)}, nil
	}
	return []networkUpdate{
		hostUpdate(libvirt.NetworkUpdateCommandDelete, from, was, nil),
		hostUpdate(libvirt.NetworkUpdateCommandAddLast, index, want, lease),
	}, nil
}

func hostUpdate(command libvirt.NetworkUpdateCommand, index int32, h DHCPHost, lease *libvirtxml.NetworkDHCPLease) networkUpdate {
	return networkUpdate{command: command, section: libvirt.NetworkSectionIPDhcpHost, parent: index, xml: h.xml(lease)}
}

// subnetLease is the lease time that a new reservation must be given, as its subnet has no range that has it; nil where
// it has, or the network has none.
func subnetLease(subnet libvirtxml.NetworkIP, configuration string) *libvirtxml.NetworkDHCPLease {
	seconds := netspec.LeaseSeconds(configuration)
	if seconds == nil || subnet.DHCP != nil && len(subnet.DHCP.Ranges) > 0 {
		return nil
	}
	return &libvirtxml.NetworkDHCPLease{Expiry: uint(*seconds), Unit: "seconds"}
}

// Named says whether two reservations are for different machines of one name, of which libvirt takes one in a subnet.
func (h DHCPHost) Named(other DHCPHost) bool {
	return h.Name != "" && h.Name == other.Name && h.IP.Is6() == other.IP.Is6() && h.key() != other.key()
}

func onSubnet(n *libvirtxml.Network, index int32, a netip.Addr) bool {
	at, err := subnetOf(n, a)
	return err == nil && at == index
}

// AddDHCPHost is PutDHCPHost for a reservation that must be new: an existing one for the same machine with
// another address is an error instead of being changed.
func (c *Client) AddDHCPHost(ctx context.Context, network string, h DHCPHost) error {
	n, err := c.Network(ctx, network)
	if err != nil {
		return err
	}
	for _, other := range DHCPHosts(n.Current()) {
		if other.key() == h.key() && other.IP != h.IP {
			return fmt.Errorf("reserve %s on network %q: the machine has a reservation already: %s", h, network, other)
		}
	}
	return c.PutDHCPHost(ctx, network, h)
}

// UpdateDHCPHost turns one reservation into another: in place where the machine is the same, else by taking
// the old one away first, because libvirt refuses two of one address.
func (c *Client) UpdateDHCPHost(ctx context.Context, network string, was, want DHCPHost) error {
	if was.key() != want.key() {
		if err := c.RemoveDHCPHost(ctx, network, was); err != nil {
			return err
		}
	}
	return c.PutDHCPHost(ctx, network, want)
}

// RemoveDHCPHost takes a reservation away; one that is not there, or an absent network, is no error. A
// reservation of the machine that has another address by now is not touched.
func (c *Client) RemoveDHCPHost(ctx context.Context, network string, h DHCPHost) error {
	what := fmt.Sprintf("remove reservation %s on network %q", h, network)
	err := c.updateNetwork(ctx, what, network, func(_ *Network, n *libvirtxml.Network) ([]networkUpdate, error) {
		for _, other := range DHCPHosts(n) {
			if other.key() != h.key() || other.IP != h.IP {
				continue
			}
			index, err := subnetOf(n, h.IP)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", what, err)
			}
			return []networkUpdate{hostUpdate(libvirt.NetworkUpdateCommandDelete, index, other, nil)}, nil
		}
		return nil, nil
	})
	if IsNotFound(err) {
		return nil
	}
	return err
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

func (h DHCPHost) xml(lease *libvirtxml.NetworkDHCPLease) string {
	out := libvirtxml.NetworkDHCPHost{ID: h.ID, Name: h.Name, IP: h.IP.String(), Lease: lease}
	if !h.IP.Is6() { // libvirt refuses a MAC on IPv6
		out.MAC = strings.ToLower(h.MAC)
	}
	text, err := xml.Marshal(out)
	if err != nil {
		panic(fmt.Sprintf("marshal %+v: %v", out, err)) // plain strings always marshal
	}
	return string(text)
}

// subnetOf finds the place of the <ip> element that an address belongs to.
func subnetOf(n *libvirtxml.Network, address netip.Addr) (int32, error) {
	var subnets []string
	for i, ip := range n.IPs {
		p, err := Subnet(ip)
		if err != nil {
			return 0, err
		}
		if p.Contains(address) {
			return int32(i), nil
		}
		subnets = append(subnets, p.Masked().String())
	}
	if len(subnets) == 0 {
		return 0, fmt.Errorf("the network has no subnet of its own, so libvirt gives no addresses on it")
	}
	return 0, fmt.Errorf("%s is outside the network's subnets: %s", address, strings.Join(subnets, ", "))
}

// Subnet is the gateway's address with the prefix length of an <ip> element.
func Subnet(ip libvirtxml.NetworkIP) (netip.Prefix, error) {
	address, err := netip.ParseAddr(ip.Address)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("parse the network's address: %w", err)
	}
	bits := int(ip.Prefix)
	if ip.Netmask != "" {
		mask, err := netip.ParseAddr(ip.Netmask)
		if err != nil {
			return netip.Prefix{}, fmt.Errorf("parse the network's netmask: %w", err)
		}
		bits = ones(mask)
	}
	return netip.PrefixFrom(address, bits), nil
}

// ones counts the leading ones of a netmask.
func ones(mask netip.Addr) int {
	n := 0
	for _, b := range mask.AsSlice() {
		for ; b&0x80 != 0; b <<= 1 {
			n++
		}
	}
	return n
}
