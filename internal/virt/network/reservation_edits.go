package network

import (
	"encoding/xml"
	"fmt"
	"net/netip"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// edits lists what makes a definition have the reservation.
func (r Reservations) edits(n *hypervisor.Network, definition *libvirtxml.Network, marks hostMarks, h hypervisor.DHCPHost) ([]hypervisor.NetworkEdit, error) {
	index, err := subnetOf(definition, h.IP)
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
		case other.IP != h.IP && !(SameName(h, other) && onSubnet(definition, index, other.IP)):
		case r.makesRoom(n, marks[other.Key()], other):
			edits = append(edits, hostUpdate(hypervisor.EditDelete, placeOf(definition, other), other, nil))
		case other.IP == h.IP:
			return nil, fmt.Errorf("the address is reserved already: %s", other)
		default:
			return nil, fmt.Errorf("its name %s is that of another reservation already: %s; write another name, or give that one another first", h.Name, other)
		}
	}
	lease := subnetLease(definition.IPs[index], n.ConfigXML)
	if was == nil {
		return append(edits, hostUpdate(hypervisor.EditAdd, index, h, lease)), nil
	}
	return append(edits, changeHost(definition, *was, h, index, lease)...), nil
}

// changeHost turns one reservation into another for the same machine. libvirt changes the first one that has the MAC
// address, the address or the name: it does not find a machine that is known by its DUID, nor one in another subnet.
func changeHost(definition *libvirtxml.Network, was, want hypervisor.DHCPHost, index int, lease *libvirtxml.NetworkDHCPLease) []hypervisor.NetworkEdit {
	from := placeOf(definition, was)
	for _, h := range definition.IPs[from].DHCP.Hosts {
		if h.IP == was.IP.String() && h.Lease != nil {
			lease = h.Lease // somebody gave it
		}
	}
	if from == index && want.MAC != "" {
		return []hypervisor.NetworkEdit{hostUpdate(hypervisor.EditModify, index, want, lease)}
	}
	return []hypervisor.NetworkEdit{
		hostUpdate(hypervisor.EditDelete, from, was, nil),
		hostUpdate(hypervisor.EditAdd, index, want, lease),
	}
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
