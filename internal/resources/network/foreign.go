package network

import (
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// refuseUnmanaged refuses an import of a network that the schema has no words for: any configuration would change it.
func refuseUnmanaged(n network.Definition) diag.Diagnostics {
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
