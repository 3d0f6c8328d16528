package values

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Collection is what a list, a set or a map holds. An element that is null is always refused.
type Collection struct {
	of             Rule // nil where the elements are objects, whose attributes have rules of their own
	keys           Rule
	some, distinct bool
}

// Each has elements of one kind.
func Each(of Rule) Collection { return Collection{of: of} }

// Objects has objects for elements.
func Objects() Collection { return Collection{} }

// Keys says what the keys of a map are.
func (c Collection) Keys(of Rule) Collection {
	c.keys = of
	return c
}

// Some refuses an empty one.
func (c Collection) Some() Collection {
	c.some = true
	return c
}

// TakesEmpty says whether it may be written empty.
func (c Collection) TakesEmpty() bool { return !c.some }

// TakesEmptyElements says whether an element, or one of its own, may be the empty text.
func (c Collection) TakesEmptyElements() bool {
	switch of := c.of.(type) {
	case Kind:
		return of.TakesEmpty()
	case Collection:
		return of.TakesEmptyElements()
	}
	return false
}

// Distinct refuses two elements that mean the same.
func (c Collection) Distinct() Collection {
	c.distinct = true
	return c
}

// Check implements Rule.
func (c Collection) Check(at path.Path, v attr.Value) diag.Diagnostics {
	if v.IsNull() || v.IsUnknown() {
		return nil
	}
	var diags diag.Diagnostics
	places, elements := c.listElements(at, v, &diags)
	if c.some && len(elements) == 0 {
		diags.AddAttributeError(at, "Nothing in it", DetailAt(at, "write at least one element, or leave it out (null)"))
	}
	var seen []string
	for i, e := range elements {
		switch {
		case e.IsUnknown():
		case e.IsNull():
			diags.AddAttributeError(places[i], "Null element", DetailAt(places[i], "an element must not be null: write a value, or leave the element out"))
		case c.of != nil:
			diags.Append(c.of.Check(places[i], e)...)
			if text, ok := e.(types.String); ok && c.distinct {
				spelling := c.Canonical(text.ValueString())
				if slices.Contains(seen, spelling) {
					diags.AddAttributeError(places[i], "Written twice", DetailAt(places[i], fmt.Sprintf("%q is in it already: write each once", text.ValueString())))
				}
				seen = append(seen, spelling)
			}
		}
	}
	return diags
}

// listElements lists what a collection holds, with the place of each, and checks a map's keys.
func (c Collection) listElements(at path.Path, v attr.Value, diags *diag.Diagnostics) (places []path.Path, elements []attr.Value) {
	switch v := v.(type) {
	case interface{ Elements() []attr.Value }:
		_, isSet := v.(types.Set)
		for i, e := range v.Elements() {
			place := at.AtListIndex(i)
			if isSet {
				place = at.AtSetValue(e)
			}
			places, elements = append(places, place), append(elements, e)
		}
	case interface{ Elements() map[string]attr.Value }:
		for key, e := range v.Elements() {
			place := at.AtMapKey(key)
			places, elements = append(places, place), append(elements, e)
			if c.keys != nil {
				diags.Append(c.keys.Check(place, types.StringValue(key))...)
			}
		}
	}
	return places, elements
}

// Canonical is the one spelling of all elements that mean the same as a text.
func (c Collection) Canonical(text string) string {
	if k, ok := c.of.(Kind); ok {
		return k.Canonical(text)
	}
	return text
}

// KeepSpelling plans a list of texts as the state has it, while each means the same as the configuration's.
func (c Collection) KeepSpelling() planmodifier.List { return keepSpellings{c} }

type keepSpellings struct{ Collection }

// PlanModifyList implements planmodifier.List.
func (k keepSpellings) PlanModifyList(_ context.Context, req planmodifier.ListRequest, resp *planmodifier.ListResponse) {
	same := func(a, b attr.Value) bool {
		x, isText := a.(types.String)
		y, areTexts := b.(types.String)
		return isText && areTexts && !x.IsUnknown() && !y.IsUnknown() && k.Canonical(x.ValueString()) == k.Canonical(y.ValueString())
	}
	if !req.ConfigValue.IsNull() && !req.StateValue.IsNull() && !req.PlanValue.IsUnknown() && slices.EqualFunc(req.PlanValue.Elements(), req.StateValue.Elements(), same) {
		resp.PlanValue = req.StateValue
	}
}

// Description implements validator.Describer.
func (Collection) Description(context.Context) string { return "elements that are not null" }

// MarkdownDescription implements validator.Describer.
func (c Collection) MarkdownDescription(ctx context.Context) string { return c.Description(ctx) }

// ValidateList implements validator.List.
func (c Collection) ValidateList(_ context.Context, req validator.ListRequest, resp *validator.ListResponse) {
	resp.Diagnostics.Append(c.Check(req.Path, req.ConfigValue)...)
}

// ValidateSet implements validator.Set.
func (c Collection) ValidateSet(_ context.Context, req validator.SetRequest, resp *validator.SetResponse) {
	resp.Diagnostics.Append(c.Check(req.Path, req.ConfigValue)...)
}

// ValidateMap implements validator.Map.
func (c Collection) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	resp.Diagnostics.Append(c.Check(req.Path, req.ConfigValue)...)
}
