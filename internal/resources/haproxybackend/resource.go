// Package haproxybackend is the resource virtcluster_haproxy_backend.
package haproxybackend

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/haproxy/crosscheck"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// maxDrainTimeout leaves time for the change itself within an operation's ten minutes.
const maxDrainTimeout = 8 * time.Minute

// form is what an id looks like.
const form = "SERVICE_NODE#backend/NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, haproxy.Backend]{
		Form: form, Name: "name", Open: openStore,
		Daemon: haproxy.Daemon{}, Names: func(t transaction.Tree) []string { return haproxy.ProxyNames(t, "backend") },
		Type: crud.Type[model, haproxy.Backend]{
			Name:   "haproxy_backend",
			Noun:   "HAProxy backend",
			Schema: resourceSchema,
			Spec:   toSpec,
			Fill:   fillModel,
			Plan:   planChange,
			Trials: crud.Trials[model]{Trial: tryBackend},
		},
	})
}

// planChange checks the backend against the live configuration and the machine.
func planChange(ctx context.Context, opening crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
	if d, ok := haproxy.Duration(planned.DrainTimeout.ValueString()); !planned.DrainTimeout.IsUnknown() && (!ok || d > maxDrainTimeout) {
		resp.Diagnostics.AddAttributeError(path.Root("drain_timeout"), "Invalid time",
			fmt.Sprintf("write a number and a unit such as \"30s\", %s at most, not %q", maxDrainTimeout, planned.DrainTimeout.ValueString()))
	}
	node, ok := crosscheck.On(ctx, opening, planned.ServiceNode, req, resp)
	if spec, diags := toSpec(ctx, planned); !diags.HasError() && req.Config.Raw.IsFullyKnown() {
		if problems := spec.ValidateTLS(); len(problems) > 0 && (!ok || node.VerifiesServers(ctx)) {
			resp.Diagnostics.Append(crud.Diagnostics(problems)...)
		}
	}
	if ok && !planned.Name.IsUnknown() {
		resp.Diagnostics.Append(node.Section(ctx, haproxy.Backend{Name: planned.Name.ValueString()}, hostattr.FormatID(form, planned.ServiceNode, planned.Name))...)
	}
}

// tryBackend has HAProxy check the backend with what else is planned.
func tryBackend(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
	if node, ok := crosscheck.On(ctx, at, planned.ServiceNode, req, resp); ok && !planned.Name.IsUnknown() {
		if spec, diags := toSpec(ctx, planned); !diags.HasError() {
			resp.Diagnostics.Append(node.TryProxy(ctx, spec)...)
		}
	}
}

func openStore(ctx context.Context, at crud.StoreContext, m *model, of part.Identity) (crud.Store[haproxy.Backend], error) {
	p, err := crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), haproxy.NewBackendPart(of))
	if err != nil {
		return nil, err
	}
	spec, _ := toSpec(ctx, m)
	patience, _ := haproxy.Duration(m.DrainTimeout.ValueString())
	return haproxy.NewBackendStore(p, of.Name, spec.Servers, patience), nil
}
