// Package exposedservice is the resource virtcluster_exposed_service.
package exposedservice

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/exposureattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
)

// form is what an id looks like.
const form = "SERVICE_NODE#NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, exposure.Exposure]{
		Name:   "exposed_service",
		Noun:   "exposed service",
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"service_node", "name"},
		ID:     formatID,
		Split:  func(m *model, id string) error { return hostattr.SplitName(id, form, &m.ServiceNode, &m.Name) },
		Spec:   func(_ context.Context, m *model) (exposure.Exposure, diag.Diagnostics) { return m.toSpec() },
		Open: func(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[exposure.Exposure], error) {
			return exposureattr.Open(ctx, at, &m.Common, m.Name.ValueString(), describeService(m), formatID(m))
		},
		Plan: planChange,
	})
}

func formatID(m *model) string { return hostattr.JoinID(m.ServiceNode, m.Name.ValueString()) }

func describeService(m *model) string { return fmt.Sprintf("exposed service %q", m.Name.ValueString()) }
