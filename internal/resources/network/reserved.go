package network

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// claimRanges compares the DHCP ranges with the plan's virtual addresses, and those that the plan makes with the
// addresses that it has kept on this network.
func (c *check) claimRanges(owner string, changes bool) {
	var ranges []planregistry.Range
	for _, r := range rangesOf(c.want.DHCP) {
		ranges = append(ranges, planregistry.Range{Start: r.Start, End: r.End})
	}
	for _, l := range c.fleet.Ranges.ReplaceRanges(owner, ranges...) {
		c.resp.Diagnostics.AddAttributeError(path.Root("dhcp"), "Virtual address in a DHCP range",
			fmt.Sprintf("%s of %s is in the range %s to %s: a guest could be given it too. End the range before it.", l.Address, l.Holder, l.Range.Start, l.Range.End))
	}
	if !changes {
		ranges = nil // who has an address kept there looks at the hypervisor
	}
	var names []string
	for _, ref := range []types.String{c.planned.Name, c.planned.ID} {
		if ref.ValueString() != "" {
			names = append(names, ref.ValueString())
		}
	}
	listed := map[netip.Addr]string{}
	if c.want.DHCP != nil && changes {
		for mac, h := range c.want.DHCP.Hosts {
			listed[h.IP] = mac
		}
	}
	c.fleet.Listed.Replace(c.planned.Hypervisor.ValueString(), names, listed)
	for _, r := range c.fleet.Ranges.ReplaceDynamic(c.planned.Hypervisor.ValueString(), names, ranges...) {
		c.reserved(r.Address, network.Range{Start: r.Range.Start, End: r.Range.End}, r.Holder)
	}
}

func rangesOf(d *network.DHCP) []network.Range {
	if d == nil {
		return nil
	}
	return d.Ranges
}

func (c *check) reserved(address netip.Addr, run network.Range, holder string) {
	c.resp.Diagnostics.AddAttributeError(path.Root("dhcp"), "Reserved address in a DHCP range", fmt.Sprintf(
		"%s is kept by %s, and in the range %s to %s, so that another machine may have been given it when the one it is for comes. End the range before it, or move the reservation out of it in an apply of its own.",
		address, holder, run.Start, run.End))
}

// reservations looks at those that the network has on the hypervisor.
func (c *check) reservations(ctx context.Context, client *hypervisor.Client) error {
	taken := c.was.DHCP != nil && c.planned.DHCP.IsNull()
	fresh := slices.DeleteFunc(slices.Clone(rangesOf(c.want.DHCP)), func(r network.Range) bool { return slices.Contains(rangesOf(c.was.DHCP), r) })
	if c.prior == nil || !taken && len(fresh) == 0 {
		return nil
	}
	networks, err := client.PlanNetworks(ctx)
	if err != nil {
		return err
	}
	own := slices.IndexFunc(networks, func(n *hypervisor.Network) bool { return n.UUID == c.prior.ID.ValueString() })
	if own < 0 {
		return nil
	}
	kept := hypervisor.DHCPHosts(networks[own].Current())
	if taken {
		c.keptReservations(networks[own].Name, kept)
	}
	for _, h := range kept {
		if within(rangesOf(c.was.DHCP), h.IP) >= 0 {
			continue // it was so before
		}
		if i := within(fresh, h.IP); i >= 0 {
			c.reserved(h.IP, fresh[i], "the reservation of "+h.String())
		}
	}
	return nil
}

// within finds the range that an address is in; -1 where it is in none.
func within(ranges []network.Range, a netip.Addr) int {
	return slices.IndexFunc(ranges, func(r network.Range) bool { return planregistry.Range{Start: r.Start, End: r.End}.Contains(a) })
}

// keptReservations warns where DHCP is taken away from a network that has reservations: those belong to others
// and stay, and as long as there is one, libvirt gives it out.
func (c *check) keptReservations(network string, hosts []hypervisor.DHCPHost) {
	var kept []string
	for _, h := range hosts {
		kept = append(kept, h.String())
	}
	if len(kept) > 0 {
		c.resp.Diagnostics.AddAttributeWarning(path.Root("dhcp"), "Network with reservations", fmt.Sprintf(
			"Network %q keeps %s. Reservations are never touched, so its DHCP goes on for these machines alone until the last one is gone: take away the nodes' `ip` and `ipv6` and the virtcluster_dhcp_reservation resources too, or write dhcp = {} if that is what you want.",
			network, strings.Join(kept, ", ")))
	}
}
