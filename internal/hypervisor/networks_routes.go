package hypervisor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor/netspec"
)

// libvirt puts a network's routes into the kernel when the network starts, and never looks at them again: one that is
// deleted by hand stays in its XML. So they are looked for among the routes of the hypervisor's machine.

// LostRoutes picks those routes of a running network that the hypervisor's machine has no more. There are none where
// that cannot be seen: through a transport without access to the machine, where its routes cannot be read, or where
// what is seen is another one's, as through a forwarded socket or in a container.
func (c *Client) LostRoutes(ctx context.Context, n *Network) []netspec.Route4or6 {
	if !n.Active() || len(n.Live.Routes) == 0 || n.ownBridge() == "" || strings.HasPrefix(c.target.remoteURI, "test:") {
		return nil
	}
	live, err := netspec.Parse(n.LiveXML)
	if err != nil {
		return nil // who reads the network says so
	}
	there, err := c.machineRoutes(ctx)
	lost := missing(live.Routes, n.Live, there)
	if err == nil && len(lost) > 0 {
		// What others were told a moment ago may be from before the network was started.
		c.forget()
		there, err = c.machineRoutes(ctx)
		lost = missing(live.Routes, n.Live, there)
	}
	if err != nil {
		tflog.Warn(ctx, "cannot look for the network's routes", map[string]any{"network": n.Name, "error": err.Error()})
		return nil
	}
	return lost
}

// missing lists the routes that are not there, of the subnets that are.
func missing(routes []netspec.Route4or6, live *libvirtxml.Network, there []HostRoute) []netspec.Route4or6 {
	var seen []netip.Prefix // on the network's bridge, so the machine is the one that it runs on
	for _, ip := range live.IPs {
		p, err := Subnet(ip)
		if err == nil && slices.Contains(there, HostRoute{Destination: p.Masked(), Device: live.Bridge.Name}) {
			seen = append(seen, p.Masked())
		}
	}
	var lost []netspec.Route4or6
	for _, r := range routes {
		sure := slices.ContainsFunc(seen, func(p netip.Prefix) bool { return p.Contains(r.Via) })
		if sure && !slices.Contains(there, HostRoute{r.Destination, live.Bridge.Name, r.Via}) {
			lost = append(lost, r)
		}
	}
	return lost
}

// MendRoutes restarts a network that has lost routes, as libvirt has no other way to put them back, and plugs every
// interface in again. A network that has them all is left alone.
func (c *Client) MendRoutes(ctx context.Context, nameOrUUID string) error {
	c.forget()
	n, err := c.Network(ctx, nameOrUUID)
	if err != nil {
		return err
	}
	defer c.lockNetwork(n.UUID)()
	if len(c.LostRoutes(ctx, n)) == 0 {
		return nil
	}
	defer c.forget()
	if err := errors.Join(c.restartNetwork(ctx, n), c.plugIn(ctx, n.UUID)); err != nil {
		return fmt.Errorf("put the routes of network %q back: %w", n.Name, err)
	}
	c.forget()
	if n, err = c.Network(ctx, n.UUID); err != nil {
		return err
	}
	if lost := c.LostRoutes(ctx, n); len(lost) > 0 {
		return fmt.Errorf("the hypervisor has no route to %s by %s although network %q was started anew: look for what takes it away there, such as a routing daemon", lost[0].Destination, lost[0].Via, n.Name)
	}
	return nil
}
