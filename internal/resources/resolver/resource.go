// Package resolver is the resource virtcluster_resolver.
package resolver

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/resolver"
)

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, resolver.Resolver]{
		Name:   "resolver",
		Noun:   "resolver of",
		Label:  func(m *model) string { return m.Host.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"host"},
		ID:     func(m *model) string { return m.Host.ValueString() },
		Split: func(m *model, id string) error {
			if id == "" {
				return errors.New("write HOST, such as \"ssh://root@10.0.0.100\" or \"local:\"")
			}
			m.Host = types.StringValue(id)
			return nil
		},
		Spec: func(_ context.Context, m *model) (resolver.Resolver, diag.Diagnostics) { return m.toSpec() },
		Open: func(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[resolver.Resolver], error) {
			return openStore(ctx, at, m)
		},
		Plan: planChange,
	})
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (*resolver.Store, error) {
	site, err := hostattr.Open(ctx, at, m.Host)
	if err != nil {
		return nil, err
	}
	return resolver.Open(site, m.Host.ValueString(), at.Claim), nil
}

// planChange chooses the backend, as far as the machine is there already, and finds what would keep it from being configured.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if at.Fleet == nil || m.Host.IsUnknown() {
		return
	}
	want, _ := m.toSpec()
	what := "the resolver of " + m.Host.ValueString()
	if done, ok := hostattr.Preview(ctx, func() (*resolver.Store, error) { return openStore(ctx, at, m) }, want, what, path.Root("host"), req, resp); ok {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("active_backend"), done.ActiveBackend)...)
	}
}
