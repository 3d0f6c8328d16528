package machine

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// networks checks interfaces against the networks and bridges that are there.
func (k *Checker) networks(ctx context.Context) error {
	all, err := k.Client.PlanNetworks(ctx)
	if err != nil {
		return err
	}
	for n := range k.Want.Interfaces {
		i := &k.Want.Interfaces[n]
		here := at("network_interfaces", n)
		if i.Network == "" {
			continue
		}
		ref := i.Network
		index := slices.IndexFunc(all, func(x *hypervisor.Network) bool { return x.Name == ref || x.UUID == ref })
		if index < 0 {
			if k.Plan.Claims.Holder(planregistry.NetworkClaim(k.Want.Hypervisor, ref)) == "" {
				k.problem(within(here, "network"), "Unknown network", "hypervisor %s has no network %q: make it with virtcluster_network and refer to that resource's name", k.Client.URI(), ref)
			}
			k.planned(ref, i, here)
			continue
		}
		if k.Plan.Claims.Holder(planregistry.NetworkClaim(k.Want.Hypervisor, all[index].Name)) != "" {
			k.planned(all[index].Name, i, here)
			continue
		}
		needed := k.plugs(i, len(compareFixed(k.Was, k.Want)) > 0) || k.Fresh && (i.IP != "" || i.IPv6 != "")
		if needed && !all[index].Active() {
			k.problem(within(here, "network"), "Network not active", "network %q of hypervisor %s is stopped: %s", all[index].Name, k.Client.URI(), startNetwork(all[index].Name))
			continue
		}
		k.reservation(ctx, all[index], i, here)
		k.static(ctx, all[index], i, here)
	}
	return nil
}

// static checks the addresses that an interface gets inside the guest against what the network gives to others.
func (k *Checker) static(ctx context.Context, network *hypervisor.Network, i *InterfaceSpec, here []any) {
	for n, text := range i.Addresses {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			continue
		}
		ip, path := p.Addr(), within(here, "addresses", n)
		if _, _, gateway := subnetFor(network, ip); gateway == ip {
			k.problem(path, "Address of the gateway", "%s is the hypervisor's own address in network %q: choose another one", ip, network.Name)
		}
		for _, h := range hypervisor.DHCPHosts(network.Current()) {
			if h.IP == ip && !k.mine(h) && !keeps(h, i) && !k.mayLeave(ctx, h) {
				k.problem(path, "Address reserved already", "network %q keeps %s: choose another address, or remove that reservation", network.Name, h)
			}
		}
		k.checkRanges(network, i, ip, path)
	}
}

// planned checks an interface's addresses against a network that the plan makes or changes.
func (k *Checker) planned(network string, i *InterfaceSpec, here []any) {
	k.checkPlannedRanges(network, i, here)
	subnets, ok := k.Plan.Subnets.Of(k.Want.Hypervisor, network)
	if !ok || len(subnets) == 0 {
		return
	}
	dhcp := k.Plan.Claims.Holder(planregistry.DHCPClaim(k.Want.Hypervisor, network)) != ""
	for attribute, text := range map[string]string{"ip": i.IP, "ipv6": i.IPv6} {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			continue
		}
		path := within(here, attribute)
		if !slices.ContainsFunc(subnets, func(p netip.Prefix) bool { return p.Contains(ip) }) {
			k.problem(path, "Address outside the network", "network %q will have %s: choose an address in there", network, joined(subnets))
		} else if !dhcp {
			k.problem(path, "Network without DHCP", "network %q will give no addresses: give it a dhcp block, or write the address among addresses to set it inside the guest", network)
		}
	}
}

// reservation checks an interface's addresses against the network that is there.
func (k *Checker) reservation(ctx context.Context, network *hypervisor.Network, i *InterfaceSpec, here []any) {
	for attribute, text := range map[string]string{"ip": i.IP, "ipv6": i.IPv6} {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			continue
		}
		path := within(here, attribute)
		subnet, dhcp, gateway := subnetFor(network, ip)
		switch {
		case !subnet.IsValid():
			k.problem(path, "Address outside the network", "network %q has %s: choose an address in there", network.Name, subnets(network.Current()))
		case !dhcp:
			k.problem(path, "Network without DHCP", "network %q gives no addresses: give it a dhcp block, or write the address among addresses, as %s/%d, to set it inside the guest", network.Name, ip, subnet.Bits())
		case gateway == ip:
			k.problem(path, "Address of the gateway", "%s is the hypervisor's own address in network %q: choose another one", ip, network.Name)
		}
		k.checkRanges(network, i, ip, path)
		for _, h := range hypervisor.DHCPHosts(network.Current()) {
			if h.IP == ip && !k.mine(h) && !keeps(h, i) && !k.mayLeave(ctx, h) {
				k.problem(path, "Address reserved already", "network %q keeps %s: choose another address, or remove that reservation", network.Name, h)
			}
			if ip.Is4() && h.IP.Is4() && h.IP != ip && !k.mine(h) && i.MAC != "" && keeps(h, i) {
				k.problem(path, "MAC address reserved already", "network %q keeps %s: write that address or another mac, or remove that reservation", network.Name, h)
			}
			named := h.IP.Is6() == ip.Is6() && h.IP != ip && h.Name != "" && h.Name == i.Hostname
			if named && !k.mine(h) && (ip.Is6() || !keeps(h, i)) {
				k.problem(within(here, "hostname"), "Name reserved already", "network %q keeps %s (%s), and takes a name once: write another hostname, or remove that reservation", network.Name, h, h.Name)
			}
		}
	}
}

// mine says whether a reservation belongs to the node as it is, or, where it is planned as a new one, to any that is in
// state: what two of the plan want is a matter of their claims.
func (k *Checker) mine(h hypervisor.DHCPHost) bool {
	has := func(interfaces []InterfaceSpec) bool {
		return slices.ContainsFunc(interfaces, func(i InterfaceSpec) bool { return keeps(h, &i) && (h.IP.Is4() || i.IPv6 != "") })
	}
	found := has(k.Was.Interfaces)
	if k.Fresh && !found {
		k.Facts.held.Range(func(_, interfaces any) bool {
			found = has(interfaces.([]InterfaceSpec))
			return !found
		})
	}
	return found
}

// mayLeave says whether a reservation is that of a machine of the same workspace: this plan may give that another address. What
// two of one plan want is a matter of their claims, and the apply waits for the other one.
func (k *Checker) mayLeave(ctx context.Context, h hypervisor.DHCPHost) bool {
	all, err := k.Facts.domains(ctx, k.Client)
	return err == nil && k.Owner.Workspace != "" && reservedBy(all, h, k.Owner.Workspace)
}

// keeps says whether a reservation is for an interface: by its MAC address, on IPv6 by its name.
func keeps(h hypervisor.DHCPHost, i *InterfaceSpec) bool {
	if h.IP.Is6() {
		return h.ID == "" && h.Name == i.Hostname
	}
	return i.MAC == "" || h.MAC == i.MAC
}

// subnetFor finds the subnet of a network that an address is in, and says whether it gives out addresses: it
// does, or its definition says that it shall for reservations alone.
func subnetFor(n *hypervisor.Network, ip netip.Addr) (subnet netip.Prefix, dhcp bool, gateway netip.Addr) {
	for _, x := range n.Current().IPs {
		if p, err := hypervisor.Subnet(x); err == nil && p.Contains(ip) {
			spec, err := network.Parse(n.ConfigXML)
			return p.Masked(), x.DHCP != nil || err == nil && spec.DHCP != nil, p.Addr()
		}
	}
	return netip.Prefix{}, false, netip.Addr{}
}

func subnets(n *libvirtxml.Network) string {
	var all []netip.Prefix
	for _, x := range n.IPs {
		if p, err := hypervisor.Subnet(x); err == nil {
			all = append(all, p)
		}
	}
	return joined(all)
}

func joined(subnets []netip.Prefix) string {
	var all []string
	for _, p := range subnets {
		all = append(all, p.Masked().String())
	}
	if len(all) == 0 {
		return "no subnet of its own"
	}
	return strings.Join(all, " and ")
}

// macs looks for a MAC address among all machines of all hypervisors: they may share a network.
func (k *Checker) macs(ctx context.Context) error {
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
		all, err := k.Facts.domains(ctx, c)
		if _, unreachable := errors.AsType[*hypervisor.UnreachableError](err); unreachable && c != k.Client {
			continue
		}
		if err != nil {
			return err
		}
		for _, d := range all {
			m := Read(d.Config)
			if d.UUID == k.Was.UUID || m.Mark.Creating || k.Facts.holds(d.UUID) {
				continue
			}
			for _, x := range m.Interfaces {
				if n, taken := wanted[x.MAC]; taken {
					k.problem(at("network_interfaces", n, "mac"), "MAC address taken", "domain %q on hypervisor %s has %s: write another mac", d.Name, c.URI(), x.MAC)
				}
			}
		}
	}
	return nil
}
