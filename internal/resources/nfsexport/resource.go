// Package nfsexport is the resource virtcluster_nfs_export.
package nfsexport

import (
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/nfs"
)

// form is what an id looks like.
const form = "SERVICE_NODE#PATH"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, nfs.Export]{
		Form: form, Name: "path", Part: nfs.NewPart,
		Type: crud.Type[model, nfs.Export]{
			Name:   "nfs_export",
			Noun:   "NFS export",
			Schema: resourceSchema,
			Spec:   toSpec,
			Fill:   fillModel,
		},
	})
}
