// Package network is virtcluster_network, a libvirt network.
package network

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, network.Spec]{
		Name:   "network",
		Noun:   "network",
		Label:  func(m *model) string { return m.formatLabel() },
		Schema: networkSchema,
		Key:    []string{"name", "hypervisor"},
		Naming: crud.Naming[model]{Lasts: true, MutableIdentity: true},
		// The id is the UUID, which the store learns when it creates the network.
		ID:      func(m *model) string { return m.ID.ValueString() },
		Listing: crud.Listing{List: crud.ListNamed((*fleet.Fleet).Hypervisor, network.ListNames)},
		Split:   splitID,
		Moves: crud.Moves[model]{peer.Network: func(m *model, from peer.Thing) {
			m.ID, m.Name = types.StringValue(from.UUID), types.StringValue(from.Name)
		}},
		Spec: func(ctx context.Context, m *model) (network.Spec, diag.Diagnostics) { return m.toSpec(ctx) },
		Fill: func(ctx context.Context, m *model, got network.Spec) diag.Diagnostics { return m.fillModel(ctx, got) },
		Open: openStore,
		Plan: planChange,
	})
}

// formatLabel names the network in messages.
func (m *model) formatLabel() string { return crud.NameOrID(m.Name, m.ID) }

// splitID reads an import id: a name or a UUID, either of them after "HYPERVISOR/".
func splitID(m *model, id string) error {
	if !crud.SplitPlace(id, network.IsID, &m.Hypervisor, &m.ID, &m.Name) {
		return fmt.Errorf("the id is one of %s", importForms)
	}
	return nil
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[network.Spec], error) {
	c, err := at.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err != nil {
		return nil, err
	}
	known, _ := m.toSpec(ctx) // what cannot be read is no subnet
	return &network.Store{
		Client: c, Ref: cmp.Or(m.ID.ValueString(), m.Name.ValueString()), Name: m.Name.ValueString(), Known: []netip.Prefix{known.Subnet, known.Subnet6}, Owner: at.Claim, ImportID: m.importID(),
	}, nil
}

// importID is what `terraform import` takes.
func (m *model) importID() string {
	if h := m.Hypervisor.ValueString(); h != "" {
		return h + "/" + m.formatLabel()
	}
	return m.formatLabel()
}
