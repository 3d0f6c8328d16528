// Package network is virtcluster_network, a libvirt network.
package network

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
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
		Lasts:  true,
		// The id is the UUID, which the store learns when it creates the network.
		ID:    func(m *model) string { return m.ID.ValueString() },
		SetID: func(*model, string) {},
		Split: splitID,
		Spec:  func(ctx context.Context, m *model) (network.Spec, diag.Diagnostics) { return m.toSpec(ctx) },
		Fill:  func(ctx context.Context, m *model, got network.Spec) diag.Diagnostics { return m.fillModel(ctx, got) },
		Open:  openStore,
		Plan:  planChange,
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
	return &network.Store{Client: c, Ref: m.networkRef(), Name: m.Name.ValueString(), Known: m.knownSubnets(), Owner: at.Claim, ImportID: m.importID()}, nil
}

// networkRef is the UUID, or the name in an import.
func (m *model) networkRef() string {
	if id := m.ID.ValueString(); id != "" {
		return id
	}
	return m.Name.ValueString()
}

// importID is what `terraform import` takes.
func (m *model) importID() string {
	if h := m.Hypervisor.ValueString(); h != "" {
		return h + "/" + m.formatLabel()
	}
	return m.formatLabel()
}

// knownSubnets are the ones that state or plan have, which tell this resource's from others of the same network.
func (m *model) knownSubnets() []netip.Prefix {
	var r reader // what cannot be read is no subnet
	return []netip.Prefix{r.readPrefix(path.Root("cidr"), m.CIDR), r.readPrefix(path.Root("ipv6_cidr"), m.IPv6CIDR)}
}
