// Package haproxybackend is the resource virtcluster_haproxy_backend.
package haproxybackend

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/haproxy/attrs"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/haproxy/crosscheck"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
)

// maxDrainTimeout leaves time for the change itself within an operation's ten minutes.
const maxDrainTimeout = 8 * time.Minute

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, haproxy.Backend]{
		Name:   "haproxy_backend",
		Noun:   "HAProxy backend",
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"service_node", "name"},
		ID:     id,
		Split: func(m *model, id string) error {
			node, name, err := attrs.SplitID(id, "backend/")
			m.ServiceNode, m.Name = types.StringValue(node), types.StringValue(name)
			return err
		},
		SetID: func(m *model, id string) { m.ID = types.StringValue(id) },
		Spec:  func(ctx context.Context, m *model) (haproxy.Backend, diag.Diagnostics) { return m.spec(ctx) },
		Fill:  func(ctx context.Context, m *model, got haproxy.Backend) diag.Diagnostics { return m.fill(ctx, got) },
		Open:  open,
		Plan:  plan,
	})
}

// plan makes the backend known to the frontends of the same plan.
func plan(ctx context.Context, opening crud.Opening, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
	if d, ok := haproxy.Duration(planned.DrainTimeout.ValueString()); !planned.DrainTimeout.IsUnknown() && (!ok || d > maxDrainTimeout) {
		resp.Diagnostics.AddAttributeError(path.Root("drain_timeout"), "Invalid time",
			fmt.Sprintf("write a number and a unit such as \"30s\", %s at most, not %q", maxDrainTimeout, planned.DrainTimeout.ValueString()))
	}
	if node, ok := crosscheck.On(ctx, opening, planned.ServiceNode, req, resp); ok && !planned.Name.IsUnknown() {
		resp.Diagnostics.Append(node.Section(ctx, "backend", planned.Name.ValueString(), id(planned))...)
		if spec, diags := planned.spec(ctx); !diags.HasError() && !resp.Diagnostics.HasError() {
			resp.Diagnostics.Append(node.TryBackend(ctx, spec)...)
		}
	}
}

func id(m *model) string {
	return attrs.JoinID(m.ServiceNode.ValueString(), "backend/"+m.Name.ValueString())
}
