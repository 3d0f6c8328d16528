package node

import (
	"context"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/topology"
)

// bridges finds bridges that the hypervisor's machine does not have and that nothing in the plan makes.
func (k *checks) bridges(ctx context.Context) error {
	for n := range k.v.parts.Interfaces {
		i := &k.v.parts.Interfaces[n]
		if !known(i.Bridge) || k.plugged(i) || k.plannedBridge(i.Bridge.ValueString()) {
			continue
		}
		bridge, here := i.Bridge.ValueString(), at("network_interfaces", n, "bridge")
		lacks, sure, err := k.n.facts.lacksBridge(ctx, k.c, bridge)
		switch {
		case err != nil:
			return err
		case !lacks:
		case !sure:
			k.problems = append(k.problems, service.Warningf(here, "Bridge not found",
				"no bridge %q was found on hypervisor %s, which cannot be looked at closely: without it the node does not start", bridge, k.c.URI()))
		case known(k.v.Running) && !k.v.Running.ValueBool():
			k.problems = append(k.problems, service.Warningf(here, "Unknown bridge",
				"hypervisor %s has no bridge %q, and without it the node will not start", k.c.URI(), bridge))
		default:
			k.problem(here, "Unknown bridge", "hypervisor %s has no bridge %q, and nothing planned so far makes it: make it there, or with virtcluster_external_bridge or virtcluster_network, and refer to that resource's attribute instead of writing its name, so that it comes first", k.c.URI(), bridge)
		}
	}
	return nil
}

// plugged says that the machine is in an interface's bridge already, or does not need it now.
func (k *checks) plugged(i *interfaceModel) bool {
	starts := !k.prior.Running.ValueBool() && k.v.Running.ValueBool()
	return !k.fresh && !starts && slices.ContainsFunc(k.prior.parts.Interfaces, func(p interfaceModel) bool { return p.Bridge.Equal(i.Bridge) })
}

// plannedBridge says that a resource of the plan has a bridge on the node's hypervisor, under whichever name the
// configuration knows that, or on a host that may be its machine.
func (k *checks) plannedBridge(bridge string) bool {
	f := k.n.Fleet
	if f.Claims.Holder(topology.HostBridgeClaim(bridge)) != "" {
		return true
	}
	return slices.ContainsFunc(f.Names(), func(name string) bool {
		uri, err := f.URI(name)
		return err == nil && uri == k.c.URI() && f.Claims.Holder(topology.BridgeClaim(name, bridge)) != ""
	})
}
