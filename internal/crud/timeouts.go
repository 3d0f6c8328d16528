package crud

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// TimeoutsAttribute is the attribute "timeouts" of every resource that has one: the durations in it must leave some time.
func TimeoutsAttribute(ctx context.Context, opts timeouts.Opts) schema.Attribute {
	block, ok := timeouts.Attributes(ctx, opts).(schema.SingleNestedAttribute)
	if !ok {
		panic(fmt.Sprintf("timeouts.Attributes returns a %T", timeouts.Attributes(ctx, opts)))
	}
	for name, a := range block.Attributes {
		if text, ok := a.(schema.StringAttribute); ok {
			text.Validators = append(text.Validators, positiveDuration{})
			block.Attributes[name] = text
		}
	}
	return block
}

// positiveDuration refuses a duration of nothing or less, with which every later plan and destroy would fail.
type positiveDuration struct{ values.Undescribed }

// ValidateString implements validator.String. What is no duration at all is the framework's to refuse.
func (positiveDuration) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if d, err := time.ParseDuration(req.ConfigValue.ValueString()); err == nil && d <= 0 {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid timeout", fmt.Sprintf("%s: %q leaves no time at all: write a duration such as \"10m\", or leave it out.", req.Path, req.ConfigValue.ValueString()))
	}
}

// operationLimit bounds an operation where neither the configuration nor the type says anything.
const operationLimit = 10 * time.Minute

// beginChange notes that the run changes something, and bounds the change of the object of a model as boundOperation does, unless that takes
// turns.
func (r *typed[M, S]) beginChange(ctx context.Context, m *M, get getter, operation string, diags *diag.Diagnostics) (context.Context, context.CancelFunc) {
	r.provided.Run.BeginChange()
	if r.TakesTurns != nil && r.TakesTurns(m) {
		return context.WithCancel(ctx)
	}
	return r.boundOperation(ctx, get, operation, diags)
}

// boundOperation bounds an operation by the resource's timeouts; get reads an attribute of its plan or state.
func (r *typed[M, S]) boundOperation(ctx context.Context, get getter, operation string, diags *diag.Diagnostics) (context.Context, context.CancelFunc) {
	limit := cmp.Or(r.Timeouts[operation], operationLimit)
	var v timeouts.Value
	if !get(ctx, path.Root("timeouts"), &v).HasError() { // there is none, or an attribute of that name is a daemon's own
		limit = Timeout(ctx, v, operation, limit, diags)
	}
	return context.WithTimeout(ctx, limit)
}

// Timeout reads one operation's timeout, or the default.
func Timeout(ctx context.Context, v timeouts.Value, operation string, fallback time.Duration, diags *diag.Diagnostics) time.Duration {
	read := map[string]func(context.Context, time.Duration) (time.Duration, diag.Diagnostics){
		"create": v.Create, "read": v.Read, "update": v.Update, "delete": v.Delete,
	}[operation]
	if text, written := v.Attributes()[operation].(types.String); !written || text.IsNull() || text.IsUnknown() {
		return fallback // without a line in the log, which the module would write at every call
	}
	limit, d := read(ctx, fallback)
	diags.Append(d...)
	if limit <= 0 { // of a state that was edited by hand: with it, nothing could be read or destroyed any more
		return fallback
	}
	return limit
}
