package planregistry

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// NetworkClaim is the claim to a network that this plan creates or changes: who checks something against the
// network that is there now must leave it to the apply. Hypervisor "" is the provider's own.
func NetworkClaim(hypervisor, network string) Claim {
	return Claim{Kind: "network name", Scope: nameScope(hypervisor), Value: network}
}

// DHCPClaim is the claim to give out addresses on a network: one that the plan makes or changes and that does
// not lay it will have no DHCP.
func DHCPClaim(hypervisor, network string) Claim {
	return Claim{Kind: "DHCP", Scope: nameScope(hypervisor), Value: network}
}

// BridgeClaim is the claim to the name of a bridge device that comes with a network.
func BridgeClaim(hypervisor, bridge string) Claim {
	return Claim{Kind: "bridge", Scope: nameScope(hypervisor), Value: bridge}
}

// HostBridgeClaim is the claim that a bridge lays whose machine is named by its endpoint: which hypervisor that is
// cannot be told for sure, as a machine has many names. Bridges of one name on several machines lay the same one.
func HostBridgeClaim(bridge string) Claim {
	return Claim{Kind: "bridge", Scope: "a host", Value: bridge}
}

// addressKind is the kind of an AddressClaim.
const addressKind = "IP address"

// virtualKind is the kind of a VirtualAddressClaim.
const virtualKind = "virtual address"

// VirtualAddressClaim is the claim to an address that a VIP has: which segment it is on, the VIP does not say.
func VirtualAddressClaim(address netip.Addr) Claim {
	return Claim{Kind: virtualKind, Scope: "its segment", Value: address.String()}
}

// AddressClaim is the claim to an address on a network, laid by reservations and by nodes' interfaces.
func AddressClaim(hypervisor, network string, address netip.Addr) Claim {
	return Claim{Kind: addressKind, Scope: fmt.Sprintf("network %q of %s", network, nameScope(hypervisor)), Value: address.String()}
}

// ReservationClaim is the claim to the reservation that a machine has on a network.
func ReservationClaim(hypervisor, network, machine string) Claim {
	return Claim{Kind: "reservation for", Scope: fmt.Sprintf("network %q of %s", network, nameScope(hypervisor)), Value: machine}
}

// NameClaim is the claim to the name that a reservation gives a machine, which the addresses of one family have once.
func NameClaim(hypervisor, network, name string, address netip.Addr) Claim {
	kind := "IPv4 name"
	if address.Is6() {
		kind = "IPv6 name"
	}
	return Claim{Kind: kind, Scope: fmt.Sprintf("network %q of %s", network, nameScope(hypervisor)), Value: name}
}

// NewNetworkClaim is the claim to be made by this plan, and not only changed: what is on a network of that name now goes
// with it.
func NewNetworkClaim(hypervisor, network string) Claim {
	return Claim{Kind: "new network", Scope: nameScope(hypervisor), Value: network}
}

// Subnets gathers the subnets that the networks of one plan have, because those must not overlap on one
// hypervisor. It is used as Claims is; the zero value is ready.
type Subnets struct {
	mu   sync.Mutex
	held map[network][]netip.Prefix
}

// network is one by its owner: those of one name on two hypervisors are two.
type network struct{ hypervisor, owner string }

// Overlap is a subnet that overlaps another network's.
type Overlap struct {
	Subnet, Other netip.Prefix
	Holder        string
}

// AnyHypervisor is the place of subnets that machines of several hypervisors route to each other.
const AnyHypervisor = "*"

// Replace gives up what owner held, and takes these subnets on a hypervisor; it returns their overlaps with
// those of other owners, in the order of the owners' names. The zero prefix stands for a subnet that is not known yet.
func (s *Subnets) Replace(owner, hypervisor string, subnets ...netip.Prefix) []Overlap {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = map[network][]netip.Prefix{}
	}
	var overlaps []Overlap
	for other, theirs := range s.held {
		apart := other.hypervisor != hypervisor && other.hypervisor != AnyHypervisor && hypervisor != AnyHypervisor
		if other.owner == owner || apart {
			continue
		}
		for _, mine := range subnets {
			for _, its := range theirs {
				if mine.Overlaps(its) {
					overlaps = append(overlaps, Overlap{mine, its, other.owner})
				}
			}
		}
	}
	slices.SortStableFunc(overlaps, func(a, b Overlap) int { return strings.Compare(a.Holder, b.Holder) })
	s.held[network{hypervisor, owner}] = subnets
	return overlaps
}
