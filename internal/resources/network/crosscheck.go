package network

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// crossCheck looks for what a network would collide with on its hypervisor: other networks, and the routes and devices of the machine.
// A network that stays as it is asks nobody.
func crossCheck(ctx context.Context, at crud.StoreContext, prior, planned *model, want network.Spec, resp *resource.ModifyPlanResponse) {
	if planned.Name.IsUnknown() || planned.Hypervisor.IsUnknown() {
		return
	}
	client, err := at.Fleet.Hypervisor(ctx, planned.Hypervisor.ValueString())
	if err != nil {
		return // it is not known yet, or crud has refused it
	}
	k := network.Checker{
		Client: client, Want: want.Definition, Plan: at.Ledger, Hypervisors: at.Fleet.Known(ctx),
		DHCPUnknown: !convert.WhollyKnown(ctx, planned.DHCP), PXEUnknown: !convert.WhollyKnown(ctx, planned.PXE),
	}
	if prior != nil {
		was, _ := prior.toSpec(ctx)
		k.UUID, k.Was = prior.ID.ValueString(), was.Definition
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
