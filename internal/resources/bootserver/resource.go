// Package bootserver is the resource virtcluster_boot_server.
package bootserver

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/netboot"
)

// form is what an id looks like.
const form = "SERVICE_NODE#boot"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, netboot.Server]{
		Form: form, Part: netboot.NewServerPart,
		Type: crud.Type[model, netboot.Server]{
			Name:   "boot_server",
			Noun:   "boot server",
			Schema: resourceSchema,
			Spec:   toSpec,
			Fill:   fillModel,
			Plan:   planChange,
		},
	})
}

// planChange plans what machines boot from the server.
func planChange(ctx context.Context, _ crud.StoreContext, _ resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	resp.Diagnostics.Append(planFiles(ctx, resp, m)...)
}
