package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// check is the state of the cross-checks of one network.
type check struct {
	fleet          *fleet.Fleet
	prior, planned *model
	was, want      network.Definition
	resp           *resource.ModifyPlanResponse
}

// crossCheck looks for what a network would collide with: the plan's other networks, those on the hypervisor,
// and the routes and devices of the hypervisor's machine. A network that stays as it is asks nobody.
func crossCheck(ctx context.Context, f *fleet.Fleet, prior, planned *model, want network.Spec, resp *resource.ModifyPlanResponse) {
	if planned.Name.IsUnknown() || planned.Hypervisor.IsUnknown() {
		return
	}
	c := check{fleet: f, prior: prior, planned: planned, want: want.Definition, resp: resp}
	if prior != nil {
		was, _ := prior.spec(ctx)
		c.was = was.Definition
	}
	c.claim(ctx)
	client, err := f.Hypervisor(ctx, planned.Hypervisor.ValueString())
	if err != nil {
		if planned.Hypervisor.ValueString() != "" && !errors.Is(err, fleet.ErrUnknown) {
			resp.Diagnostics.AddAttributeError(path.Root("hypervisor"), "Unknown hypervisor", err.Error()+". Name one of these, or add it to the provider's `hypervisors`.")
		}
		return
	}
	if prior != nil && !prior.Name.Equal(planned.Name) {
		client.Leave(prior.ID.ValueString()) // it makes room for its successor
	}
	if err := c.reservations(ctx, client); err != nil {
		tflog.Warn(ctx, "cannot look for the network's reservations", map[string]any{"network": planned.Name.ValueString(), "error": err.Error()})
	}
	if err := c.unservedTFTP(ctx, client); err != nil {
		tflog.Warn(ctx, "cannot ask for libvirt's version", map[string]any{"network": planned.Name.ValueString(), "error": err.Error()})
	}
	if c.subnetsStay() && c.want.Bridge == c.was.Bridge && c.want.Mode == c.was.Mode {
		return
	}
	if err := c.existing(ctx, client); err != nil {
		// An existing network's refresh has told of it already, and a new one's apply will.
		tflog.Warn(ctx, "cannot cross-check the network with its hypervisor", map[string]any{"network": planned.Name.ValueString(), "error": err.Error()})
	}
}

func (c *check) subnetsStay() bool {
	return c.want.Subnet == c.was.Subnet && c.want.Subnet6 == c.was.Subnet6
}

// subnets are those of the planned network, by their attribute.
func (c *check) subnets() map[string]netip.Prefix {
	all := map[string]netip.Prefix{}
	for name, p := range map[string]netip.Prefix{"cidr": c.want.Subnet, "ipv6_cidr": c.want.Subnet6} {
		if p.IsValid() {
			all[name] = p
		}
	}
	return all
}

// attribute is the one that a subnet stands at.
func (c *check) attribute(p netip.Prefix) path.Path {
	if p.Addr().Is6() {
		return path.Root("ipv6_cidr")
	}
	return path.Root("cidr")
}

// claim compares with the plan's other networks.
func (c *check) claim(ctx context.Context) {
	host, name := c.planned.Hypervisor.ValueString(), c.planned.Name.ValueString()
	what := fmt.Sprintf("network %q", name)
	owner := planregistry.On(host, what)
	var claims []planregistry.Claim
	if bridge := c.planned.Bridge.ValueString(); bridge != "" && c.want.Mode != network.Bridge {
		claims = append(claims, planregistry.BridgeClaim(host, bridge))
	}
	changes := !known(ctx, c.planned.DHCP) || c.prior == nil || !network.Equal(c.was, c.want)
	if changes {
		claims = append(claims, planregistry.NetworkClaim(host, name))
		if c.prior == nil {
			claims = append(claims, planregistry.NewNetworkClaim(host, name))
		}
		if !c.planned.DHCP.IsNull() {
			claims = append(claims, planregistry.DHCPClaim(host, name))
		}
		claims = append(claims, c.gateways()...)
	}
	for _, conflict := range c.fleet.Claims.Replace(owner, claims...) {
		c.conflict(conflict)
	}
	var subnets []netip.Prefix
	for _, p := range c.subnets() {
		subnets = append(subnets, p)
	}
	if c.planned.CIDR.IsUnknown() || c.planned.IPv6CIDR.IsUnknown() {
		subnets = append(subnets, netip.Prefix{})
	}
	for _, o := range c.fleet.Subnets.Replace(what, host, subnets...) {
		c.overlap(o.Subnet, o.Other, "that "+o.Holder+" of this configuration has")
	}
	c.claimRanges(owner, changes)
}

// gateways claims the hypervisor's own addresses, under the network's name and its UUID: who refers to the
// network may use either.
func (c *check) gateways() []planregistry.Claim {
	var claims []planregistry.Claim
	for _, gateway := range []netip.Addr{c.want.Gateway, c.want.Gateway6} {
		for _, ref := range []types.String{c.planned.Name, c.planned.ID} {
			if gateway.IsValid() && ref.ValueString() != "" {
				claims = append(claims, planregistry.AddressClaim(c.planned.Hypervisor.ValueString(), ref.ValueString(), gateway))
			}
		}
	}
	return claims
}

// conflict tells what another resource of the plan has.
func (c *check) conflict(with planregistry.Conflict) {
	at, summary := path.Root("bridge"), "Bridge name taken"
	remedy := "write another name, or none."
	switch with.Claim.Value {
	case c.want.Gateway.String():
		at, summary, remedy = path.Root("gateway"), "Gateway's address taken", "write another gateway."
	case c.want.Gateway6.String():
		at, summary, remedy = path.Root("ipv6_gateway"), "Gateway's address taken", "write another gateway."
	case c.planned.Name.ValueString():
		at, summary, remedy = path.Root("name"), "Network name taken", "write another name."
	}
	c.resp.Diagnostics.AddAttributeError(at, summary, fmt.Sprintf("%s is the one of %s: %s", with.Claim, with.Holder, remedy))
}

func (c *check) overlap(mine, other netip.Prefix, whose string) {
	c.resp.Diagnostics.AddAttributeError(c.attribute(mine), "Overlapping subnets", fmt.Sprintf("%s overlaps %s %s: choose a subnet outside of it.", mine, other, whose))
}

// existing compares with what is on the hypervisor.
func (c *check) existing(ctx context.Context, client *hypervisor.Client) error {
	networks, err := client.PlanNetworks(ctx)
	if err != nil {
		return err
	}
	bridges := map[string]bool{} // of networks, which the routes below lead to as well
	for _, n := range networks {
		bridges[n.Bridge()] = true
		if n.Name == c.want.Name || c.prior != nil && n.UUID == c.prior.ID.ValueString() || client.Leaves(n.UUID) {
			continue
		}
		other, err := network.Parse(n.ConfigXML)
		if err != nil {
			return err
		}
		for _, mine := range c.subnets() {
			for _, its := range []netip.Prefix{other.Subnet, other.Subnet6} {
				if its.IsValid() && mine.Overlaps(its) {
					c.overlap(mine, its, fmt.Sprintf("of network %q on hypervisor %s", n.Name, client.URI()))
				}
			}
		}
		if c.want.Bridge != "" && other.Bridge == c.want.Bridge && (c.want.Mode != network.Bridge || other.Mode != network.Bridge) {
			c.resp.Diagnostics.AddAttributeError(path.Root("bridge"), "Bridge name taken", fmt.Sprintf("Network %q on hypervisor %s has the bridge %s: write another name, or none.", n.Name, client.URI(), other.Bridge))
		}
	}
	if err := errors.Join(c.device(ctx, client, bridges), c.foreignBridge(ctx, client)); err != nil {
		return err
	}
	return c.routes(ctx, client, bridges)
}

// device looks for a network device that has the new bridge's name.
func (c *check) device(ctx context.Context, client *hypervisor.Client, bridges map[string]bool) error {
	if c.want.Bridge == "" || c.want.Bridge == c.was.Bridge || c.want.Mode == network.Bridge || bridges[c.want.Bridge] {
		return nil
	}
	taken, err := client.HasDevice(ctx, c.want.Bridge)
	if taken {
		c.resp.Diagnostics.AddAttributeError(path.Root("bridge"), "Bridge name taken", fmt.Sprintf(
			"Hypervisor %s has a network device %s already: write another name. To plug machines into an existing bridge, use mode \"bridge\".", client.URI(), c.want.Bridge))
	}
	return err
}

// routes looks for the new subnets among the routes of the hypervisor's machine: the narrower of the two would take
// the other's traffic.
func (c *check) routes(ctx context.Context, client *hypervisor.Client, bridges map[string]bool) error {
	if c.subnetsStay() {
		return nil
	}
	routes, err := network.RoutesInTheWay(ctx, client)
	if err != nil {
		return err
	}
	for _, mine := range c.subnets() {
		for _, r := range routes {
			if mine.Overlaps(r.Destination) && !bridges[r.Device] {
				c.overlap(mine, r.Destination, way(client.URI(), r))
			}
		}
	}
	return nil
}

// way says how a hypervisor reaches what a route is for.
func way(uri string, r hypervisor.HostRoute) string {
	through := "device " + r.Device
	if r.Via.IsValid() {
		through = fmt.Sprintf("%s on device %s", r.Via, r.Device)
	}
	return fmt.Sprintf("that hypervisor %s reaches through %s (see `ip route` there)", uri, through)
}
