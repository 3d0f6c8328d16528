// Package dhcpserver is the resource virtcluster_dhcp_server.
package dhcpserver

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/kea"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
)

// form is what an id looks like.
const form = "SERVICE_NODE#dhcp/NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, kea.Server]{
		Form: form, ServiceNode: func(m *model) *types.String { return &m.ServiceNode },
		Name: func(m *model) *types.String { return &m.Interface }, Attribute: "interface",
		Part: func(at crud.StoreContext, m *model, id string) part.Part[kea.Server] {
			return kea.NewPart(m.Interface.ValueString(), id, at.Claim.Mark())
		},
		Type: crud.Type[model, kea.Server]{
			Name:      "dhcp_server",
			Noun:      "DHCP server",
			Schema:    resourceSchema,
			Spec:      func(ctx context.Context, m *model) (kea.Server, diag.Diagnostics) { return m.toSpec(ctx) },
			TryAtPlan: func(bool) bool { return true },
		},
	})
}
