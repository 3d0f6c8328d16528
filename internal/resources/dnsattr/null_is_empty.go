package dnsattr

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// NoneIsNotDefault plans null for a list that is left out. To BIND an empty list is none, and none at all is its default, so that
// an import must not make one of the other (crud.LeftOut). It goes with Computed. Same says which lists mean the same, of which the one
// that the state has is planned.
type NoneIsNotDefault struct{ Same func(a, b []string) bool }

var _ values.Equality = NoneIsNotDefault{}

// Description implements planmodifier.Describer.
func (NoneIsNotDefault) Description(context.Context) string {
	return "empty is none, null is the default"
}

// MarkdownDescription implements planmodifier.Describer.
func (n NoneIsNotDefault) MarkdownDescription(ctx context.Context) string { return n.Description(ctx) }

// IsSame implements values.Equality.
func (n NoneIsNotDefault) IsSame(a, b attr.Value) bool {
	x, isList := a.(types.List)
	y, areLists := b.(types.List)
	return isList && areLists && !x.IsUnknown() && !y.IsUnknown() && n.Same(convert.Texts(x), convert.Texts(y))
}

// PlanModifyList implements planmodifier.List.
func (n NoneIsNotDefault) PlanModifyList(ctx context.Context, req planmodifier.ListRequest, resp *planmodifier.ListResponse) {
	switch {
	case req.ConfigValue.IsNull():
		resp.PlanValue = types.ListNull(req.PlanValue.ElementType(ctx))
	case n.IsSame(req.PlanValue, req.StateValue):
		resp.PlanValue = req.StateValue
	}
}
