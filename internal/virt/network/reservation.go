package network

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// DHCPHost is a reservation as a network has it.
type DHCPHost = hypervisor.DHCPHost

// Reservation is a fixed address for one machine, in plain values.
type Reservation struct {
	DHCPHost
	// Network is the one that the resource names; only planned.
	Network string
}

var (
	// duid is two to 130 bytes in hexadecimal (RFC 8415, section 11.1).
	duid        = regexp.MustCompile(`^[0-9a-fA-F]{1,2}(:[0-9a-fA-F]{1,2}){1,129}$`)
	machineName = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`)
)

// Validate finds what is wrong without asking any machine. Paths are those of the resource's attributes.
func (r Reservation) Validate() []service.Problem {
	var found []service.Problem
	add := func(attribute, summary, format string, args ...any) {
		found = append(found, service.Problemf([]any{attribute}, summary, format, args...))
	}
	if r.ID != "" && !duid.MatchString(r.ID) {
		add("duid", "Invalid DUID", "write bytes in hexadecimal with colons between them, not %q", r.ID)
	}
	if r.Name != "" && !machineName.MatchString(r.Name) {
		add("hostname", "Invalid host name", "write letters, digits, hyphens and dots, not %q", r.Name)
	}
	switch {
	case r.IP.Is4() && r.MAC == "":
		add("mac", "Missing MAC address", "IPv4 reservations are for a MAC address")
	case r.IP.Is4() && r.ID != "":
		add("duid", "DUID of an IPv4 reservation", "leave duid out: IPv4 reservations are for a MAC address")
	case r.IP.Is6() && r.MAC != "":
		add("mac", "MAC address of an IPv6 reservation", "write duid or hostname instead: DHCPv6 does not know machines by their MAC address")
	case r.IP.Is6() && r.ID == "" && r.Name == "":
		add("duid", "Missing machine", "write duid or hostname: IPv6 reservations are for one of them")
		found[len(found)-1].Known = []string{"hostname"}
	}
	return found
}

// IsDUID says whether a text is a DHCP unique identifier.
func IsDUID(text string) bool { return duid.MatchString(text) }

// CanonicalDUID spells a DHCP unique identifier in lower case, each byte without a leading zero.
func CanonicalDUID(text string) string { return hypervisor.CanonicalDUID(text) }

// ReservationStore is where one reservation lives.
type ReservationStore struct {
	Reservations
	// Key is the reservation that state or plan has.
	Key Reservation
}

// Claim is what the state keeps of whose the reservation is.
func (s *ReservationStore) Claim() owner.Claim { return s.Owner }

// FinishMark takes from the reservation's mark that it is being made.
func (s *ReservationStore) FinishMark(ctx context.Context) error {
	n, marks, release, err := s.lockNetwork(ctx)
	if err != nil {
		return err
	}
	defer release()
	if mark := marks[s.Key.DHCPHost.Key()]; mark.Creating != "" && s.Owner.Owns(mark.Mark) {
		mark.Mark = mark.Finished()
		if err := markHost(ctx, s.Client, n, s.Key.DHCPHost.Key(), mark); err != nil {
			return err
		}
	}
	s.Owner = s.Owner.Finished()
	return nil
}

// isForSameMachine says whether a reservation is for the machine that this one is for.
func (s *ReservationStore) isForSameMachine(h hypervisor.DHCPHost) bool {
	switch {
	case s.Key.MAC != "":
		return h.MAC == s.Key.MAC
	case s.Key.ID != "":
		return hypervisor.CanonicalDUID(h.ID) == hypervisor.CanonicalDUID(s.Key.ID)
	}
	return h.MAC == "" && h.ID == "" && h.Name == s.Key.Name
}

// Get looks in the configuration, which survives, and in the running network, which answers: a reservation that one of them
// lacks is not there (service.ErrAbsent), and one that differs is as the one that differs from the key has it. One that
// became another's is an *owner.ForeignError.
func (s *ReservationStore) Get(ctx context.Context) (Reservation, error) {
	n, err := s.Client.Network(ctx, s.Network)
	if err != nil {
		return Reservation{}, markAbsent(err)
	}
	found, there := s.findReservation(n)
	if !there {
		return Reservation{}, markAbsent(fmt.Errorf("read reservation %s on network %q: %w", s.Key, n.Name, hypervisor.ErrNotFound))
	}
	marks, err := parseHostMarks(n.ConfigXML)
	if err != nil {
		return Reservation{}, err
	}
	mark := marks[found.Key()]
	used := mark.Listed || mark.ID == "" && found == s.Key.DHCPHost // as it is, whoever made it
	switch {
	case s.Owner.Owns(mark.Mark):
		s.Owner = s.Owner.Found(mark.Mark)
	case !used:
		return Reservation{}, s.newForeignError(n, found, mark.Mark)
	}
	if mark.Listed && s.Key.Name == "" {
		found.Name = "" // what the network's own list tells the machine
	}
	return Reservation{DHCPHost: found}, nil
}

func (s *ReservationStore) findReservation(n *hypervisor.Network) (found hypervisor.DHCPHost, there bool) {
	hosts := hypervisor.DHCPHosts(n.Config)
	at := slices.IndexFunc(hosts, s.isForSameMachine)
	if at < 0 {
		return found, false
	}
	if found = hosts[at]; !n.Active() {
		return found, true
	}
	live := hypervisor.DHCPHosts(n.Live)
	if at = slices.IndexFunc(live, s.isForSameMachine); at < 0 {
		return found, false
	}
	if found.IP == s.Key.IP && found.Name == s.Key.Name {
		found = live[at]
	}
	return found, true
}

// Create adds the reservation. One that the network lists itself, and an equal one that nobody marked, are used as they are.
func (s *ReservationStore) Create(ctx context.Context, want Reservation) (Reservation, error) {
	if err := s.Add(ctx, want.DHCPHost); err != nil {
		return want, err
	}
	return s.readBack(ctx, want)
}

// Update changes address or name in place. The machine is known by its MAC address or DUID; one that is known by its name is
// removed and added.
func (s *ReservationStore) Update(ctx context.Context, was, want Reservation) (Reservation, error) {
	if err := s.Reservations.Update(ctx, was.DHCPHost, want.DHCPHost); err != nil {
		return want, err
	}
	return s.readBack(ctx, want)
}

func (s *ReservationStore) readBack(ctx context.Context, want Reservation) (Reservation, error) {
	s.Key, s.Owner = want, s.Owner.Written()
	return s.Get(ctx)
}

// Delete takes the reservation away, unless the network lists it. Another owner's, or a person's that was used as it is,
// stays, with an *owner.ForeignError.
func (s *ReservationStore) Delete(ctx context.Context) error { return s.Remove(ctx, s.Key.DHCPHost) }

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
