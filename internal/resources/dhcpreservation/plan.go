package dhcpreservation

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	virtnetwork "github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// planChange compares a reservation with those of the plan and with the network that is there. One that stays as
// it is asks nobody.
func planChange(ctx context.Context, opening crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
	var prior *model
	if !req.State.Raw.IsNull() {
		prior = &model{}
		resp.Diagnostics.Append(req.State.Get(ctx, prior)...)
		if prior.MAC.IsNull() && prior.DUID.IsNull() && !prior.Hostname.Equal(planned.Hostname) {
			resp.RequiresReplace = append(resp.RequiresReplace, path.Root("hostname")) // it is what the machine is known by
		}
	}
	if opening.Fleet == nil || resp.Diagnostics.HasError() || !req.Plan.Raw.IsFullyKnown() && (planned.Network.IsUnknown() || planned.MAC.IsUnknown() || planned.IP.IsUnknown() || planned.Hypervisor.IsUnknown()) {
		return
	}
	want, _ := planned.toSpec(ctx)
	anew := prior != nil && isMadeAnew(opening.Ledger, planned)
	if anew { // it goes with its network, and has to be put into the new one
		planned.ID = types.StringUnknown()
		resp.Diagnostics.Append(resp.Plan.Set(ctx, planned)...)
	}
	stays := prior != nil && !anew && convert.Canonical(prior.IP.ValueString()) == want.IP.String()
	moves := virtnetwork.Changes(opening.Ledger, planned.Hypervisor.ValueString(), planned.Network.ValueString())
	if stays && prior.Hostname.Equal(planned.Hostname) && !moves {
		return
	}
	c, err := opening.Fleet.Hypervisor(ctx, planned.Hypervisor.ValueString())
	if err != nil && !errors.Is(err, fleet.ErrUnknown) {
		return
	}
	k := virtnetwork.ReservationChecker{
		Reservations: virtnetwork.Reservations{Client: c, Network: planned.Network.ValueString(), Owner: opening.Claim},
		Hypervisor:   planned.Hypervisor.ValueString(), Plan: opening.Ledger, Want: want, Fresh: prior == nil, Stays: stays,
	}
	if err != nil {
		resp.Diagnostics.Append(crud.Diagnostics(k.CheckPlan())...)
		return
	}
	problems, err := k.Check(ctx)
	if err != nil {
		tflog.Warn(ctx, "cannot cross-check the reservation with its network", map[string]any{"error": err.Error()})
	}
	resp.Diagnostics.Append(crud.Diagnostics(problems)...)
}

// isMadeAnew says whether the plan makes the network of a reservation: what is on a network of that name now goes with it.
func isMadeAnew(view plan.View, m *model) bool {
	h, found := view.Find(plan.Use{Kind: plan.Network, On: plan.NameHypervisor(m.Hypervisor.ValueString()), Value: m.Network.ValueString()})
	return found && h.Doing == plan.Makes
}
