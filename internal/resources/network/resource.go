// Package network is virtcluster_network, a libvirt network.
package network

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
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

// label names the network in messages; an import by UUID has no name yet.
func (m *model) label() string {
	if name := m.Name.ValueString(); name != "" {
		return name
	}
	return m.ID.ValueString()
}

// split reads an import id: a name or a UUID, either of them after "HYPERVISOR/".
func split(m *model, id string) error {
	name := id
	if first, second, found := strings.Cut(id, "/"); found {
		m.Hypervisor, name = types.StringValue(first), second
	}
	switch {
	case name == "" || strings.Contains(name, "/"):
		return fmt.Errorf("the id is one of %s", importForms)
	case hypervisor.IsUUID(name):
		m.ID = types.StringValue(strings.ToLower(name))
	default:
		// What was written is no id yet: the store would look for a network of that name.
		m.ID, m.Name = types.StringNull(), types.StringValue(name)
	}
	return nil
}

func open(ctx context.Context, at crud.Opening, m *model) (crud.Store[network.Spec], error) {
	c, err := at.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err != nil {
		return nil, err
	}
	return &store{&network.Store{Client: c, Ref: m.ref(), Known: m.subnets(), Owner: at.Claim, ImportID: m.importID()}}, nil
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
	return []netip.Prefix{r.prefix(path.Root("cidr"), m.CIDR), r.prefix(path.Root("ipv6_cidr"), m.IPv6CIDR)}
}

// store is a network's as crud calls it.
type store struct{ *network.Store }

func (s *store) Get(ctx context.Context) (network.Spec, error) {
	got, err := s.Store.Get(ctx)
	if hypervisor.IsNotFound(err) {
		err = fmt.Errorf("%w: %w", crud.ErrAbsent, err)
	}
	return got, err
}
