package machine

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/parentcommand"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// checkNetworks checks interfaces against the networks and bridges that are there.
func (k *Checker) checkNetworks(ctx context.Context) error {
	all, err := k.Client.PlanNetworks(ctx)
	if err != nil {
		return err
	}
	k.checkSuccessions(all)
	for n := range k.Want.Interfaces {
		i := &k.Want.Interfaces[n]
		here := pathTo("network_interfaces", n)
		if i.Network == "" {
			continue
		}
		ref := i.Network
		index := slices.IndexFunc(all, func(x *hypervisor.Network) bool { return x.Name == ref || x.UUID == ref })
		if index < 0 {
			if !network.Changes(k.Plan, k.Want.Hypervisor, ref) {
				k.addProblem(pathBelow(here, "network"), "Unknown network", "hypervisor %s has no network %q: make it with virtcluster_network and refer to that resource's name", k.Client.URI(), ref)
			}
			k.checkPlannedAddresses(ref, i, here)
			continue
		}
		if network.Changes(k.Plan, k.Want.Hypervisor, all[index].Name) {
			k.checkPlannedAddresses(all[index].Name, i, here)
			continue
		}
		needed := k.plugsInterface(i, len(compareFixed(k.Was, k.Want)) > 0) || k.Fresh && (i.IP.IsValid() || i.IPv6.IsValid())
		if needed && !all[index].Active() {
			k.addProblem(pathBelow(here, "network"), "Network not active", "network %q of hypervisor %s is stopped: %s", all[index].Name, k.Client.URI(), adviseNetworkStart(all[index].Name))
			continue
		}
		k.checkVLAN(all[index].Config, i, here)
		k.checkReservations(ctx, all[index], i, here)
		k.checkGuestAddresses(ctx, all[index], i, here)
	}
	return nil
}

// CheckPlan returns what is wrong with the addresses on networks that the plan makes or changes. It asks nobody. A network that is
// planned after the machine finds the machine's addresses in its ranges.
func (k *Checker) CheckPlan() []service.Problem {
	for n := range k.Want.Interfaces {
		i := &k.Want.Interfaces[n]
		switch here := pathTo("network_interfaces", n); {
		case i.Network == "":
		case network.Changes(k.Plan, k.Want.Hypervisor, i.Network):
			k.checkPlannedAddresses(i.Network, i, here)
		}
	}
	return k.problems
}

// CheckLeft returns what is wrong with the addresses of a node that stays as it is, on networks that the plan moves to other
// subnets: the network would leave it behind. It warns of rules that name no machine, too.
func (k *Checker) CheckLeft(ctx context.Context) ([]service.Problem, error) {
	changes := false
	for n := range k.Want.Interfaces {
		i := &k.Want.Interfaces[n]
		if i.Network == "" {
			continue
		}
		name, err := k.Cache.NetworkName(ctx, k.Client, i.Network)
		if err != nil || !network.Changes(k.Plan, k.Want.Hypervisor, name) {
			continue
		}
		changes = true
		k.checkStaysInside(ctx, name, i, pathTo("network_interfaces", n))
	}
	if changes {
		all, err := k.Client.PlanNetworks(ctx)
		if err != nil {
			return k.problems, err
		}
		k.checkSuccessions(all)
	}
	return k.problems, k.checkRemotes(ctx)
}

// checkSuccessions refuses what no apply can do: to replace a network under a node that goes on running. Where another network
// can be made beside it, the node moves over, if Terraform makes that one first.
func (k *Checker) checkSuccessions(all []*hypervisor.Network) {
	if k.Fresh || !k.Was.Runs() || !k.Want.Running {
		return
	}
	for n := range k.Want.Interfaces {
		path := pathBelow(pathTo("network_interfaces", n), "network")
		for _, was := range k.Was.Interfaces {
			at := slices.IndexFunc(all, func(x *hypervisor.Network) bool {
				return was.Network != "" && (x.Name == was.Network || x.UUID == was.Network)
			})
			if at < 0 || was.MAC != k.Want.Interfaces[n].MAC {
				continue
			}
			first, goes := network.FindSuccession(k.Plan, k.Client.URI(), all[at].UUID)
			switch {
			case goes && first:
				k.addProblem(path, "Network replaced under a running node", "network %q has to go before what replaces it can be made, and node %q runs on it: set running = false in an apply before that, or keep the network", all[at].Name, k.Want.Name)
			case goes:
				k.problems = append(k.problems, service.Warningf(path, "Network replaced under a running node", "network %q goes, and node %q runs on it: the apply succeeds only if the new network is made first, with lifecycle { create_before_destroy = true }", all[at].Name, k.Want.Name))
			}
		}
	}
}

// checkStaysInside refuses addresses that are in no subnet that a network of the plan will have. A network that somebody gave several
// subnets of a family has more than a plan knows.
func (k *Checker) checkStaysInside(ctx context.Context, name string, i *InterfaceSpec, here []any) {
	subnets, ok := network.PlannedSubnets(k.Plan, k.Want.Hypervisor, name)
	if !ok || len(subnets) == 0 {
		return
	}
	for attribute, ip := range i.reservedAddresses() {
		if slices.ContainsFunc(subnets, func(p netip.Prefix) bool { return p.Contains(ip) }) {
			continue
		}
		if now, err := k.Client.Network(ctx, name); err == nil && len(now.Current().IPs) > len(subnets) {
			continue
		}
		k.addProblem(pathBelow(here, attribute), "Address outside the network", "network %q will have %s, and the node would stay behind with %s: change its address in the same plan, which carries it along", name, listSubnets(subnets), ip)
	}
}

// checkGuestAddresses checks the addresses that an interface gets inside the guest against what the network gives to others.
func (k *Checker) checkGuestAddresses(ctx context.Context, network *hypervisor.Network, i *InterfaceSpec, here []any) {
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
func (k *Checker) checkPlannedAddresses(name string, i *InterfaceSpec, here []any) {
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
func (k *Checker) checkReservations(ctx context.Context, network *hypervisor.Network, i *InterfaceSpec, here []any) {
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
func (k *Checker) findConflict(ctx context.Context, network *hypervisor.Network, i *InterfaceSpec, ip netip.Addr, h hypervisor.DHCPHost) (found conflict, other string) {
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
func (k *Checker) findAddressConflict(ctx context.Context, network *hypervisor.Network, i *InterfaceSpec, h hypervisor.DHCPHost) (found conflict, other string) {
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
func (k *Checker) checkOtherReservation(ctx context.Context, network *hypervisor.Network, i *InterfaceSpec, ip netip.Addr, h hypervisor.DHCPHost, here, path []any) {
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
func (k *Checker) findSwap(i *InterfaceSpec, h hypervisor.DHCPHost) string {
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
func (k *Checker) blocksSwap(ctx context.Context, network *hypervisor.Network, h hypervisor.DHCPHost) bool {
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
func (k *Checker) isOwnReservation(h hypervisor.DHCPHost) bool {
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
func (k *Checker) isReservedForNamesake(h hypervisor.DHCPHost) bool {
	return k.namesake != nil && slices.ContainsFunc(k.namesake.Interfaces, func(i Interface) bool { return i.MAC == h.MAC })
}

// mayBeGivenUp says whether a reservation may be that of a machine of this state: this plan may give that another address. What two of
// one plan want is a matter of their claims, and the apply waits for the other one.
func (k *Checker) mayBeGivenUp(ctx context.Context, h hypervisor.DHCPHost) bool {
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

func describeSubnets(n *libvirtxml.Network) string {
	var all []netip.Prefix
	for _, x := range n.IPs {
		if p, err := hypervisor.Subnet(x); err == nil {
			all = append(all, p)
		}
	}
	return listSubnets(all)
}

func listSubnets(subnets []netip.Prefix) string {
	var all []string
	for _, p := range subnets {
		all = append(all, p.Masked().String())
	}
	if len(all) == 0 {
		return "no subnet of its own"
	}
	return strings.Join(all, " and ")
}

// checkMACs looks for a MAC address among all machines of all hypervisors: they may share a network.
func (k *Checker) checkMACs(ctx context.Context) error {
	wanted := map[string]int{}
	for n, i := range k.Want.Interfaces {
		mac := i.MAC
		kept := !k.Fresh && slices.ContainsFunc(k.Was.Interfaces, func(p InterfaceSpec) bool { return p.MAC == mac })
		if i.MAC != "" && !kept {
			wanted[mac] = n
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for _, c := range k.Hypervisors {
		all, err := k.Cache.listDomains(ctx, c)
		if _, unreachable := errors.AsType[*hypervisor.UnreachableError](err); unreachable && c != k.Client {
			continue
		}
		if err != nil {
			return err
		}
		for _, d := range all {
			m := Read(d.Config)
			if d.UUID == k.Was.UUID || k.Run.LeftBehind(m.Mark.ownerMark()) || k.Cache.isNodeInState(d.UUID) {
				continue
			}
			if c == k.Client && d.Name == k.Want.Name {
				continue // what is taken is the name, which is said already: the address follows from it
			}
			for _, x := range m.Interfaces {
				if n, taken := wanted[x.MAC]; taken {
					k.addProblem(pathTo("network_interfaces", n, "mac"), "MAC address taken", "domain %q on hypervisor %s has %s: write another mac", d.Name, c.URI(), x.MAC)
				}
			}
		}
	}
	return nil
}
