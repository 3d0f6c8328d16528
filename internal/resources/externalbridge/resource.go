// Package externalbridge is the resource virtcluster_external_bridge.
package externalbridge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bridge"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, bridge.Bridge]{
		Name:    "external_bridge",
		Noun:    "external bridge",
		Label:   func(m *model) string { return m.Name.ValueString() },
		Schema:  resourceSchema,
		Key:     []string{"name", "host", "hypervisor"},
		ID:      formatID,
		Split:   splitID,
		Spec:    func(_ context.Context, m *model) (bridge.Bridge, diag.Diagnostics) { return m.toSpec() },
		Fill:    func(_ context.Context, m *model, got bridge.Bridge) diag.Diagnostics { return m.fillModel(got) },
		Open:    openStore,
		Listing: crud.Listing{List: crud.ListOnMachine(listBridges), Across: listAcross, ListsMarked: true},
		Plan:    planChange,
		PlanRemoval: func(ctx context.Context, at crud.StoreContext, m *model, replaced bool) diag.Diagnostics {
			return hostattr.PlanRemoval(ctx, func() (*bridge.Store, error) { return openBridge(ctx, at, m) }, replaced)
		},
	})
}

// listBridges lists the bridges of a machine that this provider has made or taken over.
func listBridges(ctx context.Context, h host.Host) ([]string, error) {
	return hostnet.ListRecorded(ctx, h, "bridge")
}

// listAcross lists those of machines that are named by their endpoints.
func listAcross(ctx context.Context, at crud.StoreContext, machines []string) (ids []string, err error) {
	for _, machine := range machines {
		site, err := hostattr.Open(ctx, at, types.StringValue(machine))
		if err != nil {
			return nil, err
		}
		names, err := listBridges(ctx, site.Host)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			ids = append(ids, hostattr.JoinID(types.StringValue(machine), name))
		}
	}
	return ids, nil
}

// formatID is NAME, HOST#NAME or HYPERVISOR#NAME; an endpoint has a colon and a hypervisor's name has none.
func formatID(m *model) string {
	for _, place := range []string{m.Host.ValueString(), m.Hypervisor.ValueString()} {
		if place != "" {
			return host.ShortenReferences(place) + "#" + m.Name.ValueString()
		}
	}
	return m.Name.ValueString()
}

func splitID(m *model, id string) error {
	place, name, placed := strings.Cut(id, "#")
	if !placed {
		place, name = "", id
	}
	if name == "" {
		return errors.New(`write NAME, HOST#NAME or HYPERVISOR#NAME, such as "ssh://root@kvm1.example#kiextbr0"`)
	}
	m.Name = types.StringValue(name)
	switch {
	case strings.Contains(place, ":"):
		m.Host = types.StringValue(place)
	case place != "":
		m.Hypervisor = types.StringValue(place)
	}
	return nil
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[bridge.Bridge], error) {
	return openBridge(ctx, at, m)
}

func openBridge(ctx context.Context, at crud.StoreContext, m *model) (*bridge.Store, error) {
	endpoint := m.Host.ValueString()
	if endpoint == "" {
		var err error
		if endpoint, err = at.Fleet.HostOf(m.Hypervisor.ValueString()); err != nil {
			return nil, err
		}
	}
	site, err := hostattr.Open(ctx, at, types.StringValue(endpoint))
	if err != nil {
		return nil, err
	}
	return bridge.Open(site, m.Name.ValueString(), formatID(m), at.Claim), nil
}

// planChange looks at the machine while nothing has happened yet: whether the bridge is somebody else's, the interfaces are there, and
// the default route is free.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	resp.Diagnostics.Append(hostattr.PlanAddressing(ctx, req, resp)...)
	if !m.Host.IsNull() && !m.Hypervisor.IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("host"), "Two hosts", "write `host` or `hypervisor`, not both")
		return
	}
	if at.Fleet == nil || m.Name.IsUnknown() || m.Host.IsUnknown() || m.Hypervisor.IsUnknown() || !convert.WhollyKnown(ctx, m.Interfaces) {
		return
	}
	want, _ := m.toSpec()
	b, ok := hostattr.Preview(ctx, func() (*bridge.Store, error) { return openBridge(ctx, at, m) }, want,
		fmt.Sprintf("external bridge %q", m.Name.ValueString()), machineAttribute(m), req, resp)
	if !ok {
		return
	}
	resp.Diagnostics.Append(hostattr.PlanBackend(ctx, b.ActiveBackend, req, resp)...)
	var was model
	if req.State.Raw.IsNull() {
		return
	}
	resp.Diagnostics.Append(req.State.Get(ctx, &was)...)
	if old, _ := was.toSpec(); b.ActiveBackend == hostnet.Runtime && !sameMembers(bridge.Bridge{VLANs: old.VLANs, Bonds: old.Bonds}, bridge.Bridge{VLANs: b.VLANs, Bonds: b.Bonds}) {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("interfaces")) // there is no manager that would change them in place
	}
}

// machineAttribute is the attribute that says which machine it is, as far as one does.
func machineAttribute(m *model) path.Path {
	switch {
	case !m.Host.IsNull():
		return path.Root("host")
	case !m.Hypervisor.IsNull():
		return path.Root("hypervisor")
	}
	return path.Root("name")
}
