// Package registry is the resource virtcluster_registry.
package registry

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/registry"
)

// form is what an id looks like.
const form = "SERVICE_NODE#registry/NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, registry.Registry]{
		Name:   "registry",
		Noun:   "registry",
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"service_node", "name"},
		ID:     func(m *model) string { return hostattr.JoinID(m.ServiceNode, "registry/"+m.Name.ValueString()) },
		Split:  func(m *model, id string) error { return hostattr.SplitName(id, form, &m.ServiceNode, &m.Name) },
		Spec:   func(ctx context.Context, m *model) (registry.Registry, diag.Diagnostics) { return m.toSpec(ctx) },
		Fill: func(ctx context.Context, m *model, got registry.Registry) diag.Diagnostics {
			return m.fillModel(ctx, got)
		},
		Open: func(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[registry.Registry], error) {
			return openStore(ctx, at, m)
		},
		WriteOnly: writeOnly,
		Plan:      planChange,
	})
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (*registry.Store, error) {
	id := hostattr.JoinID(m.ServiceNode, "registry/"+m.Name.ValueString())
	p, err := crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), registry.NewPart(m.Name.ValueString(), id, at.Claim.Mark()))
	return &registry.Store{Part: p}, err
}

// planChange plans where the images are, and refuses a registry at a port that somebody else has.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	var written types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("storage"), &written)...)
	if written.IsNull() && !m.Name.IsUnknown() {
		m.Storage = types.StringValue("/var/lib/virtcluster-registry/" + m.Name.ValueString())
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("storage"), m.Storage)...)
	}
	if at.Fleet == nil || !req.State.Raw.IsNull() || m.ServiceNode.IsUnknown() || m.Port.IsUnknown() {
		return
	}
	want, diags := m.toSpec(ctx)
	if diags.HasError() {
		return
	}
	hostattr.LookFirst("service_node", fmt.Sprintf("registry %q", want.Name), resp, func() error {
		store, err := openStore(ctx, at, m)
		if err == nil {
			err = store.Look(ctx, want)
		}
		return err
	})
}
