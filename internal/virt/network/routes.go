package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// libvirt puts a network's routes into the kernel when the network starts, and never looks at them again: one that is
// deleted by hand stays in its XML. So they are looked for among the routes of the hypervisor's machine.

// FindLostRoutes picks those routes of a running network that the hypervisor's machine has no more. There are none where
// that cannot be seen: through a transport without access to the machine, where its routes cannot be read, or where
// what is seen is another one's, as through a forwarded socket or in a container.
func FindLostRoutes(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network) []StaticRoute {
	if !n.Active() || len(n.Live.Routes) == 0 || n.OwnBridge() == "" || c.TestDriver() {
		return nil
	}
	live, err := Parse(n.LiveXML)
	if err != nil {
		return nil // who reads the network says so
	}
	there, err := c.HostRoutes(ctx)
	lost := listMissingRoutes(live.Routes, n.Live, there)
	if err == nil && len(lost) > 0 {
		// What others were told a moment ago may be from before the network was started.
		c.ForgetPlan()
		there, err = c.HostRoutes(ctx)
		lost = listMissingRoutes(live.Routes, n.Live, there)
	}
	if err != nil {
		tflog.Warn(ctx, "cannot look for the network's routes", map[string]any{"network": n.Name, "error": err.Error()})
		return nil
	}
	return lost
}

// listMissingRoutes lists the routes that are not there, of the subnets that are.
func listMissingRoutes(routes []StaticRoute, live *libvirtxml.Network, there []hypervisor.HostRoute) []StaticRoute {
	var seen []netip.Prefix // on the network's bridge, so the machine is the one that it runs on
	for _, ip := range live.IPs {
		p, err := hypervisor.Subnet(ip)
		if err == nil && slices.Contains(there, hypervisor.HostRoute{Destination: p.Masked(), Device: live.Bridge.Name}) {
			seen = append(seen, p.Masked())
		}
	}
	var lost []StaticRoute
	for _, r := range routes {
		sure := slices.ContainsFunc(seen, func(p netip.Prefix) bool { return p.Contains(r.Via) })
		if sure && !slices.Contains(there, hypervisor.HostRoute{Destination: r.Destination, Device: live.Bridge.Name, Via: r.Via}) {
			lost = append(lost, r)
		}
	}
	return lost
}

// RestoreRoutes restarts a network that has lost routes, as libvirt has no other way to put them back, and plugs every
// interface in again. A network that has them all is left alone.
func RestoreRoutes(ctx context.Context, c *hypervisor.Client, nameOrUUID string) error {
	c.ForgetPlan()
	n, err := c.Network(ctx, nameOrUUID)
	if err != nil {
		return err
	}
	defer c.LockNetwork(n.UUID)()
	if len(FindLostRoutes(ctx, c, n)) == 0 {
		return nil
	}
	defer c.ForgetPlan()
	if err := errors.Join(restartNetwork(ctx, c, n), plugNetworkIn(ctx, c, n.UUID)); err != nil {
		return fmt.Errorf("put the routes of network %q back: %w", n.Name, err)
	}
	c.ForgetPlan()
	if n, err = c.Network(ctx, n.UUID); err != nil {
		return err
	}
	if lost := FindLostRoutes(ctx, c, n); len(lost) > 0 {
		return fmt.Errorf("the hypervisor has no route to %s by %s although network %q was started anew: look for what takes it away there, such as a routing daemon", lost[0].Destination, lost[0].Via, n.Name)
	}
	return nil
}

// internet is the whole of IPv6 that is routed between sites (RFC 4291, section 2.4): some have their default route so.
var internet = netip.MustParsePrefix("2000::/3")

// isDefaultRoute says whether a route stands for all that no other route is for: the default route, and the halves of the
// address space, by which VPNs outdo it.
func isDefaultRoute(r hypervisor.HostRoute) bool {
	return r.Destination.Bits() <= 1 || r.Destination == internet
}

// isForNoNetwork says whether a route is for addresses that no network can have.
func isForNoNetwork(r hypervisor.HostRoute) bool {
	a := r.Destination.Addr()
	return a.IsMulticast() || a.Is6() && a.IsLinkLocalUnicast()
}

// ListRoutesInTheWay reads those routes of the hypervisor's own machine that a network's subnet can be in the way of, for
// cross-checks at plan time; the answer is shared as PlanNetworks' is. It is empty where the URI's transport
// gives no access to the machine (tcp, tls).
func ListRoutesInTheWay(ctx context.Context, c *hypervisor.Client) ([]hypervisor.HostRoute, error) {
	all, err := c.HostRoutes(ctx)
	return slices.DeleteFunc(slices.Clone(all), func(r hypervisor.HostRoute) bool { return isDefaultRoute(r) || isForNoNetwork(r) }), err
}

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
