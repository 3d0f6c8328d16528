package exposureattr

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
)

// refuseMisplaced refuses an address that something else of the plan puts on the machine.
func refuseMisplaced(at crud.Opening, node string, want exposure.Exposure, holder string) (diags diag.Diagnostics) {
	var places []planregistry.Placement
	if want.ConfigureAddress && want.Address.IsValid() {
		places = append(places, planregistry.Placement{Machine: host.WithoutKey(node), Address: want.Address})
	}
	for _, c := range at.Registry.Placements.Replace("exposure", holder, places...) {
		diags.AddAttributeError(path.Root("configure_address"), "Address taken",
			fmt.Sprintf("%s puts %s on %s too, and whoever of the two goes would take it from the other: leave configure_address out to serve on it there, or choose another address", c.Holder, c.Address, c.Machine))
	}
	return diags
}
