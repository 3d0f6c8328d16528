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

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bridge"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, bridge.Bridge]{
		Name:   "external_bridge",
		Noun:   "external bridge",
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"name", "host", "hypervisor"},
		ID:     id,
		Split:  split,
		SetID:  func(m *model, id string) { m.ID = types.StringValue(id) },
		Spec:   func(ctx context.Context, m *model) (bridge.Bridge, diag.Diagnostics) { return m.spec(ctx) },
		Fill:   func(ctx context.Context, m *model, got bridge.Bridge) diag.Diagnostics { return m.fill(ctx, got) },
		Open:   open,
		Plan:   plan,
	})
}

// id is NAME, HOST#NAME or HYPERVISOR#NAME; an endpoint has a colon and a hypervisor's name has none.
func id(m *model) string {
	for _, place := range []string{m.Host.ValueString(), m.Hypervisor.ValueString()} {
		if place != "" {
			return place + "#" + m.Name.ValueString()
		}
	}
	return m.Name.ValueString()
}

func split(m *model, id string) error {
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

func open(ctx context.Context, at crud.Opening, m *model) (crud.Store[bridge.Bridge], error) {
	return openBridge(ctx, at, m)
}

func openBridge(ctx context.Context, at crud.Opening, m *model) (*bridge.Store, error) {
	endpoint := m.Host.ValueString()
	if endpoint == "" {
		var err error
		if endpoint, err = at.Fleet.HostOf(m.Hypervisor.ValueString()); err != nil {
			return nil, err
		}
	}
	h, err := at.Fleet.Host(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	site := hostnet.Site{Host: h, Fresh: func(ctx context.Context) (host.Host, error) { return at.Fleet.FreshHost(ctx, endpoint) }}
	return bridge.Open(site, m.Name.ValueString(), id(m), at.Claim), nil
}

// plan looks at the machine while nothing has happened yet: whether the bridge is somebody else's, the interfaces are there, and
// the default route is free.
func plan(ctx context.Context, at crud.Opening, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if !m.Host.IsNull() && !m.Hypervisor.IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("host"), "Two hosts", "write `host` or `hypervisor`, not both")
		return
	}
	if at.Fleet != nil {
		claim(at.Fleet, m, resp)
	}
	if at.Fleet == nil || !req.Plan.Raw.IsFullyKnown() && (m.Name.IsUnknown() || m.Host.IsUnknown() || m.Hypervisor.IsUnknown() || m.Interfaces.IsUnknown()) {
		return
	}
	store, err := openBridge(ctx, at, m)
	if errors.Is(err, fleet.ErrUnknown) {
		return
	}
	var backend string
	if err == nil {
		b, _ := m.spec(ctx)
		backend, err = store.Plan(ctx, b, req.State.Raw.IsNull())
	}
	if err == nil {
		resp.Diagnostics.Append(planBackend(ctx, backend, req, resp)...)
	}
	if _, placed := errors.AsType[*service.AttributeError](err); placed {
		resp.Diagnostics.Append(crud.Failure("plan", fmt.Sprintf("external bridge %q", m.Name.ValueString()), err))
	} else if err != nil {
		// The machine may come to be in the same apply, so this is no error yet.
		resp.Diagnostics.AddAttributeWarning(path.Root("interfaces"), fmt.Sprintf("Cannot look at the host of bridge %q", m.Name.ValueString()), err.Error())
	}
}

// planBackend says in the plan what will keep the bridge. Another backend makes the bridge anew.
func planBackend(ctx context.Context, backend string, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) diag.Diagnostics {
	at := path.Root("active_backend")
	diags := resp.Plan.SetAttribute(ctx, at, backend)
	var was types.String
	if !req.State.Raw.IsNull() {
		diags.Append(req.State.GetAttribute(ctx, at, &was)...)
	}
	if was.ValueString() != "" && was.ValueString() != backend {
		resp.RequiresReplace = append(resp.RequiresReplace, at)
	}
	return diags
}

// claim tells the plan's nodes and networks of the bridge. One whose host is named by an endpoint is on a hypervisor
// where that is the hypervisor's own; elsewhere it may or may not be, as a machine has many names.
func claim(f *fleet.Fleet, m *model, resp *resource.ModifyPlanResponse) {
	if m.Name.IsUnknown() {
		return
	}
	name, on := m.Name.ValueString(), m.Hypervisor.ValueString()
	owner, claims := planregistry.On(on, fmt.Sprintf("external bridge %q", name)), []planregistry.Claim{planregistry.BridgeClaim(on, name)}
	shared := planregistry.HostBridgeClaim(name)
	if !m.Host.IsNull() || m.Hypervisor.IsUnknown() {
		owner, claims = fmt.Sprintf("external bridge %q on host %s", name, m.Host), []planregistry.Claim{shared}
		for _, on := range f.Names() {
			if endpoint, err := f.HostOf(on); err == nil && endpoint == m.Host.ValueString() {
				claims = append(claims, planregistry.BridgeClaim(on, name))
			}
		}
	}
	for _, conflict := range f.Claims.Replace(owner, claims...) {
		if conflict.Claim == shared {
			continue // whether the other bridge of this name is on the same machine is not known
		}
		resp.Diagnostics.AddAttributeError(path.Root("name"), "Bridge name taken", fmt.Sprintf("%s is the one of %s: write another name", conflict.Claim, conflict.Holder))
	}
}
