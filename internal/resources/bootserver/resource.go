// Package bootserver is the resource virtcluster_boot_server.
package bootserver

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/netboot"
)

// form is what an id looks like.
const form = "SERVICE_NODE#boot"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, netboot.Server]{
		Name:   "boot_server",
		Noun:   "boot server",
		Label:  func(m *model) string { return hostattr.Endpoint(m.ServiceNode.ValueString()) },
		Schema: resourceSchema,
		Key:    []string{"service_node"},
		ID:     formatID,
		Split: func(m *model, id string) error {
			node, _, err := hostattr.SplitID(id, form)
			m.ServiceNode = node
			return err
		},
		Spec: func(ctx context.Context, m *model) (netboot.Server, diag.Diagnostics) { return m.toSpec(ctx) },
		Fill: func(ctx context.Context, m *model, got netboot.Server) diag.Diagnostics { return m.fillModel(ctx, got) },
		Open: func(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[netboot.Server], error) {
			return openStore(ctx, at, m)
		},
		Plan: planChange,
	})
}

func formatID(m *model) string { return hostattr.JoinID(m.ServiceNode, "boot") }

func openStore(ctx context.Context, at crud.StoreContext, m *model) (*netboot.ServerStore, error) {
	h, err := at.Fleet.Host(ctx, m.ServiceNode.ValueString())
	if err != nil {
		return nil, err
	}
	return netboot.OpenServer(&at.Fleet.Engine, h, at.Claim, formatID(m), at.Version), nil
}

// planChange plans what machines boot from the server, and refuses one where its ports are taken or its loaders cannot be read.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	resp.Diagnostics.Append(planFiles(ctx, resp, m)...)
	if at.Fleet == nil || !req.State.Raw.IsNull() || m.ServiceNode.IsUnknown() || m.HTTP.IsUnknown() || resp.Diagnostics.HasError() {
		return
	}
	want, diags := m.toSpec(ctx)
	if diags.HasError() {
		return
	}
	hostattr.LookFirst("service_node", "boot server", resp, func() error {
		store, err := openStore(ctx, at, m)
		if err == nil {
			err = store.Look(ctx, want)
		}
		return err
	})
}
