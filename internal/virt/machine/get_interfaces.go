package machine

import (
	"context"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// readInterfaces reads a machine's interfaces in the order in which they are known; others come last.
func readInterfaces(ctx context.Context, c *hypervisor.Client, facts *HypervisorCache, ports Northbounds, known []InterfaceSpec, d *hypervisor.Domain, m *Machine) ([]InterfaceSpec, error) {
	position := func(mac string) int {
		n := slices.IndexFunc(known, func(i InterfaceSpec) bool { return i.MAC == mac })
		if n < 0 {
			return len(known)
		}
		return n
	}
	found := slices.DeleteFunc(slices.Clone(m.Interfaces), func(x Interface) bool {
		return m.Mark.Interface(x.MAC).MAC != "" && d.Active() && FindInterface(d.Live, x.MAC) == nil // somebody took it from what runs
	})
	slices.SortStableFunc(found, func(a, b Interface) int { return position(a.MAC) - position(b.MAC) })
	var all []InterfaceSpec
	for n, x := range found {
		var was *InterfaceSpec
		if p := position(x.MAC); p < len(known) {
			was = &known[p]
		}
		marked := m.Mark.Interface(x.MAC)
		i := marked.toSpec()
		if i.Name == "" {
			i.Name = InterfaceName(n)
		}
		i.MAC, i.Model, i.Bridge, i.Network, i.MTU, i.Hostname, i.Wiring = x.MAC, x.Model, x.Bridge, x.Network, x.MTU, m.Name, x.Wiring
		if i.Bandwidth = x.Bandwidth; was == nil || was.Bandwidth == x.Bandwidth { // else the configuration's is the drift to tell
			live, err := findLiveBandwidth(ctx, c, d, x.MAC, x.Bandwidth)
			if err != nil {
				return nil, err
			}
			i.Bandwidth = live
		}
		guard, err := readGuard(ctx, c, m, x)
		if err != nil {
			return nil, err
		}
		rules, err := readSecurity(ctx, c, m, x, guard, marked.Rules)
		if err != nil {
			return nil, err
		}
		i.SecurityRules = rules
		if x.Port != "" {
			if err := i.readPort(ctx, ports, was, marked, x.Port); err != nil {
				return nil, err
			}
		}
		if x.Network != "" {
			if err := i.readReservations(ctx, c, was, marked); err != nil {
				return nil, err
			}
		}
		if was == nil && !i.IP.IsValid() && marked.Hostname != "" {
			i.Hostname = marked.Hostname
		}
		if was != nil {
			if !i.IP.IsValid() && was.Hostname != "" {
				i.Hostname = was.Hostname // nothing else knows the name of an interface without a reservation
			}
			network, err := keepNetwork(ctx, c, facts, was.Network, i.Network)
			if err != nil {
				return nil, err
			}
			i.Network = network
		}
		if x.Port == "" { // else OVN says it, which drops by itself what the guest may not send
			i.PortSecurity = readPortSecurity(guard, m, was, &i)
		}
		all = append(all, i)
	}
	return all, nil
}

// readReservations reads the addresses that the network keeps for an interface.
func (i *InterfaceSpec) readReservations(ctx context.Context, c *hypervisor.Client, was *InterfaceSpec, marked MarkedInterface) error {
	n, err := c.SharedNetwork(ctx, i.Network)
	if hypervisor.IsNotFound(err) {
		return nil // and with it its reservations
	}
	if err != nil {
		return err
	}
	for _, h := range hypervisor.DHCPHosts(n.Current()) {
		switch {
		case h.MAC == i.MAC:
			i.IP = h.IP
			if h.Name != "" {
				i.Hostname = h.Name
			} else if was != nil && was.Hostname != "" && network.ListsReservation(n, h) {
				i.Hostname = was.Hostname // the network's list need not have it
			}
		case isKeptFor(h, marked), h.IP.Is6() && was != nil && was.IPv6.IsValid() && h.Name == was.Hostname:
			i.IPv6 = h.IP
			if !i.IP.IsValid() {
				i.Hostname = h.Name
			}
		}
	}
	return nil
}

// keepNetwork keeps a network's id where the interface is in the network of that id.
func keepNetwork(ctx context.Context, c *hypervisor.Client, facts *HypervisorCache, known, network string) (string, error) {
	if !hypervisor.IsUUID(known) {
		return network, nil
	}
	name, err := facts.NetworkName(ctx, c, known)
	if IsMissing(err) {
		return network, nil
	}
	if err == nil && name == network {
		return known, nil
	}
	return network, err
}
