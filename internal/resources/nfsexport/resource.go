// Package nfsexport is the resource virtcluster_nfs_export.
package nfsexport

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/nfs"
)

// form is what an id looks like.
const form = "SERVICE_NODE#PATH"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, nfs.Export]{
		Name:   "nfs_export",
		Noun:   "NFS export",
		Label:  func(m *model) string { return m.Path.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"service_node", "path"},
		ID:     id,
		Split: func(m *model, id string) error {
			node, exported, err := hostattr.SplitID(id, form)
			m.ServiceNode, m.Path = node, types.StringValue(exported)
			return err
		},
		SetID: func(m *model, id string) { m.ID = types.StringValue(id) },
		Spec:  func(ctx context.Context, m *model) (nfs.Export, diag.Diagnostics) { return m.spec(ctx) },
		Fill:  func(ctx context.Context, m *model, got nfs.Export) diag.Diagnostics { return m.fill(ctx, got) },
		Open:  open,
		Plan:  plan,
	})
}

func id(m *model) string { return hostattr.JoinID(m.ServiceNode, m.Path.ValueString()) }

// plan refuses two exports of one directory on one machine.
func plan(_ context.Context, at crud.Opening, _ resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if at.Fleet == nil || m.ServiceNode.IsUnknown() || m.Path.IsUnknown() {
		return
	}
	claim := planregistry.Claim{Kind: "NFS export", Value: m.Path.ValueString(), Scope: hostattr.Reference(m.ServiceNode)}
	for _, conflict := range at.Registry.Claims.Replace(fmt.Sprintf("NFS export %q to %s", id(m), m.Clients), claim) {
		resp.Diagnostics.AddAttributeError(path.Root("path"), "Exported twice", fmt.Sprintf("%s is another resource's: write all clients into one of them", conflict.Claim))
	}
}

func open(ctx context.Context, at crud.Opening, m *model) (crud.Store[nfs.Export], error) {
	p, err := crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), nfs.NewPart(m.Path.ValueString(), id(m), at.Claim.Mark()))
	return &nfs.Store{Part: p}, err
}
