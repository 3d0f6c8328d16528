// Package nfsexport is the resource virtcluster_nfs_export.
package nfsexport

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
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
		ID:     formatID,
		Split: func(m *model, id string) error {
			node, exported, err := hostattr.SplitID(id, form)
			m.ServiceNode, m.Path = node, types.StringValue(exported)
			return err
		},
		Spec: func(ctx context.Context, m *model) (nfs.Export, diag.Diagnostics) { return m.toSpec(ctx) },
		Fill: func(ctx context.Context, m *model, got nfs.Export) diag.Diagnostics { return m.fillModel(ctx, got) },
		Open: openStore,
	})
}

func formatID(m *model) string { return hostattr.JoinID(m.ServiceNode, m.Path.ValueString()) }

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[nfs.Export], error) {
	p, err := crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), nfs.NewPart(m.Path.ValueString(), formatID(m), at.Claim.Mark()))
	return &nfs.Store{Part: p}, err
}
