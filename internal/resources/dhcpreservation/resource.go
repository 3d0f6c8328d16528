// Package dhcpreservation is virtcluster_dhcp_reservation, a fixed address on a libvirt network.
package dhcpreservation

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	virtnetwork "github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, virtnetwork.Reservation]{
		Name:   "dhcp_reservation",
		Noun:   "DHCP reservation",
		Label:  func(m *model) string { return m.formatID() },
		Schema: reservationSchema,
		Key:    []string{"network", "mac", "hypervisor"},
		ID: func(m *model) string {
			if m.MAC.IsUnknown() || m.MAC.IsNull() && (m.DUID.IsUnknown() || m.DUID.IsNull() && m.Hostname.IsUnknown()) {
				return "" // what it names the machine by is known later
			}
			return m.formatID()
		},
		Split:   splitID,
		Listing: crud.Listing{List: listReservations},
		Spec:    func(ctx context.Context, m *model) (virtnetwork.Reservation, diag.Diagnostics) { return m.toSpec(ctx) },
		Fill: func(ctx context.Context, m *model, got virtnetwork.Reservation) diag.Diagnostics {
			return m.fillModel(ctx, got)
		},
		Open: openStore,
		Plan: planChange,
	})
}

// splitID reads an import id.
func splitID(m *model, id string) error {
	parts := strings.Split(id, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return errors.New("the id is NETWORK/MAC or HYPERVISOR/NETWORK/MAC, with a DUID or a host name in the MAC address's place for IPv6")
	}
	if len(parts) == 3 {
		m.Hypervisor = types.StringValue(parts[0])
		parts = parts[1:]
	}
	m.Network = types.StringValue(parts[0])
	switch machine := parts[1]; {
	case isMAC(machine):
		m.MAC = types.StringValue(convert.Canonical(machine))
	case virtnetwork.IsDUID(machine):
		m.DUID = types.StringValue(machine)
	default:
		m.Hostname = types.StringValue(machine)
	}
	return nil
}

// listReservations lists what the networks of a hypervisor keep for machines that are none of its own.
func listReservations(ctx context.Context, at crud.StoreContext, hypervisor string) (keys []map[string]string, err error) {
	c, err := at.Fleet.Hypervisor(ctx, hypervisor)
	if err != nil {
		return nil, err
	}
	all, err := virtnetwork.ListReservations(ctx, c)
	for _, r := range all {
		key := map[string]string{"network": r.Network}
		switch {
		case r.MAC != "":
			key["mac"] = r.MAC
		case r.ID != "":
			key["duid"] = r.ID
		default:
			key["hostname"] = r.Name
		}
		keys = append(keys, key)
	}
	return keys, err
}

func isMAC(text string) bool {
	_, err := alloc.CanonicalMAC(text)
	return err == nil
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[virtnetwork.Reservation], error) {
	c, err := at.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err != nil {
		return nil, err
	}
	key, _ := m.toSpec(ctx)
	return &virtnetwork.ReservationStore{
		Reservations: virtnetwork.Reservations{Client: c, Network: m.Network.ValueString(), Owner: at.Claim, ImportID: m.formatID()}, Key: key,
	}, nil
}

// duid is a DHCP unique identifier; Validate says what is wrong with its form.
var duid = values.Word.Same(virtnetwork.CanonicalDUID)

func reservationSchema(context.Context) schema.Schema {
	replaces := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	return schema.Schema{
		MarkdownDescription: "A fixed address that a network's DHCP gives to one machine. It is added, changed and removed while the network and its machines run. " +
			"A `virtcluster_node` makes the reservations of its own interfaces by itself; this is for machines that Terraform does not make. " +
			"One that the network lists itself (`dhcp.hosts`), or that somebody made by hand with the same addresses, is used as it is and stays when the resource goes; one of another state is refused, and can be imported.",
		Attributes: map[string]schema.Attribute{
			"id":         values.KeptText("`<network>/<mac>`, after `<hypervisor>/` where there is a `hypervisor`; on IPv6 the DUID or the host name stands in the MAC address's place."),
			"hypervisor": crud.HypervisorAttribute("network", "reservation"),
			"network":    values.Name.Required("Name or UUID of the network. A change makes a new reservation.", replaces...),
			"mac":        values.MAC.Optional("MAC address of the machine's interface. Required for IPv4, where a change makes a new reservation; not possible for IPv6.", values.MAC.KeepSpelling(), stringplanmodifier.RequiresReplace()),
			"duid":       duid.Optional("DHCP unique identifier of the machine, for IPv6, such as `0:3:0:1:52:54:0:aa:6c:b1`. Default: the machine is known by `hostname`. A change makes a new reservation.", duid.KeepSpelling(), stringplanmodifier.RequiresReplace()),
			"ip":         values.Address.Required("Address that the machine gets, inside the network's subnet and outside of its DHCP ranges.", values.Address.KeepSpelling()),
			"hostname":   values.HostName.Optional("Name that the machine is told and that the network's DNS knows it by; a subnet takes each name once. Default: none."),
		},
	}
}

type model struct {
	ID         types.String `tfsdk:"id"`
	Hypervisor types.String `tfsdk:"hypervisor"`
	Network    types.String `tfsdk:"network"`
	MAC        types.String `tfsdk:"mac"`
	DUID       types.String `tfsdk:"duid"`
	IP         types.String `tfsdk:"ip"`
	Hostname   types.String `tfsdk:"hostname"`
}

// toSpec converts the model.
func (m *model) toSpec(context.Context) (virtnetwork.Reservation, diag.Diagnostics) {
	r := virtnetwork.Reservation{Network: m.Network.ValueString()}
	diags := convert.ToPlain(m, &r, func(...any) {})
	r.ID = strings.ToLower(r.ID)
	return r, diags
}

// fillModel writes what was read.
func (m *model) fillModel(_ context.Context, got virtnetwork.Reservation) diag.Diagnostics {
	convert.FromPlain(&got, m)
	return nil
}

// machineID is what the id names the machine by.
func (m *model) machineID() string {
	switch {
	case m.MAC.ValueString() != "":
		return convert.Canonical(m.MAC.ValueString())
	case m.DUID.ValueString() != "":
		return strings.ToLower(m.DUID.ValueString())
	}
	return m.Hostname.ValueString()
}

func (m *model) formatID() string {
	id := m.Network.ValueString() + "/" + m.machineID()
	if h := m.Hypervisor.ValueString(); h != "" {
		return h + "/" + id
	}
	return id
}

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
