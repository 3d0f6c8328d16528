package network

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Ranges returns the ranges that a network gives to any machine; none where it gives out no addresses.
func (n Definition) Ranges() []Range {
	if n.DHCP == nil {
		return nil
	}
	return n.DHCP.Ranges
}

// ReservedInRangeProblem returns the problem of an address that is kept for a machine and given to any: holder is who has it kept.
func ReservedInRangeProblem(address netip.Addr, run Range, holder string) service.Problem {
	return service.Problemf([]any{"dhcp"}, "Reserved address in a DHCP range",
		"%s is kept by %s, and in the range %s to %s, so that another machine may have been given it when the one it is for comes. End the range before it, or move the reservation out of it in an apply of its own.",
		address, holder, run.Start, run.End)
}

// CheckReservations returns what is wrong with the planned DHCP for the reservations that the network has on the hypervisor. The
// error is a hypervisor that does not answer.
func (k *Checker) CheckReservations(ctx context.Context) ([]service.Problem, error) {
	taken := k.Was.DHCP != nil && k.Want.DHCP == nil && !k.DHCPUnknown
	fresh := slices.DeleteFunc(slices.Clone(k.Want.Ranges()), func(r Range) bool { return slices.Contains(k.Was.Ranges(), r) })
	if k.UUID == "" || !taken && len(fresh) == 0 {
		return nil, nil
	}
	networks, err := k.Client.PlanNetworks(ctx)
	if err != nil {
		return nil, err
	}
	own := slices.IndexFunc(networks, func(n *hypervisor.Network) bool { return n.UUID == k.UUID })
	if own < 0 {
		return nil, nil
	}
	kept := hypervisor.DHCPHosts(networks[own].Current())
	var problems []service.Problem
	if taken && len(kept) > 0 {
		problems = append(problems, warnOfReservations(networks[own].Name, kept))
	}
	for _, h := range kept {
		if findRange(k.Was.Ranges(), h.IP) >= 0 {
			continue // it was so before
		}
		if i := findRange(fresh, h.IP); i >= 0 {
			problems = append(problems, ReservedInRangeProblem(h.IP, fresh[i], "the reservation of "+h.String()))
		}
	}
	return problems, nil
}

// findRange finds the range that an address is in; -1 where it is in none.
func findRange(ranges []Range, a netip.Addr) int {
	return slices.IndexFunc(ranges, func(r Range) bool { return plan.Span{First: r.Start, Last: r.End}.Contains(a) })
}

// warnOfReservations warns where DHCP is taken away from a network that has reservations: those belong to others and stay, and as
// long as there is one, libvirt gives it out.
func warnOfReservations(network string, hosts []hypervisor.DHCPHost) service.Problem {
	kept := make([]string, len(hosts))
	for i, h := range hosts {
		kept[i] = h.String()
	}
	return service.Warningf([]any{"dhcp"}, "Network with reservations",
		"Network %q keeps %s. Reservations are never touched, so its DHCP goes on for these machines alone until the last one is gone: take away the nodes' `ip` and `ipv6` and the virtcluster_dhcp_reservation resources too, or write dhcp = {} if that is what you want.",
		network, strings.Join(kept, ", "))
}

// servesTFTPAlone says that a network serves TFTP and gives out no IPv4 addresses by itself.
func (n Definition) servesTFTPAlone() bool {
	return n.PXE.TFTPRoot != "" && !slices.ContainsFunc(n.Ranges(), func(r Range) bool { return r.Start.Is4() })
}

// CheckTFTP warns where the hypervisor's libvirt would leave the network's TFTP server out and not say so. A reservation is enough
// for it to serve, and may come from anywhere, so this is no error.
func (k *Checker) CheckTFTP(ctx context.Context) ([]service.Problem, error) {
	if !k.Want.servesTFTPAlone() || k.Was.servesTFTPAlone() || k.PXEUnknown || k.DHCPUnknown {
		return nil, nil
	}
	host, err := k.Client.Host(ctx)
	if err != nil {
		return nil, err
	}
	return warnOfUnservedTFTP(host), nil
}

func warnOfUnservedTFTP(host hypervisor.Host) []service.Problem {
	if host.HasLibvirt(8, 5) {
		return nil
	}
	return []service.Problem{service.Warningf([]any{"pxe", "tftp_root"}, "TFTP without DHCP",
		"libvirt %s on %s serves TFTP only on a network that gives out IPv4 addresses; before version 8.5 it leaves out the TFTP server of any other, and says nothing. Write dhcp.ranges, reserve an address on the network, or use a newer libvirt.",
		host.Libvirt, host.Hostname)}
}
