package node

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
)

// dynamic refuses a new address of an interface that the network gives to any machine.
func (k *checks) dynamic(network *hypervisor.Network, i *interfaceModel, ip netip.Addr, path []any) {
	for _, r := range hypervisor.DHCPRanges(network.Current()) {
		if run := (planregistry.Range{Start: r.Start, End: r.End}); run.Contains(ip) && !k.had(i, ip) {
			k.inRange(network.Name, run, ip, path)
		}
	}
}

// plannedDynamic is dynamic for a network that the plan makes or changes.
func (k *checks) plannedDynamic(network string, i *interfaceModel, here []any) {
	paths := map[netip.Addr][]any{}
	var fresh []netip.Addr
	add := func(ip netip.Addr, err error, path ...any) {
		if err == nil && !k.had(i, ip) {
			fresh, paths[ip] = append(fresh, ip), append(slices.Clone(here), path...)
		}
	}
	for attribute, text := range map[string]string{"ip": i.IP.ValueString(), "ipv6": i.IPv6.ValueString()} {
		ip, err := netip.ParseAddr(text)
		add(ip, err, attribute)
	}
	for n, text := range texts(i.Addresses) {
		p, err := netip.ParsePrefix(text)
		add(p.Addr(), err, "addresses", n)
	}
	host := k.v.Hypervisor.ValueString()
	holder := planregistry.On(host, fmt.Sprintf("interface %v of node %q", here[1], k.v.Name.ValueString()))
	for _, r := range k.n.Fleet.Ranges.ReplaceReserved(holder, host, i.Network.ValueString(), fresh...) {
		k.inRange(network, r.Range, r.Address, paths[r.Address])
	}
}

func (k *checks) inRange(network string, r planregistry.Range, ip netip.Addr, path []any) {
	k.problem(path, "Address in a DHCP range", "network %q gives %s to %s to any machine, so another one could have %s too: choose an address outside of it, or end the range before it", network, r.Start, r.End, ip)
}

// had says whether the node has an address in state, on the same network: one that stands already is not refused.
func (k *checks) had(i *interfaceModel, ip netip.Addr) bool {
	return !k.fresh && slices.ContainsFunc(k.prior.parts.Interfaces, func(p interfaceModel) bool {
		if !p.Network.Equal(i.Network) {
			return false
		}
		for _, text := range []string{p.IP.ValueString(), p.IPv6.ValueString()} {
			if a, err := netip.ParseAddr(text); err == nil && a == ip {
				return true
			}
		}
		return slices.ContainsFunc(texts(p.Addresses), func(text string) bool {
			a, err := netip.ParsePrefix(text)
			return err == nil && a.Addr() == ip
		})
	})
}
