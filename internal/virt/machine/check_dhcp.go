package machine

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
)

// checkRanges refuses a new address of an interface that the network gives to any machine.
func (k *Checker) checkRanges(network *hypervisor.Network, i *InterfaceSpec, ip netip.Addr, path []any) {
	for _, r := range hypervisor.DHCPRanges(network.Current()) {
		if run := (planregistry.Range{Start: r.Start, End: r.End}); run.Contains(ip) && !k.hasAddress(i, ip) {
			k.refuseInRange(network.Name, run, ip, path)
		}
	}
}

// checkPlannedRanges is checkRanges for a network that the plan makes or changes.
func (k *Checker) checkPlannedRanges(network string, i *InterfaceSpec, here []any) {
	paths := map[netip.Addr][]any{}
	var fresh []netip.Addr
	add := func(ip netip.Addr, err error, path ...any) {
		if err == nil && !k.hasAddress(i, ip) {
			fresh, paths[ip] = append(fresh, ip), pathBelow(here, path...)
		}
	}
	for attribute, text := range map[string]string{"ip": i.IP, "ipv6": i.IPv6} {
		ip, err := netip.ParseAddr(text)
		add(ip, err, attribute)
	}
	for n, text := range i.Addresses {
		p, err := netip.ParsePrefix(text)
		add(p.Addr(), err, "addresses", n)
	}
	host := k.Want.Hypervisor
	holder := planregistry.NameOnHypervisor(host, fmt.Sprintf("interface %v of node %q", here[1], k.Want.Name))
	for _, r := range k.Plan.Ranges.ReplaceReserved(holder, host, i.Network, fresh...) {
		k.refuseInRange(network, r.Range, r.Address, paths[r.Address])
	}
}

func (k *Checker) refuseInRange(network string, r planregistry.Range, ip netip.Addr, path []any) {
	k.addProblem(path, "Address in a DHCP range", "network %q gives %s to %s to any machine, so another one could have %s too: choose an address outside of it, or end the range before it", network, r.Start, r.End, ip)
}

// hasAddress says whether the node has an address in state, on the same network: one that stands already is not refused.
func (k *Checker) hasAddress(i *InterfaceSpec, ip netip.Addr) bool {
	return !k.Fresh && slices.ContainsFunc(k.Was.Interfaces, func(p InterfaceSpec) bool {
		if p.Network != i.Network {
			return false
		}
		for _, text := range []string{p.IP, p.IPv6} {
			if a, err := netip.ParseAddr(text); err == nil && a == ip {
				return true
			}
		}
		return slices.ContainsFunc(p.Addresses, func(text string) bool {
			a, err := netip.ParsePrefix(text)
			return err == nil && a.Addr() == ip
		})
	})
}
