// Package dhcpreservation is virtcluster_dhcp_reservation, a fixed address on a libvirt network.
package dhcpreservation

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
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
			if m.MAC.IsUnknown() || m.MAC.IsNull() && m.DUID.IsUnknown() {
				return "" // what it names the machine by is known later
			}
			return m.formatID()
		},
		Split: splitID,
		Spec:  func(ctx context.Context, m *model) (virtnetwork.Reservation, diag.Diagnostics) { return m.toSpec(ctx) },
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
