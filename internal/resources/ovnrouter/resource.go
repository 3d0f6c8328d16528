// Package ovnrouter is the resource virtcluster_ovn_router.
package ovnrouter

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/ovnattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// noun is what ids call a router.
const noun = "router"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, ovn.Router]{
		Name:    "ovn_router",
		Noun:    "OVN router",
		Label:   func(m *model) string { return m.Name.ValueString() },
		AsksOVN: true,
		Schema:  resourceSchema,
		Key:     []string{"ovn", "name"},
		ID:      func(m *model) string { return m.FormatID(noun) },
		Split:   func(m *model, id string) error { return m.Split(id, noun) },
		List:    ovnattr.List(ovn.ListRouters),
		Spec:    func(_ context.Context, m *model) (ovn.Router, diag.Diagnostics) { return m.toSpec() },
		Fill:    func(_ context.Context, m *model, got ovn.Router) diag.Diagnostics { return m.fillModel(got) },
		Open: func(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[ovn.Router], error) {
			return ovnattr.Open(ctx, at, &m.Model, noun, ovn.NewRouter(m.Name.ValueString()))
		},
		Plan: planRouter,
	})
}

type model struct {
	ovnattr.Model
	Networks types.Set    `tfsdk:"networks"`
	External types.Object `tfsdk:"external"`
	SNAT     types.Bool   `tfsdk:"snat"`
	Floating types.Map    `tfsdk:"floating"`
	Routes   types.List   `tfsdk:"routes"`
	Failover types.Object `tfsdk:"failover"`
}

func (m *model) toSpec() (r ovn.Router, diags diag.Diagnostics) {
	diags = convert.ToPlain(m, &r, func(...any) {})
	return r, diags
}

// fillModel writes what the database has. Routes that are the same stay in their order.
func (m *model) fillModel(got ovn.Router) diag.Diagnostics {
	was, diags := m.toSpec()
	if hostattr.SameSet(was.Routes, got.Routes) && len(was.Routes) == len(got.Routes) {
		got.Routes = was.Routes
	}
	convert.FromPlain(&got, m)
	return diags
}

// planRouter finds what the router cannot do with what is there.
func planRouter(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	want, diags := m.toSpec()
	if at.Fleet == nil || m.OVN.IsUnknown() || diags.HasError() || !convert.WhollyKnown(ctx, m.Networks) {
		return
	}
	n, err := at.Fleet.Northbound(ctx, m.OVN.ValueString())
	if err != nil {
		n = nil
	}
	if convert.WhollyKnown(ctx, m.External) {
		resp.Diagnostics.Append(crud.Diagnostics(want.WarnOfLoneGateway(ovn.CountChassis(ctx, n, at.Ledger, m.OVN.ValueString())))...)
	}
	if err != nil {
		return // the apply says so
	}
	var had ovn.Router
	if state := new(model); !req.State.Raw.IsNull() && !req.State.Get(ctx, state).HasError() {
		had, _ = state.toSpec()
	}
	planned := ovnattr.FindPlanned(ctx, at, m.OVN.ValueString())
	err = ovn.CheckRouter(ctx, n, want, planned)
	if err == nil {
		err = ovn.CheckRouterAddresses(ctx, n, want, had, planned)
	}
	if errors.As(err, new(*service.AttributeError)) {
		resp.Diagnostics.Append(crud.Diagnostics([]service.Problem{service.NewProblem("Router that would not work", err)})...)
	}
}
