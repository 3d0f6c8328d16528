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
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
)

// form is what an id looks like.
const form = "SERVICE_NODE#PATH"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, nfs.Export]{
		Form: form, ServiceNode: func(m *model) *types.String { return &m.ServiceNode },
		Name: func(m *model) *types.String { return &m.Path }, Attribute: "path",
		Part: func(at crud.StoreContext, m *model, id string) part.Part[nfs.Export] {
			return nfs.NewPart(m.Path.ValueString(), id, at.Claim.Mark())
		},
		Type: crud.Type[model, nfs.Export]{
			Name:   "nfs_export",
			Noun:   "NFS export",
			Schema: resourceSchema,
			Spec:   func(_ context.Context, m *model) (nfs.Export, diag.Diagnostics) { return m.toSpec() },
			Fill:   func(_ context.Context, m *model, got nfs.Export) diag.Diagnostics { return m.fillModel(got) },
		},
	})
}
