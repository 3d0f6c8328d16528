package dhcpreservation

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	virtnetwork "github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// planChange compares a reservation with those of the plan and with the network that is there. One that stays as
// it is asks nobody.
func planChange(ctx context.Context, opening crud.Opening, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
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
	anew := prior != nil && opening.Registry.Claims.Holder(planregistry.NewNetworkClaim(planned.Hypervisor.ValueString(), planned.Network.ValueString())) != ""
	if anew { // it goes with its network, and has to be put into the new one
		planned.ID = types.StringUnknown()
		resp.Diagnostics.Append(resp.Plan.Set(ctx, planned)...)
	}
	stays := prior != nil && !anew && canonicalAddress(prior.IP.ValueString()) == want.IP.String()
	claim(opening.Provided, planned, want, stays, resp)
	moves := opening.Registry.Claims.Holder(planregistry.NetworkClaim(planned.Hypervisor.ValueString(), planned.Network.ValueString())) != ""
	if stays && prior.Hostname.Equal(planned.Hostname) && !moves {
		return
	}
	c, err := opening.Fleet.Hypervisor(ctx, planned.Hypervisor.ValueString())
	if err != nil && !errors.Is(err, fleet.ErrUnknown) {
		return
	}
	k := virtnetwork.ReservationChecker{
		Reservations: virtnetwork.Reservations{Client: c, Network: planned.Network.ValueString(), Owner: opening.Claim},
		Hypervisor:   planned.Hypervisor.ValueString(), Plan: opening.Registry, Want: want, Fresh: prior == nil, Stays: stays,
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

// claim lays claim to the address and to the machine's one reservation on the network. A new address must not be one
// that a network of the plan gives to any machine.
func claim(provided crud.Provided, m *model, want virtnetwork.Reservation, stays bool, resp *resource.ModifyPlanResponse) {
	host, network := m.Hypervisor.ValueString(), m.Network.ValueString()
	address := planregistry.AddressClaim(host, network, want.IP)
	machine := planregistry.ReservationClaim(host, network, m.machineID())
	// The address is part of the name: of two reservations for one machine, neither is the other planned again.
	owner := planregistry.NameOnHypervisor(host, fmt.Sprintf("the reservation of %s for %s on network %q", want.IP, m.machineID(), network))
	claims := []planregistry.Claim{address, machine}
	if want.Name != "" {
		claims = append(claims, planregistry.NameClaim(host, network, want.Name, want.IP))
	}
	for _, conflict := range provided.Registry.Claims.Replace(owner, claims...) {
		switch conflict.Claim {
		case address:
			resp.Diagnostics.AddAttributeError(path.Root("ip"), "Address taken by another resource", fmt.Sprintf("%s belongs to %s: write another address.", conflict.Claim, conflict.Holder))
		case machine:
			resp.Diagnostics.AddAttributeError(path.Root(m.keyAttribute()), "Machine has a reservation already", fmt.Sprintf("The %s is %s: a machine can have one on a network.", conflict.Claim, conflict.Holder))
		default:
			resp.Diagnostics.AddAttributeError(path.Root("hostname"), "Name taken by another resource", fmt.Sprintf("%s belongs to %s, and libvirt takes a name once: write another.", conflict.Claim, conflict.Holder))
		}
	}
	if virtual, there := provided.Registry.Claims.FindVirtual(want.IP); there {
		resp.Diagnostics.AddAttributeError(path.Root("ip"), "Address taken by another resource", fmt.Sprintf("%s belongs to %s, and a virtual address is no machine's own: write another address.", virtual.Claim, virtual.Holder))
	}
	if pool, there := provided.Registry.Pools.FindMade(want.IP); there {
		resp.Diagnostics.AddAttributeError(path.Root("ip"), "Address taken by another resource", fmt.Sprintf("%s is one that the new %s gives out: write another address, or reserve it there.", want.IP, pool))
	}
	kept := planregistry.Kept{Hypervisor: host, Network: network, Address: want.IP, MAC: m.machineID()}
	for _, k := range provided.Registry.Listed.ReplaceKept(owner, kept) {
		resp.Diagnostics.AddAttributeError(path.Root("ip"), "Address listed by the network", fmt.Sprintf("The dhcp.hosts of network %q keeps %s for %s: write another address.", network, want.IP, k.Listed))
	}
	if stays {
		provided.Registry.Ranges.ReplaceReserved(owner, host, network)
		return
	}
	for _, r := range provided.Registry.Ranges.ReplaceReserved(owner, host, network, want.IP) {
		resp.Diagnostics.Append(crud.Diagnostics([]service.Problem{virtnetwork.AddressInRangeProblem(network, want.IP, virtnetwork.Range(r.Range))})...)
	}
}

// keyAttribute is the attribute that the machine is known by.
func (m *model) keyAttribute() string {
	switch {
	case !m.MAC.IsNull():
		return "mac"
	case !m.DUID.IsNull():
		return "duid"
	}
	return "hostname"
}
