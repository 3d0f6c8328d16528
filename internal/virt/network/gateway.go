package network

import (
	"context"
	"net/netip"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// FindGateway returns the default gateway that a network on a hypervisor offers to the machines of a subnet that has an address in it, with
// the network's name, as one plan sees it; false where no network has such a subnet, or offers no gateway.
func FindGateway(ctx context.Context, c *hypervisor.Client, a netip.Addr) (gateway netip.Addr, name string, offers bool, err error) {
	networks, err := c.PlanNetworks(ctx)
	if err != nil {
		return netip.Addr{}, "", false, err
	}
	for _, n := range networks {
		parsed, err := Parse(n.ConfigXML)
		if err != nil || !parsed.Subnet.Contains(a) && !parsed.Subnet6.Contains(a) {
			continue
		}
		if gateway, offers := parsed.offeredGateway(a.Is4()); offers {
			return gateway, n.Name, true, nil
		}
	}
	return netip.Addr{}, "", false, nil
}

// offeredGateway is what machines are told by DHCP (RFC 2132, option 3), or by the network's own advertisements. An isolated network tells
// of none.
func (d Definition) offeredGateway(four bool) (netip.Addr, bool) {
	if d.DHCP != nil && four {
		for _, key := range []string{"3", "router"} {
			if a, err := netip.ParseAddr(d.DHCP.Options[key]); err == nil {
				return a, true
			}
		}
	}
	gateway := d.Gateway
	if !four {
		gateway = d.Gateway6
	}
	return gateway, gateway.IsValid() && d.Mode != Isolated
}
