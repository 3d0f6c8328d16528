// Package dnsview is virtcluster_dns_view: one view of a BIND server.
package dnsview

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
)

// form is what an id looks like.
const form = "SERVICE_NODE#NAME"

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, bind.View]{
		Name:   "dns_view",
		Noun:   "DNS view",
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: viewSchema,
		Key:    []string{"service_node", "name"},
		ID:     formatID,
		Split:  func(m *model, id string) error { return hostattr.SplitName(id, form, &m.ServiceNode, &m.Name) },
		Spec:   toSpec,
		Fill:   fillModel,
		Open:   openStore,
		// A first view needs the zones of the same plan to go into views.
		TryAtPlan: func(create bool) bool { return !create },
		Plan:      planChange,
	})
}

func formatID(m *model) string { return hostattr.JoinID(m.ServiceNode, m.Name.ValueString()) }

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[bind.View], error) {
	return crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), bind.NewViewPart(m.Name.ValueString(), formatID(m), at.Claim.Mark()))
}
