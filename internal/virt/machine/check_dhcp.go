package machine

import (
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// checkRanges refuses a new address of an interface that the network gives to any machine.
func (k *Checker) checkRanges(network *hypervisor.Network, i *InterfaceSpec, ip netip.Addr, path []any) {
	for _, r := range hypervisor.DHCPRanges(network.Current()) {
		if run := (plan.Span{First: r.Start, Last: r.End}); run.Contains(ip) && !k.hasAddress(i, ip) {
			k.refuseInRange(network.Name, run, ip, path)
		}
	}
}

func (k *Checker) refuseInRange(network string, r plan.Span, ip netip.Addr, path []any) {
	k.addProblem(path, "Address in a DHCP range", "network %q gives %s to %s to any machine, so another one could have %s too: choose an address outside of it, or end the range before it", network, r.First, r.Last, ip)
}

// hasAddress says whether the node has an address in state, on the same network: one that stands already is not refused.
func (k *Checker) hasAddress(i *InterfaceSpec, ip netip.Addr) bool {
	return !k.Fresh && slices.ContainsFunc(k.Was.Interfaces, func(p InterfaceSpec) bool {
		return p.Network == i.Network && slices.Contains(append(p.listAddresses(), p.IP, p.IPv6), ip)
	})
}
