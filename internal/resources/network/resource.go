// Package network is virtcluster_network, a libvirt network.
package network

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor/netspec"
)

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, spec]{
		Name:   "network",
		Noun:   "network",
		Label:  func(m *model) string { return m.label() },
		Schema: networkSchema,
		Key:    []string{"name", "hypervisor"},
		// The id is the UUID, which the store learns when it creates the network.
		ID:    func(m *model) string { return m.ID.ValueString() },
		SetID: func(*model, string) {},
		Split: split,
		Spec:  func(ctx context.Context, m *model) (spec, diag.Diagnostics) { return m.spec(ctx) },
		Fill:  func(ctx context.Context, m *model, got spec) diag.Diagnostics { return m.fill(ctx, got) },
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

func open(ctx context.Context, at crud.Opening, m *model) (crud.Store[spec], error) {
	c, err := at.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err != nil {
		return nil, err
	}
	return &store{client: c, model: m}, nil
}

// store is where one network lives.
type store struct {
	client *hypervisor.Client
	model  *model
	// written says that the network was just made or changed: what is read then is what Terraform expects.
	written bool
}

// ref is the UUID, or the name in an import.
func (s *store) ref() string {
	if id := s.model.ID.ValueString(); id != "" {
		return id
	}
	return s.model.Name.ValueString()
}

func (s *store) Get(ctx context.Context) (spec, error) {
	n, err := s.client.Network(ctx, s.ref())
	if hypervisor.IsNotFound(err) {
		return spec{}, fmt.Errorf("%w: %w", crud.ErrAbsent, err)
	}
	if err != nil {
		return spec{}, err
	}
	got, err := read(n, s.subnets()...)
	if err != nil {
		return got, err
	}
	if got.forget(s.client.LostRoutes(ctx, n)); s.written {
		got.Lost = nil // those are the next plan's: this one did not warn of a restart
	}
	got.CutOff, err = s.client.CutOff(ctx, n)
	return got, err
}

// subnets are the ones that state or plan have, which tell this resource's from others of the same network.
func (s *store) subnets() []netip.Prefix {
	var r reader // what cannot be read is no subnet
	return []netip.Prefix{r.prefix(path.Root("cidr"), s.model.CIDR), r.prefix(path.Root("ipv6_cidr"), s.model.IPv6CIDR)}
}

// read converts what the hypervisor has.
func read(n *hypervisor.Network, known ...netip.Prefix) (spec, error) {
	got := spec{UUID: n.UUID, State: hypervisor.NetworkState{Autostart: n.Autostart, Active: n.Active()}}
	var err error
	if got.Network, err = netspec.Parse(n.ConfigXML, known...); err != nil {
		return got, err
	}
	if mac := n.Current().MAC; mac != nil {
		got.MAC = mac.Address
	}
	if n.Active() {
		live, err := netspec.Parse(n.LiveXML, known...)
		if err != nil {
			return got, err
		}
		live = netspec.Running(live, got.Network)
		got.Live = &live
	}
	return got, nil
}

// forget takes the routes that the machine has lost: those that the configuration has too are missing, and what runs has
// the others on paper only.
func (s *spec) forget(lost []netspec.Route4or6) {
	for _, r := range lost {
		if slices.Contains(s.Routes, r) {
			s.Lost = append(s.Lost, r)
		}
	}
	if s.Live != nil {
		s.Live.Routes = netspec.WithoutLost(s.Live.Routes, lost, s.Routes)
	}
}

func (s *store) Create(ctx context.Context, want spec) (spec, error) {
	s.written = true
	uuid, err := s.client.CreateNetwork(ctx, want.Network, want.State)
	if err == nil {
		s.model.ID = types.StringValue(uuid)
	}
	return crud.ReadBack(ctx, s.Get, err)
}

func (s *store) Update(ctx context.Context, was, want spec) (spec, error) {
	s.written = true
	return crud.ReadBack(ctx, s.Get, s.change(ctx, was, want))
}

func (s *store) change(ctx context.Context, was, want spec) error {
	if err := s.client.UpdateNetwork(ctx, s.ref(), want.Network, want.State, was.Subnet, was.Subnet6); err != nil {
		return err
	}
	if !want.State.Active || sameRoutes(was.Routes, want.Routes) {
		return nil // routes that are lost since the plan are the next one's: it did not warn of a restart
	}
	return s.client.MendRoutes(ctx, s.ref())
}

func (s *store) Delete(ctx context.Context) error {
	return s.client.DeleteNetwork(ctx, s.ref())
}
