package machine

import (
	"context"
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/parentcommand"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
	"libvirt.org/go/libvirtxml"
)

// addressChecker finds what is in the way of the addresses that a planned machine has on libvirt's networks.
type addressChecker struct{ *Checker }

// checkGuestAddresses checks the addresses that an interface gets inside the guest against what the network gives to others.
func (k addressChecker) checkGuestAddresses(ctx context.Context, network *hypervisor.Network, i *InterfaceSpec, here []any) {
	for n, ip := range i.listAddresses() {
		path := pathBelow(here, "addresses", n)
		if _, _, gateway := findSubnet(network, ip); gateway == ip {
			k.addProblem(path, "Address of the gateway", "%s is the hypervisor's own address in network %q: choose another one", ip, network.Name)
		}
		for _, h := range hypervisor.DHCPHosts(network.Current()) {
			if h.IP == ip && !k.isOwnReservation(h) && !isReservedFor(h, i) && !k.mayBeGivenUp(ctx, h) {
				k.addProblem(path, "Address reserved already", "network %q keeps %s: choose another address, or remove that reservation", network.Name, h)
			}
		}
		k.checkRanges(network, i, ip, path)
	}
}

// checkPlannedAddresses checks an interface's addresses against a network that the plan makes or changes.
func (k addressChecker) checkPlannedAddresses(name string, i *InterfaceSpec, here []any) {
	subnets, ok := network.PlannedSubnets(k.Plan, k.Want.Hypervisor, name)
	if !ok || len(subnets) == 0 {
		return
	}
	_, without := k.Plan.Find(plan.Use{Kind: plan.NoDHCP, On: plan.NameHypervisor(k.Want.Hypervisor), Value: name})
	for attribute, ip := range i.reservedAddresses() {
		path := pathBelow(here, attribute)
		if !slices.ContainsFunc(subnets, func(p netip.Prefix) bool { return p.Contains(ip) }) {
			k.addProblem(path, "Address outside the network", "network %q will have %s: choose an address in there", name, listSubnets(subnets))
		} else if without {
			k.addProblem(path, "Network without DHCP", "network %q will give no addresses: give it a dhcp block, or write the address among addresses to set it inside the guest", name)
		}
	}
}

// checkReservations checks an interface's addresses against the network that is there.
func (k addressChecker) checkReservations(ctx context.Context, network *hypervisor.Network, i *InterfaceSpec, here []any) {
	for attribute, ip := range i.reservedAddresses() {
		path := pathBelow(here, attribute)
		subnet, dhcp, gateway := findSubnet(network, ip)
		switch {
		case !subnet.IsValid():
			k.addProblem(path, "Address outside the network", "network %q has %s: choose an address in there", network.Name, describeSubnets(network.Current()))
		case !dhcp:
			k.addProblem(path, "Network without DHCP", "network %q gives no addresses: give it a dhcp block, or write the address among addresses, as %s/%d, to set it inside the guest", network.Name, ip, subnet.Bits())
		case gateway == ip:
			k.addProblem(path, "Address of the gateway", "%s is the hypervisor's own address in network %q: choose another one", ip, network.Name)
		}
		k.checkRanges(network, i, ip, path)
		for _, h := range hypervisor.DHCPHosts(network.Current()) {
			k.checkOtherReservation(ctx, network, i, ip, h, here, path)
		}
	}
}

// checkRanges refuses a new address of an interface that the network gives to any machine.
func (k addressChecker) checkRanges(network *hypervisor.Network, i *InterfaceSpec, ip netip.Addr, path []any) {
	for _, r := range hypervisor.DHCPRanges(network.Current()) {
		if run := (plan.Span{First: r.Start, Last: r.End}); run.Contains(ip) && !k.hasAddress(i, ip) {
			k.refuseInRange(network.Name, run, ip, path)
		}
	}
}

func (k addressChecker) refuseInRange(network string, r plan.Span, ip netip.Addr, path []any) {
	k.addProblem(path, "Address in a DHCP range", "network %q gives %s to %s to any machine, so another one could have %s too: choose an address outside of it, or end the range before it", network, r.First, r.Last, ip)
}

// hasAddress says whether the node has an address in state, on the same network: one that stands already is not refused.
func (k addressChecker) hasAddress(i *InterfaceSpec, ip netip.Addr) bool {
	return !k.Fresh && slices.ContainsFunc(k.Was.Interfaces, func(p InterfaceSpec) bool {
		return p.Network == i.Network && slices.Contains(append(p.listAddresses(), p.IP, p.IPv6), ip)
	})
}

// conflict is how another reservation of a network is in the way of an interface's.
type conflict int

const (
	noConflict conflict = iota
	addressKept
	// serialSwap and runningSwap are two nodes of the plan that swap addresses, which neither gets: as the changes are made one by one,
	// and as both run.
	serialSwap
	runningSwap
	macKept
	nameKept
)

// findConflict says how another reservation of a network is in the way of an interface's of an address, and with which node of the plan
// that is a swap.
func (k addressChecker) findConflict(ctx context.Context, network *hypervisor.Network, i *InterfaceSpec, ip netip.Addr, h hypervisor.DHCPHost) (found conflict, other string) {
	reserved := isReservedFor(h, i)
	switch {
	case k.isOwnReservation(h) || h.IP == ip && reserved || h.IP.Is6() != ip.Is6():
		return noConflict, ""
	case h.IP == ip:
		return k.findAddressConflict(ctx, network, i, h)
	case k.isReservedForNamesake(h):
		return noConflict, ""
	case ip.Is4() && reserved && i.MAC != "":
		return macKept, ""
	case h.Name != "" && h.Name == i.Hostname && (ip.Is6() || !reserved):
		return nameKept, ""
	}
	return noConflict, ""
}

// findAddressConflict is findConflict for another reservation of the very address.
func (k addressChecker) findAddressConflict(ctx context.Context, network *hypervisor.Network, i *InterfaceSpec, h hypervisor.DHCPHost) (found conflict, other string) {
	if !k.mayBeGivenUp(ctx, h) {
		return addressKept, ""
	}
	switch other = k.findSwap(i, h); {
	case other == "":
		return noConflict, ""
	case parentcommand.Serial():
		return serialSwap, other
	case k.blocksSwap(ctx, network, h):
		return runningSwap, other
	}
	return noConflict, ""
}

// checkOtherReservation refuses an interface's reservation of an address that another one of the network is in the way of.
func (k addressChecker) checkOtherReservation(ctx context.Context, network *hypervisor.Network, i *InterfaceSpec, ip netip.Addr, h hypervisor.DHCPHost, here, path []any) {
	switch found, other := k.findConflict(ctx, network, i, ip, h); found {
	case noConflict:
	case addressKept:
		k.addProblem(path, "Address reserved already", "network %q keeps %s: choose another address, or remove that reservation", network.Name, h)
	case serialSwap:
		k.addProblem(path, "Nodes swap addresses", "%s takes the address that node %q leaves and leaves this one, and with -parallelism=1 neither can wait for the other: apply without that option", other, k.Want.Name)
	case runningSwap:
		k.addProblem(path, "Running nodes swap addresses", "%s takes the address that node %q leaves and leaves this one, both go on running, and network %q has no range of addresses from which DHCP could lend one meanwhile: "+
			"neither guest would get its new address. Give the network a range, or stop one of the nodes (running = false) in an apply before", other, k.Want.Name, network.Name)
	case macKept:
		k.addProblem(path, "MAC address reserved already", "network %q keeps %s: write that address or another mac, or remove that reservation", network.Name, h)
	case nameKept:
		k.addProblem(pathBelow(here, "hostname"), "Name reserved already", "network %q keeps %s (%s), and takes a name once: write another hostname, or remove that reservation", network.Name, h, h.Name)
	}
}

// findSwap finds the other node of the plan that has an interface's new address reserved now, and is to get the interface's old one; ""
// for none.
func (k addressChecker) findSwap(i *InterfaceSpec, h hypervisor.DHCPHost) string {
	other := k.findHolder(reservationKinds, i.Network, h.MAC)
	for _, was := range k.Was.Interfaces {
		if was.IP.IsValid() && !k.Fresh && was.MAC == i.MAC && was.IP != h.IP && k.findHolder(addressKinds, i.Network, was.IP.String()).ID == other.ID {
			return other.Name
		}
	}
	return ""
}

// blocksSwap says whether neither of two nodes that swap addresses would get its new one, the other of which has the reservation: both
// run, in a subnet where DHCP has no other address to lend. dnsmasq offers no address that another guest has leased, and takes none
// back that is reserved for another one, so that each of the two would wait for the other.
func (k addressChecker) blocksSwap(ctx context.Context, network *hypervisor.Network, h hypervisor.DHCPHost) bool {
	if !h.IP.Is4() || !k.Was.Runs() || !k.Want.Running || lendsAddresses(network, h.IP) {
		return false
	}
	all, err := k.Cache.listDomains(ctx, k.Client)
	return err == nil && slices.ContainsFunc(all, func(d *hypervisor.Domain) bool {
		return d.Active() && slices.ContainsFunc(Read(d.Config).Interfaces, func(x Interface) bool { return x.MAC == h.MAC })
	})
}

// lendsAddresses says whether the subnet of an address gives out addresses that nobody has reserved.
func lendsAddresses(n *hypervisor.Network, ip netip.Addr) bool {
	return slices.ContainsFunc(n.Current().IPs, func(x libvirtxml.NetworkIP) bool {
		p, err := hypervisor.Subnet(x)
		return err == nil && p.Contains(ip) && x.DHCP != nil && len(x.DHCP.Ranges) > 0
	})
}

// isOwnReservation says whether a reservation belongs to the node as it is, or, where it is planned as a new one, to any that is in
// state: what two of the plan want is a matter of their claims.
func (k addressChecker) isOwnReservation(h hypervisor.DHCPHost) bool {
	has := func(interfaces []InterfaceSpec) bool {
		return slices.ContainsFunc(interfaces, func(i InterfaceSpec) bool { return isReservedFor(h, &i) && (h.IP.Is4() || i.IPv6.IsValid()) })
	}
	found := has(k.Was.Interfaces)
	if k.Fresh && !found {
		k.Cache.held.Range(func(_, interfaces any) bool {
			found = has(interfaces.([]InterfaceSpec))
			return !found
		})
	}
	return found
}

// isReservedForNamesake says whether a reservation is that of the machine that has the name already, which is said.
func (k addressChecker) isReservedForNamesake(h hypervisor.DHCPHost) bool {
	return k.namesake != nil && slices.ContainsFunc(k.namesake.Interfaces, func(i Interface) bool { return i.MAC == h.MAC })
}

// mayBeGivenUp says whether a reservation may be that of a machine of this state: this plan may give that another address. What two of
// one plan want is a matter of their claims, and the apply waits for the other one.
func (k addressChecker) mayBeGivenUp(ctx context.Context, h hypervisor.DHCPHost) bool {
	all, err := k.Cache.listDomains(ctx, k.Client)
	return err == nil && isReservedBy(all, h, k.Run.MayBeInState)
}

// isReservedFor says whether a reservation is for an interface: by its MAC address, on IPv6 by its name.
func isReservedFor(h hypervisor.DHCPHost, i *InterfaceSpec) bool {
	if h.IP.Is6() {
		return h.ID == "" && h.Name == i.Hostname
	}
	return i.MAC == "" || h.MAC == i.MAC
}

// findSubnet finds the subnet of a network that an address is in, and says whether it gives out addresses: it
// does, or its definition says that it shall for reservations alone.
func findSubnet(n *hypervisor.Network, ip netip.Addr) (subnet netip.Prefix, dhcp bool, gateway netip.Addr) {
	for _, x := range n.Current().IPs {
		if p, err := hypervisor.Subnet(x); err == nil && p.Contains(ip) {
			spec, err := network.Parse(n.ConfigXML)
			return p.Masked(), x.DHCP != nil || err == nil && spec.DHCP != nil, p.Addr()
		}
	}
	return netip.Prefix{}, false, netip.Addr{}
}

// findHolder returns which resource of the plan has something on a network of the machine's hypervisor: a reservation, or an address. Its
// id is "" for none.
func (k addressChecker) findHolder(kinds []plan.Kind, network, value string) plan.Holder {
	for _, kind := range kinds {
		if h, found := k.Plan.Find(plan.Use{Kind: kind, On: plan.NameHypervisor(k.Want.Hypervisor), Scope: plan.OnNetwork(network), Value: value}); found {
			return h
		}
	}
	return plan.Holder{}
}
