package node

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	networks "github.com/virtcluster/terraform-provider-virtcluster/internal/resources/network"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
	virtnetwork "github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// networks checks interfaces against the networks and bridges that are there.
func (k *checks) networks(ctx context.Context) error {
	all, err := k.c.PlanNetworks(ctx)
	if err != nil {
		return err
	}
	for n := range k.v.parts.Interfaces {
		i := &k.v.parts.Interfaces[n]
		here := at("network_interfaces", n)
		if !known(i.Network) {
			continue
		}
		ref := i.Network.ValueString()
		index := slices.IndexFunc(all, func(x *hypervisor.Network) bool { return x.Name == ref || x.UUID == ref })
		if index < 0 {
			if k.n.Fleet.Claims.Holder(planregistry.NetworkClaim(k.v.Hypervisor.ValueString(), ref)) == "" {
				k.problem(append(here, "network"), "Unknown network", "hypervisor %s has no network %q: make it with virtcluster_network and refer to that resource's name", k.c.URI(), ref)
			}
			k.planned(ref, i, here)
			continue
		}
		if k.n.Fleet.Claims.Holder(planregistry.NetworkClaim(k.v.Hypervisor.ValueString(), all[index].Name)) != "" {
			k.planned(all[index].Name, i, here)
			continue
		}
		needed := k.plugs(i, len(restarts(k.prior, k.v)) > 0) || k.fresh && (known(i.IP) || known(i.IPv6))
		if needed && !all[index].Active() {
			k.problem(append(here, "network"), "Network not active", "network %q of hypervisor %s is stopped: %s", all[index].Name, k.c.URI(), startNetwork(all[index].Name))
			continue
		}
		k.reservation(all[index], i, here)
		k.static(all[index], i, here)
	}
	return nil
}

// static checks the addresses that an interface gets inside the guest against what the network gives to others.
func (k *checks) static(network *hypervisor.Network, i *interfaceModel, here []any) {
	for n, text := range texts(i.Addresses) {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			continue
		}
		ip, path := p.Addr(), append(slices.Clone(here), "addresses", n)
		if _, _, gateway := subnetFor(network, ip); gateway == ip {
			k.problem(path, "Address of the gateway", "%s is the hypervisor's own address in network %q: choose another one", ip, network.Name)
		}
		for _, h := range hypervisor.DHCPHosts(network.Current()) {
			if h.IP == ip && !k.mine(h) && !keeps(h, i) {
				k.problem(path, "Address reserved already", "network %q keeps %s: choose another address, or remove that reservation", network.Name, h)
			}
		}
		k.dynamic(network, i, ip, path)
	}
}

// planned checks an interface's addresses against a network that the plan makes or changes.
func (k *checks) planned(network string, i *interfaceModel, here []any) {
	k.plannedDynamic(network, i, here)
	subnets, ok := k.n.Fleet.Subnets.Of(k.v.Hypervisor.ValueString(), network)
	if !ok || len(subnets) == 0 {
		return
	}
	dhcp := k.n.Fleet.Claims.Holder(networks.DHCPClaim(k.v.Hypervisor.ValueString(), network)) != ""
	for attribute, text := range map[string]string{"ip": i.IP.ValueString(), "ipv6": i.IPv6.ValueString()} {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			continue
		}
		path := append(slices.Clone(here), attribute)
		if !slices.ContainsFunc(subnets, func(p netip.Prefix) bool { return p.Contains(ip) }) {
			k.problem(path, "Address outside the network", "network %q will have %s: choose an address in there", network, joined(subnets))
		} else if !dhcp {
			k.problem(path, "Network without DHCP", "network %q will give no addresses: give it a dhcp block, or write the address among addresses to set it inside the guest", network)
		}
	}
}

// reservation checks an interface's addresses against the network that is there.
func (k *checks) reservation(network *hypervisor.Network, i *interfaceModel, here []any) {
	for attribute, text := range map[string]string{"ip": i.IP.ValueString(), "ipv6": i.IPv6.ValueString()} {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			continue
		}
		path := append(slices.Clone(here), attribute)
		subnet, dhcp, gateway := subnetFor(network, ip)
		switch {
		case !subnet.IsValid():
			k.problem(path, "Address outside the network", "network %q has %s: choose an address in there", network.Name, subnets(network.Current()))
		case !dhcp:
			k.problem(path, "Network without DHCP", "network %q gives no addresses: give it a dhcp block, or write the address among addresses, as %s/%d, to set it inside the guest", network.Name, ip, subnet.Bits())
		case gateway == ip:
			k.problem(path, "Address of the gateway", "%s is the hypervisor's own address in network %q: choose another one", ip, network.Name)
		}
		k.dynamic(network, i, ip, path)
		for _, h := range hypervisor.DHCPHosts(network.Current()) {
			if h.IP == ip && !k.mine(h) && !keeps(h, i) {
				k.problem(path, "Address reserved already", "network %q keeps %s: choose another address, or remove that reservation", network.Name, h)
			}
			if ip.Is4() && h.IP.Is4() && h.IP != ip && !k.mine(h) && known(i.MAC) && keeps(h, i) {
				k.problem(path, "MAC address reserved already", "network %q keeps %s: write that address or another mac, or remove that reservation", network.Name, h)
			}
			named := h.IP.Is6() == ip.Is6() && h.IP != ip && h.Name != "" && known(i.Hostname) && h.Name == i.Hostname.ValueString()
			if named && !k.mine(h) && (ip.Is6() || !keeps(h, i)) {
				k.problem(append(slices.Clone(here), "hostname"), "Name reserved already", "network %q keeps %s (%s), and takes a name once: write another hostname, or remove that reservation", network.Name, h, h.Name)
			}
		}
	}
}

// mine says whether a reservation belongs to the node as it is, or, where it is planned as a new one, to any that is in
// state: what two of the plan want is a matter of their claims.
func (k *checks) mine(h hypervisor.DHCPHost) bool {
	has := func(interfaces []interfaceModel) bool {
		return slices.ContainsFunc(interfaces, func(i interfaceModel) bool { return keeps(h, &i) && (h.IP.Is4() || known(i.IPv6)) })
	}
	found := has(k.prior.parts.Interfaces)
	if k.fresh && !found {
		k.n.facts.held.Range(func(_, interfaces any) bool {
			found = has(interfaces.([]interfaceModel))
			return !found
		})
	}
	return found
}

// keeps says whether a reservation is for an interface: by its MAC address, on IPv6 by its name.
func keeps(h hypervisor.DHCPHost, i *interfaceModel) bool {
	if h.IP.Is6() {
		return h.ID == "" && h.Name == i.Hostname.ValueString()
	}
	return !known(i.MAC) || h.MAC == canonicalMAC(i.MAC.ValueString())
}

// subnetFor finds the subnet of a network that an address is in, and says whether it gives out addresses: it
// does, or its definition says that it shall for reservations alone.
func subnetFor(n *hypervisor.Network, ip netip.Addr) (subnet netip.Prefix, dhcp bool, gateway netip.Addr) {
	for _, x := range n.Current().IPs {
		if p, err := hypervisor.Subnet(x); err == nil && p.Contains(ip) {
			spec, err := virtnetwork.Parse(n.ConfigXML)
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
func (k *checks) macs(ctx context.Context) error {
	wanted := map[string]int{}
	for n, i := range k.v.parts.Interfaces {
		mac := canonicalMAC(i.MAC.ValueString())
		kept := !k.fresh && slices.ContainsFunc(k.prior.parts.Interfaces, func(p interfaceModel) bool { return canonicalMAC(p.MAC.ValueString()) == mac })
		if known(i.MAC) && !kept {
			wanted[mac] = n
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for _, name := range k.n.Fleet.Names() {
		c, err := k.n.Fleet.Hypervisor(ctx, name)
		if err != nil {
			continue // it is not known yet, or the resources on it say what is wrong with it
		}
		all, err := k.n.facts.domains(ctx, c)
		if _, unreachable := errors.AsType[*hypervisor.UnreachableError](err); unreachable && c != k.c {
			continue
		}
		if err != nil {
			return err
		}
		for _, d := range all {
			m := machine.Read(d.Config)
			if d.UUID == k.prior.ID.ValueString() || m.Mark.Creating || k.n.facts.holds(d.UUID) {
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
