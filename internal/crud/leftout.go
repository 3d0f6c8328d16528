package crud

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// LeftOut plans an optional and computed list or map that the configuration leaves out: what state holds where
// that is empty, and else null. So nothing changes whether state has null or an empty one. An import cannot know
// which of the two was written, and makes it empty: what is null in state, and is written, always is a change.
type LeftOut struct{}

// ListLeftOut is LeftOut for a list.
func ListLeftOut() []planmodifier.List { return []planmodifier.List{LeftOut{}} }

// MapLeftOut is LeftOut for a map.
func MapLeftOut() []planmodifier.Map { return []planmodifier.Map{LeftOut{}} }

// Description implements planmodifier.Describer.
func (LeftOut) Description(context.Context) string { return "null and empty are the same" }

// MarkdownDescription implements planmodifier.Describer.
func (l LeftOut) MarkdownDescription(ctx context.Context) string { return l.Description(ctx) }

// PlanModifyList implements planmodifier.List.
func (LeftOut) PlanModifyList(ctx context.Context, req planmodifier.ListRequest, resp *planmodifier.ListResponse) {
	switch {
	case !req.ConfigValue.IsNull():
	case !req.StateValue.IsNull() && len(req.StateValue.Elements()) == 0:
		resp.PlanValue = req.StateValue
	default:
		resp.PlanValue = types.ListNull(req.ConfigValue.ElementType(ctx))
	}
}

// PlanModifyMap implements planmodifier.Map.
func (LeftOut) PlanModifyMap(ctx context.Context, req planmodifier.MapRequest, resp *planmodifier.MapResponse) {
	switch {
	case !req.ConfigValue.IsNull():
	case !req.StateValue.IsNull() && len(req.StateValue.Elements()) == 0:
		resp.PlanValue = req.StateValue
	default:
		resp.PlanValue = types.MapNull(req.ConfigValue.ElementType(ctx))
	}
}
