// Package registry is the resource virtcluster_registry.
package registry

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/registry"
)

// form is what an id looks like.
const form = "SERVICE_NODE#registry/NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, registry.Registry]{
		Form: form, ServiceNode: func(m *model) *types.String { return &m.ServiceNode },
		Name: func(m *model) *types.String { return &m.Name }, Attribute: "name",
		Part: func(at crud.StoreContext, m *model, id string) part.Part[registry.Registry] {
			return registry.NewPart(m.Name.ValueString(), id, at.Claim.Mark())
		},
		Type: crud.Type[model, registry.Registry]{
			Name:   "registry",
			Noun:   "registry",
			Schema: resourceSchema,
			Spec:   func(ctx context.Context, m *model) (registry.Registry, diag.Diagnostics) { return m.toSpec(ctx) },
			Fill: func(ctx context.Context, m *model, got registry.Registry) diag.Diagnostics {
				return m.fillModel(ctx, got)
			},
			WriteOnly: writeOnly,
			Plan:      planChange,
		},
	})
}

// planChange plans where the images are.
func planChange(ctx context.Context, _ crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	var written types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("storage"), &written)...)
	if written.IsNull() && !m.Name.IsUnknown() {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("storage"), "/var/lib/virtcluster-registry/"+m.Name.ValueString())...)
	}
}
