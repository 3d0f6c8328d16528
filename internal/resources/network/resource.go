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
		Label:  func(m *model) string { return m.label() },
		Schema: networkSchema,
		Key:    []string{"name", "hypervisor"},
		Lasts:  true,
		// The id is the UUID, which the store learns when it creates the network.
		ID:    func(m *model) string { return m.ID.ValueString() },
		SetID: func(*model, string) {},
		Split: split,
		Spec:  func(ctx context.Context, m *model) (network.Spec, diag.Diagnostics) { return m.spec(ctx) },
		Fill:  func(ctx context.Context, m *model, got network.Spec) diag.Diagnostics { return m.fill(ctx, got) },
		Open:  open,
		Plan:  plan,
	})
}

// label names the network in messages.
func (m *model) label() string { return crud.NameOrID(m.Name, m.ID) }

// split reads an import id: a name or a UUID, either of them after "HYPERVISOR/".
func split(m *model, id string) error {
	if !crud.SplitPlace(id, network.IsID, &m.Hypervisor, &m.ID, &m.Name) {
		return fmt.Errorf("the id is one of %s", importForms)
	}
	return nil
}

func open(ctx context.Context, at crud.Opening, m *model) (crud.Store[network.Spec], error) {
	c, err := at.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err != nil {
		return nil, err
	}
	return &network.Store{Client: c, Ref: m.ref(), Name: m.Name.ValueString(), Known: m.subnets(), Owner: at.Claim, ImportID: m.importID()}, nil
}

// ref is the UUID, or the name in an import.
func (m *model) ref() string {
	if id := m.ID.ValueString(); id != "" {
		return id
	}
	return m.Name.ValueString()
}

// importID is what `terraform import` takes.
func (m *model) importID() string {
	if h := m.Hypervisor.ValueString(); h != "" {
		return h + "/" + m.label()
	}
	return m.label()
}

// subnets are the ones that state or plan have, which tell this resource's from others of the same network.
func (m *model) subnets() []netip.Prefix {
	var r reader // what cannot be read is no subnet
	return []netip.Prefix{r.readPrefix(path.Root("cidr"), m.CIDR), r.readPrefix(path.Root("ipv6_cidr"), m.IPv6CIDR)}
}
