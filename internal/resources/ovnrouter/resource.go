// Package ovnrouter is the resource virtcluster_ovn_router.
package ovnrouter

import (
	"context"
	"errors"

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
	return ovnattr.New(ovnattr.Type[model, ovn.Router]{
		Noun: noun, Schema: resourceSchema, List: ovn.ListRouters, Thing: ovn.NewRouter, Keep: keepRoutes, Plan: planRouter,
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

// keepRoutes keeps routes that are the same in their order.
func keepRoutes(was ovn.Router, got *ovn.Router) {
	if hostattr.SameSet(was.Routes, got.Routes) && len(was.Routes) == len(got.Routes) {
		got.Routes = was.Routes
	}
}

// planRouter finds what the router cannot do with what is there.
func planRouter(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	want, diags := convert.Plain[ovn.Router](m)
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
		had, _ = convert.Plain[ovn.Router](state)
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
