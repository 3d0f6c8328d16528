// Package bmc is the resource virtcluster_bmc.
package bmc

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/selfbinary"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bmc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, bmc.Controllers]{
		Name:   "bmc",
		Noun:   "controllers",
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"hypervisor", "name"},
		ID:     formatID,
		Split:  splitID,
		Spec:   func(ctx context.Context, m *model) (bmc.Controllers, diag.Diagnostics) { return m.toSpec(ctx) },
		Fill: func(ctx context.Context, m *model, got bmc.Controllers) diag.Diagnostics {
			return m.fillModel(ctx, got)
		},
		Open:      openStore,
		WriteOnly: writeOnly,
		Plan:      planControllers,
	})
}

// formatID is NAME or HYPERVISOR/NAME.
func formatID(m *model) string {
	if h := m.Hypervisor.ValueString(); h != "" {
		return h + "/" + m.Name.ValueString()
	}
	return m.Name.ValueString()
}

func splitID(m *model, id string) error {
	hypervisor, name, placed := strings.Cut(id, "/")
	if !placed {
		hypervisor, name = "", id
	}
	if err := bmc.CheckName(name); err != nil {
		return fmt.Errorf("write NAME or HYPERVISOR/NAME: %w", err)
	}
	m.Name = types.StringValue(name)
	if hypervisor != "" {
		m.Hypervisor = types.StringValue(hypervisor)
	}
	return nil
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[bmc.Controllers], error) {
	return openControllers(ctx, at, m)
}

func openControllers(ctx context.Context, at crud.StoreContext, m *model) (*bmc.Store, error) {
	endpoint, err := at.Fleet.HostOf(m.Hypervisor.ValueString())
	if err != nil {
		return nil, err
	}
	h, err := at.Fleet.Host(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	libvirt, err := at.Fleet.URI(m.Hypervisor.ValueString())
	if err != nil {
		return nil, err
	}
	store := bmc.Open(h, m.Name.ValueString(), formatID(m), at.Claim)
	store.URI = localURI(libvirt)
	source, checksum := textOf(m.Binary.Attributes()["source"]), textOf(m.Binary.Attributes()["checksum"])
	store.Choose = func(ctx context.Context, on selfbinary.Machine) (selfbinary.Program, error) {
		return selfbinary.Choose(ctx, on, source, checksum, at.Version)
	}
	store.Exists = func(ctx context.Context, node string) error {
		return machine.FindNode(ctx, at.Fleet.Known(ctx), m.Hypervisor.ValueString(), node)
	}
	return store, nil
}

// localURI is how libvirt is called on the machine itself that a URI leads to: by the same socket, where the URI names one.
func localURI(libvirt string) string {
	const usual = "qemu:///system"
	u, err := url.Parse(libvirt)
	if err != nil || u.Query().Get("socket") == "" {
		return usual
	}
	return "qemu+unix:///system?socket=" + u.Query().Get("socket")
}
