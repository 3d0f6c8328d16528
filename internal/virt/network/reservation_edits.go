package network

import (
	"encoding/xml"
	"fmt"
	"net/netip"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// listEdits lists what makes a definition have the reservation.
func (r Reservations) listEdits(n *hypervisor.Network, definition *libvirtxml.Network, marks hostMarks, h hypervisor.DHCPHost) ([]hypervisor.NetworkEdit, error) {
	index, err := findSubnet(definition, h.IP)
	if err != nil {
		return nil, err
	}
	var was *hypervisor.DHCPHost
	var edits []hypervisor.NetworkEdit
	for _, other := range hypervisor.DHCPHosts(definition) {
		switch {
		case other.Key() == h.Key() && other == h:
			return nil, nil
		case other.Key() == h.Key():
			was = &other
		case other.IP != h.IP && !(SameName(h, other) && isOnSubnet(definition, index, other.IP)):
		case r.givesWayInApply(n, marks[other.Key()], other):
			edits = append(edits, newHostEdit(hypervisor.EditDelete, findReservationSubnet(definition, other), other, nil))
		case other.IP == h.IP:
			return nil, fmt.Errorf("the address is reserved already: %s", other)
		default:
			return nil, fmt.Errorf("its name %s is that of another reservation already: %s; write another name, or give that one another first", h.Name, other)
		}
	}
	lease := chooseLease(definition.IPs[index], n.ConfigXML)
	if was == nil {
		return append(edits, newHostEdit(hypervisor.EditAdd, index, h, lease)), nil
	}
	return append(edits, changeHost(definition, *was, h, index, lease)...), nil
}

// changeHost turns one reservation into another for the same machine. libvirt changes the first one that has the MAC
// address, the address or the name: it does not find a machine that is known by its DUID, nor one in another subnet.
func changeHost(definition *libvirtxml.Network, was, want hypervisor.DHCPHost, index int, lease *libvirtxml.NetworkDHCPLease) []hypervisor.NetworkEdit {
	from := findReservationSubnet(definition, was)
	for _, h := range definition.IPs[from].DHCP.Hosts {
		if h.IP == was.IP.String() && h.Lease != nil {
			lease = h.Lease // somebody gave it
		}
	}
	if from == index && want.MAC != "" {
		return []hypervisor.NetworkEdit{newHostEdit(hypervisor.EditModify, index, want, lease)}
	}
	return []hypervisor.NetworkEdit{
		newHostEdit(hypervisor.EditDelete, from, was, nil),
		newHostEdit(hypervisor.EditAdd, index, want, lease),
	}
}

func newHostEdit(command hypervisor.EditCommand, index int, h hypervisor.DHCPHost, lease *libvirtxml.NetworkDHCPLease) hypervisor.NetworkEdit {
	return hypervisor.NetworkEdit{Section: hypervisor.SectionDHCPHost, Command: command, Parent: index, XML: renderHost(h, lease)}
}

// chooseLease returns the lease time that a new reservation must be given, as its subnet has no range that has it; nil where
// it has, or the network has none.
func chooseLease(subnet libvirtxml.NetworkIP, configuration string) *libvirtxml.NetworkDHCPLease {
	seconds := ReadLeaseSeconds(configuration)
	if seconds == nil || subnet.DHCP != nil && len(subnet.DHCP.Ranges) > 0 {
		return nil
	}
	return &libvirtxml.NetworkDHCPLease{Expiry: uint(*seconds), Unit: "seconds"}
}

// SameName says whether two reservations are for different machines of one name, of which libvirt takes one in a subnet.
func SameName(h, other hypervisor.DHCPHost) bool {
	return h.Name != "" && h.Name == other.Name && h.IP.Is6() == other.IP.Is6() && h.Key() != other.Key()
}

func isOnSubnet(n *libvirtxml.Network, index int, a netip.Addr) bool {
	at, err := findSubnet(n, a)
	return err == nil && at == index
}

func renderHost(h hypervisor.DHCPHost, lease *libvirtxml.NetworkDHCPLease) string {
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

// findSubnet finds the place of the <ip> element that an address belongs to.
func findSubnet(n *libvirtxml.Network, address netip.Addr) (int, error) {
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
