package hostattr

import (
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
)

// RefuseMisplaced refuses an address for a device, of a kind ("bridge", "interface"), that something else of the plan puts on the machine.
// What a device inherits, or gets by DHCP, the plan does not know.
func RefuseMisplaced(at crud.Provided, kind, device string, machine types.String, addresses []netip.Prefix) (diags diag.Diagnostics) {
	if len(addresses) == 0 || machine.ValueString() == "" {
		return nil
	}
	on := host.WithoutKey(machine.ValueString())
	places := make([]planregistry.Placement, 0, len(addresses))
	for _, p := range addresses {
		places = append(places, planregistry.Placement{Machine: on, Address: p.Addr()})
	}
	for _, c := range at.Registry.Placements.Replace(kind, planregistry.NameDevice(kind, device, on), places...) {
		diags.AddAttributeError(path.Root("addresses"), "Address taken", fmt.Sprintf("%s puts %s on %s too, and whoever of the two goes would take it from the other: choose another address", c.Holder, c.Address, c.Machine))
	}
	return diags
}
