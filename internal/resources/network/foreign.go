package network

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// unmanaged refuses an import of a network that the schema has no words for: any configuration would change it.
func unmanaged(n network.Definition) diag.Diagnostics {
	var what string
	switch {
	case !slices.Contains(network.Modes, n.Mode):
		what = fmt.Sprintf("has forward mode %q", n.Mode)
	case n.Mode == network.Bridge && n.Bridge == "":
		what = "plugs machines into a device without a bridge (macvtap)"
	default:
		return nil
	}
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root("mode"), "Network of another kind", fmt.Sprintf(
		"Network %q %s, which virtcluster_network does not manage. Leave it to what made it, and read it by data \"virtcluster_network\".", n.Name, what))}
}

// foreignBridge looks for the bridge of mode bridge, which is somebody else's.
func (c *check) foreignBridge(ctx context.Context, client *hypervisor.Client) error {
	bridge := c.want.Bridge
	if c.want.Mode != network.Bridge || bridge == "" || c.was.Mode == network.Bridge && c.was.Bridge == bridge || c.plannedBridge(client, bridge) {
		return nil
	}
	lacks, sure, err := client.LacksDevice(ctx, bridge)
	switch {
	case err != nil || !lacks:
	case sure:
		c.resp.Diagnostics.AddAttributeError(path.Root("bridge"), "Unknown bridge", fmt.Sprintf(
			"Hypervisor %s has no bridge %q, and nothing planned so far makes it: make it there, or with virtcluster_external_bridge, and refer to that resource's attribute instead of writing its name, so that it comes first.", client.URI(), bridge))
	default:
		c.resp.Diagnostics.AddAttributeWarning(path.Root("bridge"), "Bridge not found", fmt.Sprintf(
			"No bridge %q was found on hypervisor %s, which cannot be looked at closely: without it no machine on the network starts.", bridge, client.URI()))
	}
	return err
}

// plannedBridge says that a resource of the plan has a bridge on this hypervisor, under whichever name the configuration
// knows that, or on a host that may be its machine.
func (c *check) plannedBridge(client *hypervisor.Client, bridge string) bool {
	if c.fleet.Claims.Holder(planregistry.HostBridgeClaim(bridge)) != "" {
		return true
	}
	return slices.ContainsFunc(c.fleet.Names(), func(name string) bool {
		uri, err := c.fleet.URI(name)
		return err == nil && uri == client.URI() && c.fleet.Claims.Holder(planregistry.BridgeClaim(name, bridge)) != ""
	})
}
