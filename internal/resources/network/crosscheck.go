package network

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// check is the state of the cross-checks of one network.
type check struct {
	registry       *planregistry.Registry
	prior, planned *model
	was, want      network.Definition
	resp           *resource.ModifyPlanResponse
}

// crossCheck looks for what a network would collide with: the plan's other networks, those on the hypervisor,
// and the routes and devices of the hypervisor's machine. A network that stays as it is asks nobody.
func crossCheck(ctx context.Context, at crud.Opening, prior, planned *model, want network.Spec, resp *resource.ModifyPlanResponse) {
	if planned.Name.IsUnknown() || planned.Hypervisor.IsUnknown() {
		return
	}
	c := check{registry: at.Registry, prior: prior, planned: planned, want: want.Definition, resp: resp}
	if prior != nil {
		was, _ := prior.toSpec(ctx)
		c.was = was.Definition
	}
	c.layClaims(ctx)
	client, err := at.Fleet.Hypervisor(ctx, planned.Hypervisor.ValueString())
	if err != nil {
		return // it is not known yet, or crud has refused it
	}
	k := network.Checker{
		Client: client, Want: c.want, Was: c.was, Plan: at.Registry, Hypervisors: at.Fleet.Known(ctx),
		DHCPUnknown: !convert.WhollyKnown(ctx, planned.DHCP), PXEUnknown: !convert.WhollyKnown(ctx, planned.PXE),
	}
	if prior != nil {
		k.UUID = prior.ID.ValueString()
	}
	if err := k.NoteSuccession(ctx, at.Claim.Replaces()); err != nil {
		tflog.Warn(ctx, "cannot look for the network that is replaced", map[string]any{"network": planned.Name.ValueString(), "error": err.Error()})
	}
	for _, look := range []struct {
		cannot string
		check  func(context.Context) ([]service.Problem, error)
	}{
		{"cannot look for the network's reservations", k.CheckReservations},
		{"cannot ask for libvirt's version", k.CheckTFTP},
		// An existing network's refresh has told of it already, and a new one's apply will.
		{"cannot cross-check the network with its hypervisor", k.CheckSurroundings},
	} {
		problems, err := look.check(ctx)
		resp.Diagnostics.Append(crud.Diagnostics(problems)...)
		if err != nil {
			tflog.Warn(ctx, look.cannot, map[string]any{"network": planned.Name.ValueString(), "error": err.Error()})
		}
	}
}

// refuse adds what is wrong to the plan.
func (c *check) refuse(p service.Problem) {
	c.resp.Diagnostics.Append(crud.Diagnostics([]service.Problem{p})...)
}

// layClaims lays claim to what only one network of the plan may have, and refuses what another resource has.
func (c *check) layClaims(ctx context.Context) {
	host, name := c.planned.Hypervisor.ValueString(), c.planned.Name.ValueString()
	what := fmt.Sprintf("network %q", name)
	owner := planregistry.NameOnHypervisor(host, what)
	var claims []planregistry.Claim
	if bridge := c.planned.Bridge.ValueString(); bridge != "" && c.want.Mode != network.Bridge {
		claims = append(claims, planregistry.BridgeClaim(host, bridge))
	}
	changes := !convert.WhollyKnown(ctx, c.planned.DHCP) || c.prior == nil || !network.Equal(c.was, c.want)
	if changes {
		claims = append(claims, planregistry.NetworkClaim(host, name))
		if c.prior == nil {
			claims = append(claims, planregistry.NewNetworkClaim(host, name))
		}
		if !c.planned.DHCP.IsNull() {
			claims = append(claims, planregistry.DHCPClaim(host, name))
		}
		claims = append(claims, c.claimGateways()...)
	}
	for _, conflict := range c.registry.Claims.Replace(owner, claims...) {
		c.refuseConflict(conflict)
	}
	for attribute, gateway := range map[string]netip.Addr{"gateway": c.want.Gateway, "ipv6_gateway": c.want.Gateway6} {
		if virtual, there := c.registry.Claims.FindVirtual(gateway); there {
			c.resp.Diagnostics.AddAttributeError(path.Root(attribute), "Gateway's address taken", fmt.Sprintf("%s belongs to %s, and a virtual address is no machine's own: write another gateway.", virtual.Claim, virtual.Holder))
		}
		if pool, there := c.registry.Pools.FindMade(gateway); there {
			c.resp.Diagnostics.AddAttributeError(path.Root(attribute), "Gateway's address taken", fmt.Sprintf("%s is one that the new %s gives out: write another gateway, or reserve it there.", gateway, pool))
		}
	}
	subnets := c.want.Subnets()
	if c.planned.CIDR.IsUnknown() || c.planned.IPv6CIDR.IsUnknown() {
		subnets = append(subnets, netip.Prefix{})
	}
	for _, o := range c.registry.Subnets.Replace(what, host, subnets...) {
		c.refuse(network.OverlapProblem(o.Subnet, o.Other, "that "+o.Holder+" of this configuration has"))
	}
	c.claimRanges(owner, changes)
}

// claimGateways returns the claims of the hypervisor's own addresses, under each of the network's names.
func (c *check) claimGateways() []planregistry.Claim {
	var claims []planregistry.Claim
	for _, gateway := range []netip.Addr{c.want.Gateway, c.want.Gateway6} {
		for _, name := range c.planned.listNames() {
			if gateway.IsValid() {
				claims = append(claims, planregistry.AddressClaim(c.planned.Hypervisor.ValueString(), name, gateway))
			}
		}
	}
	return claims
}

// refuseConflict adds an error where another resource of the plan has what the network wants.
func (c *check) refuseConflict(with planregistry.Conflict) {
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

// claimRanges compares the DHCP ranges with the plan's virtual addresses, and those that the plan makes with the
// addresses that it has kept on this network.
func (c *check) claimRanges(owner string, changes bool) {
	var ranges []planregistry.Range
	for _, r := range c.want.Ranges() {
		ranges = append(ranges, planregistry.Range(r))
	}
	for _, l := range c.registry.Ranges.ReplaceRanges(owner, ranges...) {
		c.resp.Diagnostics.AddAttributeError(path.Root("dhcp"), "Virtual address in a DHCP range",
			fmt.Sprintf("%s of %s is in the range %s to %s: a guest could be given it too. End the range before it.", l.Address, l.Holder, l.Range.Start, l.Range.End))
	}
	if !changes {
		ranges = nil // who has an address kept there looks at the hypervisor
	}
	listed := map[netip.Addr]string{}
	if c.want.DHCP != nil && changes {
		for mac, h := range c.want.DHCP.Hosts {
			listed[h.IP] = mac
		}
	}
	for a, mac := range listed {
		if pool, there := c.registry.Pools.FindMade(a); there {
			c.resp.Diagnostics.AddAttributeError(path.Root("dhcp"), "Listed address of another machine", fmt.Sprintf("hosts has %s for %s, and the new %s gives it out: write another address, or reserve it there.", a, mac, pool))
		}
	}
	host, names := c.planned.Hypervisor.ValueString(), c.planned.listNames()
	for _, k := range c.registry.Listed.Replace(host, names, listed) {
		c.resp.Diagnostics.AddAttributeError(path.Root("dhcp"), "Listed address of another machine",
			fmt.Sprintf("hosts has %s for %s, and %s keeps it for %s: write another address.", k.Address, k.Listed, k.Holder, k.Kept.MAC))
	}
	for _, r := range c.registry.Ranges.ReplaceDynamic(host, names, ranges...) {
		c.refuse(network.ReservedInRangeProblem(r.Address, network.Range(r.Range), r.Holder))
	}
}

// listNames returns the names that others may refer to the network by, its UUID among them, as far as they are known.
func (m *model) listNames() []string {
	var all []string
	for _, ref := range []types.String{m.Name, m.ID} {
		if ref.ValueString() != "" {
			all = append(all, ref.ValueString())
		}
	}
	return all
}
