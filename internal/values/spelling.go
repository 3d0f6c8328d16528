package values

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// KeepElements plans each element of a map of texts as the state has it, while it means the same as the configuration's.
func (c Collection) KeepElements() planmodifier.Map { return keepElements{keepSpellings{c}} }

type keepElements struct{ keepSpellings }

// PlanModifyMap implements planmodifier.Map.
func (k keepElements) PlanModifyMap(ctx context.Context, req planmodifier.MapRequest, resp *planmodifier.MapResponse) {
	elements := req.PlanValue.Elements()
	for key, v := range req.StateValue.Elements() {
		planned, isText := elements[key].(types.String)
		state, isToo := v.(types.String)
		if isText && isToo && !planned.IsUnknown() && k.Canonical(planned.ValueString()) == k.Canonical(state.ValueString()) {
			elements[key] = state
		}
	}
	if len(elements) > 0 {
		resp.PlanValue = types.MapValueMust(req.PlanValue.ElementType(ctx), elements)
	}
}

// Texts says which lists, or sets, of texts mean the same as a whole, and not element by element. As a plan modifier it plans what the state
// has while that means the same as the configuration's.
type Texts struct {
	Undescribed
	same func(a, b []string) bool
}

// TextsSame makes one of a function that compares the texts of two: none at all are nil.
func TextsSame(same func(a, b []string) bool) Texts { return Texts{same: same} }

// Keep returns one of two lists or sets: the own one where it is there, is known and means the same as what was read back.
func Keep[V attr.Value](t Texts, own, read V) V {
	a, areKnown := listTexts(own)
	b, areToo := listTexts(read)
	if areKnown && areToo && !own.IsNull() && t.same(a, b) {
		return own
	}
	return read
}

// listTexts returns the elements of a list or a set of texts; known is false where one of them, or all, are not.
func listTexts(v attr.Value) (texts []string, known bool) {
	of, ok := v.(interface{ Elements() []attr.Value })
	if !ok || v.IsUnknown() {
		return nil, false
	}
	if v.IsNull() {
		return nil, true
	}
	texts = []string{}
	for _, e := range of.Elements() {
		text, isText := e.(types.String)
		if !isText || text.IsUnknown() {
			return nil, false
		}
		texts = append(texts, text.ValueString())
	}
	return texts, true
}

// PlanModifyList implements planmodifier.List.
func (t Texts) PlanModifyList(_ context.Context, req planmodifier.ListRequest, resp *planmodifier.ListResponse) {
	resp.PlanValue = Keep(t, req.StateValue, req.PlanValue)
}

// PlanModifySet implements planmodifier.Set.
func (t Texts) PlanModifySet(_ context.Context, req planmodifier.SetRequest, resp *planmodifier.SetResponse) {
	resp.PlanValue = Keep(t, req.StateValue, req.PlanValue)
}
