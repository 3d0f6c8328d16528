// Package dhcpreservation is virtcluster_dhcp_reservation, a fixed address on a libvirt network.
package dhcpreservation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	virtnetwork "github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, reservation]{
		Name:   "dhcp_reservation",
		Noun:   "DHCP reservation",
		Label:  func(m *model) string { return m.id() },
		Schema: reservationSchema,
		Key:    []string{"network", "mac", "hypervisor"},
		ID:     func(m *model) string { return m.id() },
		SetID:  func(m *model, id string) { m.ID = types.StringValue(id) },
		Split:  split,
		Spec:   func(ctx context.Context, m *model) (reservation, diag.Diagnostics) { return m.spec(ctx) },
		Fill:   func(ctx context.Context, m *model, got reservation) diag.Diagnostics { return m.fill(ctx, got) },
		Open:   open,
		Plan:   plan,
	})
}

// split reads an import id.
func split(m *model, id string) error {
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
		m.MAC = types.StringValue(canonicalMAC(machine))
	case duid.MatchString(machine):
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

func open(ctx context.Context, at crud.Opening, m *model) (crud.Store[reservation], error) {
	c, err := at.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err != nil {
		return nil, err
	}
	key, _ := m.spec(ctx)
	return &store{client: c, network: m.Network.ValueString(), key: key}, nil
}

// store is where one reservation lives.
type store struct {
	client  *hypervisor.Client
	network string
	key     reservation
}

// is says whether a reservation is for the machine that this one is for.
func (s *store) is(h hypervisor.DHCPHost) bool {
	switch {
	case s.key.MAC != "":
		return h.MAC == s.key.MAC
	case s.key.ID != "":
		return hypervisor.CanonicalDUID(h.ID) == hypervisor.CanonicalDUID(s.key.ID)
	}
	return h.MAC == "" && h.ID == "" && h.Name == s.key.Name
}

// Get looks in the configuration, which survives, and in the running network, which answers: a reservation
// that one of them lacks is not there, and one that differs is as the one that differs from the key has it.
func (s *store) Get(ctx context.Context) (reservation, error) {
	n, err := s.client.Network(ctx, s.network)
	if hypervisor.IsNotFound(err) {
		return reservation{}, fmt.Errorf("%w: %w", crud.ErrAbsent, err)
	}
	if err != nil {
		return reservation{}, err
	}
	hosts := hypervisor.DHCPHosts(n.Config)
	at := slices.IndexFunc(hosts, s.is)
	if at < 0 {
		return reservation{}, crud.ErrAbsent
	}
	found := hosts[at]
	if n.Active() {
		live := hypervisor.DHCPHosts(n.Live)
		at := slices.IndexFunc(live, s.is)
		if at < 0 {
			return reservation{}, crud.ErrAbsent
		}
		if found.IP == s.key.IP && found.Name == s.key.Name {
			found = live[at]
		}
	}
	return reservation{DHCPHost: found}, nil
}

// Create adds the reservation. An equal one is taken over, whoever made it: there is nothing to lose.
func (s *store) Create(ctx context.Context, want reservation) (reservation, error) {
	return crud.ReadBack(ctx, s.Get, virtnetwork.AddReservation(ctx, s.client, s.network, want.DHCPHost))
}

// Update changes address or name in place. The machine is known by its MAC address or DUID; one that is
// known by its name is removed and added.
func (s *store) Update(ctx context.Context, was, want reservation) (reservation, error) {
	return crud.ReadBack(ctx, s.Get, virtnetwork.UpdateReservation(ctx, s.client, s.network, was.DHCPHost, want.DHCPHost))
}

func (s *store) Delete(ctx context.Context) error {
	return virtnetwork.RemoveReservation(ctx, s.client, s.network, s.key.DHCPHost)
}
