package crud

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// Action describes an action with the model M: what is its own; all else is alike for all.
type Action[M any] struct {
	// Name is the type's name without the provider's prefix: "node_power".
	Name   string
	Schema schema.Schema
	// Check finds while planning what would keep the action from being done; nil for nothing. The model may hold what is not known yet.
	Check func(ctx context.Context, p ProviderData, m *M) diag.Diagnostics
	// Do does it, and reports how far it is.
	Do func(ctx context.Context, p ProviderData, m *M, report func(message string)) diag.Diagnostics
}

// NewAction makes the action.
func NewAction[M any](a Action[M]) action.Action { return &modelAction[M]{Action: a} }

type modelAction[M any] struct {
	Action[M]
	frame[M]
}

// Metadata implements action.Action.
func (a *modelAction[M]) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + a.Name
}

// Schema implements action.Action.
func (a *modelAction[M]) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = a.Action.Schema
}

// Configure implements action.ActionWithConfigure.
func (a *modelAction[M]) Configure(_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	a.keepProvided(req.ProviderData, &resp.Diagnostics)
}

// ModifyPlan implements action.ActionWithModifyPlan. A provider that is offline, or not configured yet, asks nobody.
func (a *modelAction[M]) ModifyPlan(ctx context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	var m M
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if a.Check == nil || resp.Diagnostics.HasError() || a.provided.Fleet == nil || a.provided.Fleet.Offline() {
		return
	}
	resp.Diagnostics.Append(a.Check(ctx, a.provided, &m)...)
}

// Invoke implements action.Action.
func (a *modelAction[M]) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	m, ok := a.readConfig(ctx, req.Config, &resp.Diagnostics)
	if !ok || a.provided.RefuseOffline("do", "virtcluster_"+a.Name, &resp.Diagnostics) {
		return
	}
	report := func(message string) { resp.SendProgress(action.InvokeProgressEvent{Message: message}) }
	resp.Diagnostics.Append(a.Do(ctx, a.provided, &m, report)...)
}
