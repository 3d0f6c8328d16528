// Package exposedservice is the resource virtcluster_exposed_service.
package exposedservice

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/exposureattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
)

// form is what an id looks like.
const form = "SERVICE_NODE#NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, exposure.Exposure]{
		Form: form, Name: "name", Open: openStore,
		Type: crud.Type[model, exposure.Exposure]{
			Name:   "exposed_service",
			Noun:   "exposed service",
			Schema: resourceSchema,
			Spec:   toSpec,
			Plan:   planChange,
		},
	})
}

func openStore(ctx context.Context, at crud.StoreContext, m *model, of part.Identity) (crud.Store[exposure.Exposure], error) {
	return exposureattr.Open(ctx, at, &m.Common, of.Name, describeService(m), of.ImportID)
}

func describeService(m *model) string { return fmt.Sprintf("exposed service %q", m.Name.ValueString()) }
