// Package haproxy is the resource virtcluster_haproxy.
package haproxy

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/haproxyattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/haproxy/crosscheck"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
)

// form is what an id looks like.
const form = "SERVICE_NODE#haproxy"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, haproxy.Base]{
		Form: form, Part: haproxy.NewBasePart, Leftovers: haproxy.ListUnmodelled,
		Type: crud.Type[model, haproxy.Base]{
			Name:      "haproxy",
			Noun:      crosscheck.BaseName,
			Schema:    resourceSchema,
			Spec:      toSpec,
			Fill:      fillModel,
			WriteOnly: writeOnly,
			Plan:      planChange,
			Trial:     tryBase,
		},
	})
}

// planChange checks the listeners against other resources and the live configuration.
func planChange(ctx context.Context, opening crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if a := config.Stats.Attributes(); len(a) > 0 && !a["user"].IsNull() && a["password"].IsNull() && a["password_wo"].IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("stats").AtName("user"), "User without a password",
			"write password_wo with password_wo_version, or password, or leave user out so that everyone may see the page")
	}
	node, ok := crosscheck.On(ctx, opening, planned.ServiceNode, req, resp)
	if !ok {
		return
	}
	var listeners []crosscheck.Listener
	var h health
	if haproxyattr.Object(ctx, planned.Health, &h, &resp.Diagnostics) && !h.Address.IsUnknown() && !h.Port.IsUnknown() {
		listeners = append(listeners, crosscheck.Listener{Bind: h.Value(), At: path.Root("health")})
	}
	var s stats
	if haproxyattr.Object(ctx, planned.Stats, &s, &resp.Diagnostics) && !s.Address.IsUnknown() && !s.Port.IsUnknown() {
		listeners = append(listeners, crosscheck.Listener{Bind: s.Value(), At: path.Root("stats")})
	}
	resp.Diagnostics.Append(node.Base(ctx, hostattr.JoinID(planned.ServiceNode, "haproxy"))...)
	resp.Diagnostics.Append(node.Listeners(ctx, listeners, "")...)
}

// tryBase has HAProxy check the base with what else is planned.
func tryBase(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
	node, ok := crosscheck.On(ctx, at, planned.ServiceNode, req, resp)
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	full := *planned
	writeOnly(&full, &config) // so that no message shows its password
	if spec, diags := toSpec(ctx, &full); ok && !diags.HasError() {
		resp.Diagnostics.Append(node.TryBase(ctx, spec)...)
	}
}
