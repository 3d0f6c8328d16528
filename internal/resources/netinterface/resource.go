// Package netinterface is the resource virtcluster_interface.
package netinterface

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/netinterface"
)

// form is what an id looks like.
const form = "HOST#NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, netinterface.Interface]{
		Name:   "interface",
		Noun:   "interface",
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"host", "name"},
		ID:     formatID,
		Split:  func(m *model, id string) error { return hostattr.SplitName(id, form, &m.Host, &m.Name) },
		Spec:   func(ctx context.Context, m *model) (netinterface.Interface, diag.Diagnostics) { return m.toSpec(ctx) },
		Fill: func(ctx context.Context, m *model, got netinterface.Interface) diag.Diagnostics {
			return m.fillModel(ctx, got)
		},
		Open: func(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[netinterface.Interface], error) {
			return openStore(ctx, at, m)
		},
		Plan: planChange,
		PlanRemoval: func(ctx context.Context, at crud.StoreContext, m *model, replaced bool) diag.Diagnostics {
			return hostattr.PlanRemoval(ctx, func() (*netinterface.Store, error) { return openStore(ctx, at, m) }, replaced)
		},
	})
}

func formatID(m *model) string { return hostattr.JoinID(m.Host, m.Name.ValueString()) }

func openStore(ctx context.Context, at crud.StoreContext, m *model) (*netinterface.Store, error) {
	site, err := hostattr.Open(ctx, at, m.Host)
	if err != nil {
		return nil, err
	}
	return netinterface.Open(site, m.Name.ValueString(), formatID(m), at.Claim), nil
}

// planChange chooses what keeps the configuration, as far as the machine is there already, and finds what would keep it from being made.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	resp.Diagnostics.Append(hostattr.PlanAddressing(ctx, req, resp)...)
	if at.Fleet == nil || m.Host.IsUnknown() || m.Name.IsUnknown() {
		return
	}
	what := fmt.Sprintf("interface %q", m.Name.ValueString())
	want, _ := m.toSpec(ctx)
	if done, ok := hostattr.Preview(ctx, func() (*netinterface.Store, error) { return openStore(ctx, at, m) }, want, what, path.Root("host"), req, resp); ok {
		resp.Diagnostics.Append(hostattr.PlanBackend(ctx, done.ActiveBackend, req, resp)...)
	}
}
