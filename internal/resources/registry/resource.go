// Package registry is the resource virtcluster_registry.
package registry

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/registry"
)

// form is what an id looks like.
const form = "SERVICE_NODE#registry/NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, registry.Registry]{
		Form: form, Name: "name", Part: registry.NewPart,
		Type: crud.Type[model, registry.Registry]{
			Name:      "registry",
			Noun:      "registry",
			Schema:    resourceSchema,
			Spec:      toSpec,
			Fill:      fillModel,
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
