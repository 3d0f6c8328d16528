// Package haproxyfrontend is the resource virtcluster_haproxy_frontend.
package haproxyfrontend

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	planuses "github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/haproxyattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/haproxy/crosscheck"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// form is what an id looks like.
const form = "SERVICE_NODE#frontend/NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, haproxy.Frontend]{
		Form: form, Name: "name", Open: openStore,
		Daemon: haproxy.Daemon{}, Names: func(t transaction.Tree) []string { return haproxy.ProxyNames(t, "frontend") },
		Type: crud.Type[model, haproxy.Frontend]{
			Name:        "haproxy_frontend",
			Noun:        "HAProxy frontend",
			Schema:      resourceSchema,
			Spec:        toSpec,
			Fill:        fillModel,
			Plan:        planChange,
			Trial:       tryFrontend,
			PlanRemoval: planRemoval,
		},
	})
}

// planChange checks the frontend against other resources, the live configuration and the machine.
func planChange(ctx context.Context, opening crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
	if len(planned.Binds.Elements()) == 0 && !planned.Binds.IsUnknown() && !planned.Extra.IsUnknown() && !haproxy.Binds(haproxy.Lines(planned.Extra.ValueString())) {
		resp.Diagnostics.AddAttributeError(path.Root("binds"), "Frontend without a bind", "write where it listens: binds, or a `bind` line in extra_config")
	}
	if spec, diags := toSpec(ctx, planned); !diags.HasError() && !planned.ACLs.IsUnknown() && !planned.Extra.IsUnknown() {
		resp.Diagnostics.Append(crud.Diagnostics(spec.ValidateConditions())...)
	}
	node, ok := crosscheck.On(ctx, opening, planned.ServiceNode, req, resp)
	if !ok {
		return
	}
	var listeners []crosscheck.Listener
	for i, b := range decodeElements[haproxyattr.Bind](ctx, planned.Binds, &resp.Diagnostics) {
		if !b.Address.IsUnknown() && !b.Port.IsUnknown() {
			listeners = append(listeners, crosscheck.Listener{Bind: b.Value(), At: path.Root("binds").AtListIndex(i)})
		}
	}
	name := planned.Name.ValueString()
	if !planned.Name.IsUnknown() {
		resp.Diagnostics.Append(node.Section(ctx, haproxy.Frontend{Name: name}, hostattr.FormatID(form, planned.ServiceNode, planned.Name))...)
	}
	resp.Diagnostics.Append(node.Listeners(ctx, listeners, "frontend "+name)...)
	resp.Diagnostics.Append(node.Backend(ctx, path.Root("default_backend"), planned.DefaultBackend.ValueString())...)
	for i, r := range decodeElements[rule](ctx, planned.Rules, &resp.Diagnostics) {
		at := path.Root("rules").AtListIndex(i).AtName("backend")
		resp.Diagnostics.Append(node.Backend(ctx, at, r.Backend.ValueString())...)
	}
}

// tryFrontend has HAProxy check the frontend with what else is planned.
func tryFrontend(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
	if node, ok := crosscheck.On(ctx, at, planned.ServiceNode, req, resp); ok {
		if spec, diags := toSpec(ctx, planned); !diags.HasError() {
			resp.Diagnostics.Append(node.TryProxy(ctx, spec)...)
		}
	}
}

// planRemoval has the VIPs of the plan know that a frontend goes.
func planRemoval(ctx context.Context, at crud.StoreContext, m *model, _ bool) diag.Diagnostics {
	if f, diags := toSpec(ctx, m); !diags.HasError() && !m.ServiceNode.IsUnknown() {
		for _, a := range f.ListListeners() {
			at.Ledger.Note(planuses.Use{Verb: planuses.Gives, Kind: planuses.RemovedListener, On: host.WithoutKey(m.ServiceNode.ValueString()), Value: a.String()})
		}
	}
	return nil
}

func openStore(ctx context.Context, at crud.StoreContext, m *model, of part.Identity) (crud.Store[haproxy.Frontend], error) {
	p, err := crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), haproxy.NewFrontendPart(of))
	if err != nil {
		return nil, err
	}
	return haproxy.NewFrontendStore(p, &at.Run.Frontends, &at.Run.HandOvers), nil
}
