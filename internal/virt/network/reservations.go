package network

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/netip"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// PutReservation makes a reservation what it shall be: it adds the one that is not there, changes the one for the
// same machine (by MAC, DUID or name) and leaves an equal one alone. It works live on an active network and on
// the configuration of any, and takes turns with other changes of the network. An address or a name that another
// machine has is an error that names it.
func PutReservation(ctx context.Context, c *hypervisor.Client, network string, h hypervisor.DHCPHost) error {
	what := fmt.Sprintf("reserve %s on network %q", h, network)
	return editReservations(ctx, c, what, network, func(n *hypervisor.Network, definition *libvirtxml.Network) ([]hypervisor.NetworkEdit, error) {
		index, err := subnetOf(definition, h.IP)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		var was *hypervisor.DHCPHost
		for _, other := range hypervisor.DHCPHosts(definition) {
			switch {
			case other.Key() == h.Key() && other == h:
				return nil, nil
			case other.Key() == h.Key():
				was = &other
			case other.IP == h.IP:
				return nil, fmt.Errorf("%s: the address is reserved already: %s", what, other)
			case SameName(h, other) && onSubnet(definition, index, other.IP):
				return nil, fmt.Errorf("%s: its name %s is that of another reservation already: %s; write another name, or give that one another first", what, h.Name, other)
			}
		}
		lease := subnetLease(definition.IPs[index], n.ConfigXML)
		if was == nil {
			return []hypervisor.NetworkEdit{hostUpdate(hypervisor.EditAdd, index, h, lease)}, nil
		}
		return changeHost(definition, *was, h, index, lease)
	})
}

// changeHost turns one reservation into another for the same machine. libvirt changes the first one that has the MAC
// address, the address or the name: it does not find a machine that is known by its DUID, nor one in another subnet.
func changeHost(definition *libvirtxml.Network, was, want hypervisor.DHCPHost, index int, lease *libvirtxml.NetworkDHCPLease) ([]hypervisor.NetworkEdit, error) {
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
		return []hypervisor.NetworkEdit{hostUpdate(hypervisor.EditModify, index, want, lease)}, nil
	}
	return []hypervisor.NetworkEdit{
		hostUpdate(hypervisor.EditDelete, from, was, nil),
		hostUpdate(hypervisor.EditAdd, index, want, lease),
	}, nil
}

func hostUpdate(command hypervisor.EditCommand, index int, h hypervisor.DHCPHost, lease *libvirtxml.NetworkDHCPLease) hypervisor.NetworkEdit {
	return hypervisor.NetworkEdit{Section: hypervisor.SectionDHCPHost, Command: command, Parent: index, XML: hostXML(h, lease)}
}

// subnetLease is the lease time that a new reservation must be given, as its subnet has no range that has it; nil where
// it has, or the network has none.
func subnetLease(subnet libvirtxml.NetworkIP, configuration string) *libvirtxml.NetworkDHCPLease {
	seconds := LeaseSeconds(configuration)
	if seconds == nil || subnet.DHCP != nil && len(subnet.DHCP.Ranges) > 0 {
		return nil
	}
	return &libvirtxml.NetworkDHCPLease{Expiry: uint(*seconds), Unit: "seconds"}
}

// SameName says whether two reservations are for different machines of one name, of which libvirt takes one in a subnet.
func SameName(h, other hypervisor.DHCPHost) bool {
	return h.Name != "" && h.Name == other.Name && h.IP.Is6() == other.IP.Is6() && h.Key() != other.Key()
}

func onSubnet(n *libvirtxml.Network, index int, a netip.Addr) bool {
	at, err := subnetOf(n, a)
	return err == nil && at == index
}

// AddReservation is PutReservation for a reservation that must be new: an existing one for the same machine with
// another address is an error instead of being changed.
func AddReservation(ctx context.Context, c *hypervisor.Client, network string, h hypervisor.DHCPHost) error {
	n, err := c.Network(ctx, network)
	if err != nil {
		return err
	}
	for _, other := range hypervisor.DHCPHosts(n.Current()) {
		if other.Key() == h.Key() && other.IP != h.IP {
			return fmt.Errorf("reserve %s on network %q: the machine has a reservation already: %s", h, network, other)
		}
	}
	return PutReservation(ctx, c, network, h)
}

// UpdateReservation turns one reservation into another: in place where the machine is the same, else by taking
// the old one away first, because libvirt refuses two of one address.
func UpdateReservation(ctx context.Context, c *hypervisor.Client, network string, was, want hypervisor.DHCPHost) error {
	if was.Key() != want.Key() {
		if err := RemoveReservation(ctx, c, network, was); err != nil {
			return err
		}
	}
	return PutReservation(ctx, c, network, want)
}

// RemoveReservation takes a reservation away; one that is not there, or an absent network, is no error. A
// reservation of the machine that has another address by now is not touched.
func RemoveReservation(ctx context.Context, c *hypervisor.Client, network string, h hypervisor.DHCPHost) error {
	what := fmt.Sprintf("remove reservation %s on network %q", h, network)
	err := editReservations(ctx, c, what, network, func(_ *hypervisor.Network, n *libvirtxml.Network) ([]hypervisor.NetworkEdit, error) {
		for _, other := range hypervisor.DHCPHosts(n) {
			if other.Key() != h.Key() || other.IP != h.IP {
				continue
			}
			index, err := subnetOf(n, h.IP)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", what, err)
			}
			return []hypervisor.NetworkEdit{hostUpdate(hypervisor.EditDelete, index, other, nil)}, nil
		}
		return nil, nil
	})
	if hypervisor.IsNotFound(err) {
		return nil
	}
	return err
}

func hostXML(h hypervisor.DHCPHost, lease *libvirtxml.NetworkDHCPLease) string {
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
func subnetOf(n *libvirtxml.Network, address netip.Addr) (int, error) {
	var subnets []string
	for i, ip := range n.IPs {
		p, err := hypervisor.Subnet(ip)
		if err != nil {
			return 0, err
		}
		if p.Contains(address) {
			return i, nil
		}
		subnets = append(subnets, p.Masked().String())
	}
	if len(subnets) == 0 {
		return 0, fmt.Errorf("the network has no subnet of its own, so libvirt gives no addresses on it")
	}
	return 0, fmt.Errorf("%s is outside the network's subnets: %s", address, strings.Join(subnets, ", "))
}

// editReservations changes a network in place, one change at a time.
func editReservations(ctx context.Context, c *hypervisor.Client, what, nameOrUUID string, changes func(n *hypervisor.Network, definition *libvirtxml.Network) ([]hypervisor.NetworkEdit, error)) error {
	uuid, err := c.NetworkUUID(ctx, nameOrUUID)
	if err != nil {
		return err
	}
	defer c.LockNetwork(uuid)()
	defer c.ForgetPlan()
	return editDefinitions(ctx, c, what, uuid, func(n *hypervisor.Network, _ string, definition *libvirtxml.Network) ([]hypervisor.NetworkEdit, error) {
		return changes(n, definition)
	})
}
