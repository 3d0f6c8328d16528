package network

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// ReservationChecker finds what can be known about a planned reservation only by asking its hypervisor.
type ReservationChecker struct {
	// Reservations are those of the resource that plans it.
	Reservations
	// Hypervisor is its name in the configuration, "" for the provider's own, and Plan is what the plan holds.
	Hypervisor string
	Plan       plan.View
	Want       Reservation
	// Fresh is set for a reservation that is to be made, and Stays for one that keeps its address.
	Fresh, Stays bool
}

// Check returns what is wrong with the reservation, on the network that is there or on the one that the plan makes of it. The
// error is a hypervisor that does not answer.
func (k *ReservationChecker) Check(ctx context.Context) ([]service.Problem, error) {
	networks, err := k.Client.PlanNetworks(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(networks, func(n *hypervisor.Network) bool { return n.Name == k.Network || n.UUID == k.Network })
	switch {
	case at >= 0 && !k.plansNetwork(networks[at].Name):
		problems := k.checkName(ctx, networks[at])
		if !k.Stays {
			problems = append(problems, k.checkAddress(ctx, networks[at])...)
		}
		return problems, nil
	case at >= 0 && !hasSeveralSubnets(networks[at], k.Want.IP):
		return k.checkPlanned(networks[at].Name), nil
	case k.plansNetwork(k.Network):
		return k.checkPlanned(k.Network), nil
	case at < 0:
		return []service.Problem{service.Problemf([]any{"network"}, "Unknown network",
			"Hypervisor %s has no network %q. If a resource of this configuration makes it, refer to that resource's name, so that it is made first.", k.Client.URI(), k.Network)}, nil
	}
	return nil, nil
}

// CheckPlan returns what is wrong with the address on a network that the plan makes or changes. It asks nobody.
func (k *ReservationChecker) CheckPlan() []service.Problem {
	if !k.plansNetwork(k.Network) {
		return nil
	}
	return k.checkPlanned(k.Network)
}

// plansNetwork says whether the plan makes or changes a network: what it has now says nothing then.
func (k *ReservationChecker) plansNetwork(network string) bool {
	return Changes(k.Plan, k.Hypervisor, network)
}

// hasSeveralSubnets says whether a network has several subnets of an address's family, as an imported one may: the plan knows one.
func hasSeveralSubnets(n *hypervisor.Network, ip netip.Addr) bool {
	count := 0
	for _, x := range n.Current().IPs {
		if p, err := hypervisor.Subnet(x); err == nil && p.Addr().Is6() == ip.Is6() {
			count++
		}
	}
	return count > 1
}

func (k *ReservationChecker) newProblem(summary, format string, args ...any) service.Problem {
	return service.Problemf([]any{"ip"}, summary, format, args...)
}

// checkHostAddress refuses the address of a subnet itself and the one that broadcasts in it.
func (k *ReservationChecker) checkHostAddress(subnet netip.Prefix) []service.Problem {
	if !isReservedIn(subnet, k.Want.IP) {
		return nil
	}
	return []service.Problem{k.newProblem("No host address", "%s is the network or broadcast address of %s: write another.", k.Want.IP, subnet)}
}

// checkPlanned refuses an address that is in no subnet that a network of the plan will have.
func (k *ReservationChecker) checkPlanned(network string) []service.Problem {
	subnets, ok := PlannedSubnets(k.Plan, k.Hypervisor, network)
	var problems []service.Problem
	for _, subnet := range subnets {
		problems = append(problems, k.checkHostAddress(subnet)...)
	}
	if ok && !slices.ContainsFunc(subnets, func(p netip.Prefix) bool { return p.Contains(k.Want.IP) }) {
		problems = append(problems, k.newProblem("Address outside the network", "Network %q will have %s: write an address in there, not %s.",
			network, cmp.Or(strings.Trim(fmt.Sprint(subnets), "[]"), "no subnet"), k.Want.IP))
	}
	return problems
}

// AddressInRangeProblem returns the problem of a reservation's address that a network gives to any machine.
func AddressInRangeProblem(network string, ip netip.Addr, r Range) service.Problem {
	return service.Problemf([]any{"ip"}, "Address in a DHCP range",
		"Network %q gives %s to %s to any machine, so another one could have %s already: write an address outside of it, or end the range before it.", network, r.Start, r.End, ip)
}

// checkName refuses a name that another reservation of the network has: libvirt takes it once.
func (k *ReservationChecker) checkName(ctx context.Context, n *hypervisor.Network) []service.Problem {
	var problems []service.Problem
	for _, h := range hypervisor.DHCPHosts(n.Current()) {
		if SameName(k.Want.DHCPHost, h) && !k.GivesWayInPlan(n, h) {
			problems = append(problems, service.Problemf([]any{"hostname"}, "Name reserved already",
				"Network %q keeps %s (%s), and libvirt takes a name once: write another, or remove that reservation or rename it in an apply of its own.", n.Name, h, h.Name))
		}
	}
	return problems
}

// checkAddress compares the address with the network as it is.
func (k *ReservationChecker) checkAddress(ctx context.Context, n *hypervisor.Network) []service.Problem {
	spec, err := Parse(n.ConfigXML)
	if err != nil {
		return nil // the network's own resource or the apply tells
	}
	ip, subnet, gateway := k.Want.IP, spec.Subnet, spec.Gateway
	if ip.Is6() {
		subnet, gateway = spec.Subnet6, spec.Gateway6
	}
	problems := k.checkHostAddress(subnet)
	switch {
	case !subnet.IsValid():
		problems = append(problems, k.newProblem("Address outside the network", "Network %q has no subnet of the family of %s.", n.Name, ip))
	case !subnet.Contains(ip):
		problems = append(problems, k.newProblem("Address outside the network", "%s is not inside %s, the subnet of network %q: write an address in there.", ip, subnet, n.Name))
	case len(problems) == 0 && ip == gateway:
		problems = append(problems, k.newProblem("Address of the gateway", "%s is the hypervisor's own address on network %q: write another one.", ip, n.Name))
	}
	for _, r := range hypervisor.DHCPRanges(n.Current()) {
		if (plan.Span{First: r.Start, Last: r.End}).Contains(ip) {
			problems = append(problems, AddressInRangeProblem(n.Name, ip, Range(r)))
		}
	}
	return append(problems, k.checkOthers(ctx, n)...)
}

// checkOthers compares the reservation with those that the network has.
func (k *ReservationChecker) checkOthers(ctx context.Context, n *hypervisor.Network) []service.Problem {
	var problems []service.Problem
	want := k.Want
	for _, h := range hypervisor.DHCPHosts(n.Current()) {
		switch {
		case h.Key() == want.Key() && h.IP != want.IP && ListsReservation(n, h):
			problems = append(problems, k.newProblem("Address listed by the network", "The dhcp.hosts of network %q keeps %s: write that address, or change it there.", n.Name, h))
		case h.IP == want.IP && h.Key() != want.Key() && !k.GivesWayInPlan(n, h):
			problems = append(problems, k.newProblem("Address reserved already", "Network %q keeps %s: write another address, or remove that reservation.", n.Name, h))
		// One that is there and that this resource owns is not looked at: its address is what changes.
		case k.Fresh && h.IP != want.IP && h.IP.Is4() && want.IP.Is4() && h.MAC == want.MAC && !k.GivesWayInPlan(n, h):
			problems = append(problems, service.Problemf([]any{"mac"}, "MAC address reserved already", "Network %q keeps %s: write that address, or remove that reservation.", n.Name, h))
		}
	}
	return problems
}
