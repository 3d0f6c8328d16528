package crud

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// LeftOut plans what the configuration leaves out and may write empty too: what state holds where that is empty, and else null.
// So nothing changes whether state has null or an empty one. An import cannot know which of the two was written, and makes
// collections empty: what is null in state, and is written, always is a change. Type has every optional collection,
// text that may be empty and object of nothing but options of its own behave so (see LeaveOut).
type LeftOut struct{ values.Undescribed }

// ListLeftOut is LeftOut for a list.
func ListLeftOut() []planmodifier.List { return []planmodifier.List{LeftOut{}} }

// MapLeftOut is LeftOut for a map.
func MapLeftOut() []planmodifier.Map { return []planmodifier.Map{LeftOut{}} }

// planLeftOut is what is planned: null is the null of the attribute's type.
func planLeftOut[V attr.Value](config, state, planned, null V) V {
	switch {
	case !config.IsNull():
		return planned
	case isEmpty(state):
		return state
	}
	return null
}

// isEmpty says whether a value is there and holds nothing: a collection without anything in it, an object of nulls.
func isEmpty(v attr.Value) bool {
	if v.IsNull() || v.IsUnknown() {
		return false
	}
	switch v := v.(type) {
	case types.Object:
		for _, a := range v.Attributes() {
			if !a.IsNull() {
				return false
			}
		}
		return true
	case interface{ Elements() []attr.Value }:
		return len(v.Elements()) == 0
	case interface{ Elements() map[string]attr.Value }:
		return len(v.Elements()) == 0
	}
	return false
}

// PlanModifyList implements planmodifier.List.
func (LeftOut) PlanModifyList(ctx context.Context, req planmodifier.ListRequest, resp *planmodifier.ListResponse) {
	resp.PlanValue = planLeftOut(req.ConfigValue, req.StateValue, resp.PlanValue, types.ListNull(req.ConfigValue.ElementType(ctx)))
}

// PlanModifySet implements planmodifier.Set.
func (LeftOut) PlanModifySet(ctx context.Context, req planmodifier.SetRequest, resp *planmodifier.SetResponse) {
	resp.PlanValue = planLeftOut(req.ConfigValue, req.StateValue, resp.PlanValue, types.SetNull(req.ConfigValue.ElementType(ctx)))
}

// PlanModifyMap implements planmodifier.Map.
func (LeftOut) PlanModifyMap(ctx context.Context, req planmodifier.MapRequest, resp *planmodifier.MapResponse) {
	resp.PlanValue = planLeftOut(req.ConfigValue, req.StateValue, resp.PlanValue, types.MapNull(req.ConfigValue.ElementType(ctx)))
}

// PlanModifyObject implements planmodifier.Object.
func (LeftOut) PlanModifyObject(ctx context.Context, req planmodifier.ObjectRequest, resp *planmodifier.ObjectResponse) {
	resp.PlanValue = planLeftOut(req.ConfigValue, req.StateValue, resp.PlanValue, types.ObjectNull(req.ConfigValue.AttributeTypes(ctx)))
}

// PlanModifyString implements planmodifier.String.
func (LeftOut) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	switch {
	case !req.ConfigValue.IsNull():
	case req.StateValue.Equal(types.StringValue("")):
		resp.PlanValue = req.StateValue
	default:
		resp.PlanValue = types.StringNull()
	}
}
