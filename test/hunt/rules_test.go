package hunt

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/zclconf/go-cty/cty"
)

// The rules that Terraform's core holds a provider to, and how it proposes a new state.

// propose merges what is computed in prior with a configuration.
func propose(of []*attribute, prior, config cty.Value) cty.Value {
	all := map[string]cty.Value{}
	for _, a := range of {
		was, want := cty.NullVal(a.kind), config.GetAttr(a.name)
		if !prior.IsNull() {
			was = prior.GetAttr(a.name)
		}
		switch {
		case a.computed && want.IsNull():
			all[a.name] = was
			if a.optional && a.nested != nil && holdsConfigured(a, was) {
				all[a.name] = want
			}
		case a.nested != nil:
			all[a.name] = proposeNested(a, was, want)
		default:
			all[a.name] = want
		}
	}
	return cty.ObjectVal(all)
}

func proposeNested(a *attribute, was, want cty.Value) cty.Value {
	if !want.IsKnown() || want.IsNull() {
		return want
	}
	one := func(was, want cty.Value) cty.Value {
		if want.IsNull() || !want.IsKnown() {
			return want
		}
		return propose(a.nested, was, want)
	}
	switch {
	case a.nesting == tfprotov6.SchemaObjectNestingModeSingle:
		return one(was, want)
	case want.LengthInt() == 0:
		return want
	case a.nesting == tfprotov6.SchemaObjectNestingModeMap:
		all := map[string]cty.Value{}
		for k, v := range want.AsValueMap() {
			all[k] = v
			if !was.IsNull() && was.HasIndex(cty.StringVal(k)).True() {
				all[k] = one(was.Index(cty.StringVal(k)), v)
			}
		}
		return cty.MapVal(all)
	}
	var all []cty.Value
	for i, v := range want.AsValueSlice() {
		if at := cty.NumberIntVal(int64(i)); !was.IsNull() && was.HasIndex(at).True() {
			v = one(was.Index(at), v)
		}
		all = append(all, v)
	}
	return cty.ListVal(all)
}

// holdsConfigured says whether a value holds what only a configuration can have set.
func holdsConfigured(a *attribute, v cty.Value) bool {
	if v.IsNull() || !v.IsKnown() {
		return false
	}
	objects := []cty.Value{v}
	if a.nesting != tfprotov6.SchemaObjectNestingModeSingle {
		objects = nil
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			objects = append(objects, e)
		}
	}
	for _, o := range objects {
		if o.IsNull() {
			continue
		}
		for _, child := range a.nested {
			value := o.GetAttr(child.name)
			if value.IsNull() {
				continue
			}
			if !child.computed || child.nested != nil && holdsConfigured(child, value) {
				return true
			}
		}
	}
	return false
}

// wrongPlan lists what is not allowed in a plan.
func wrongPlan(of []*attribute, prior, config, planned cty.Value, at string) []string {
	var wrong []string
	for _, a := range of {
		was, want, got := cty.NullVal(a.kind), cty.NullVal(a.kind), planned.GetAttr(a.name)
		if !prior.IsNull() {
			was = prior.GetAttr(a.name)
		}
		if !config.IsNull() {
			want = config.GetAttr(a.name)
		}
		wrong = append(wrong, wrongValue(a, was, want, got, at+"."+a.name)...)
	}
	return wrong
}

func wrongValue(a *attribute, was, want, got cty.Value, at string) []string {
	switch {
	case got.RawEquals(want), got.RawEquals(was) && !was.IsNull() && !want.IsNull():
		return nil
	case a.computed && !a.optional, want.IsNull() && a.computed:
		return nil
	case a.writeOnly && got.IsNull():
		return nil
	case want.IsNull() && !got.IsNull():
		return []string{fmt.Sprintf("invalid plan: %s: planned value %#v for a non-computed attribute", at, got)}
	case a.nested == nil:
		return []string{fmt.Sprintf("invalid plan: %s: planned value %#v does not match config value %#v nor prior value %#v", at, got, want, was)}
	case got.IsNull():
		return []string{"invalid plan: " + at + ": planned for absence but config wants existence"}
	case !got.IsKnown():
		return []string{"invalid plan: " + at + ": planned unknown for configured value"}
	case !want.IsKnown():
		return []string{fmt.Sprintf("invalid plan: %s: planned value %#v where the configuration's is unknown", at, got)}
	}
	none := cty.NullVal(objectType(a.nested))
	if a.nesting == tfprotov6.SchemaObjectNestingModeSingle {
		return wrongPlan(a.nested, was, want, got, at)
	}
	if got.LengthInt() != want.LengthInt() {
		return []string{fmt.Sprintf("invalid plan: %s: count in plan (%d) disagrees with count in config (%d)", at, got.LengthInt(), want.LengthInt())}
	}
	var wrong []string
	for it := got.ElementIterator(); it.Next(); {
		k, e := it.Element()
		place := fmt.Sprintf("%s[%#v]", at, k)
		if want.HasIndex(k).False() {
			wrong = append(wrong, "invalid plan: "+place+" from plan is not present in config")
			continue
		}
		before, wanted := none, want.Index(k)
		if !was.IsNull() && was.HasIndex(k).True() {
			before = was.Index(k)
		}
		switch {
		case e.RawEquals(wanted):
		case e.IsNull() || !e.IsKnown():
			wrong = append(wrong, "invalid plan: "+place+" is null or unknown and configured otherwise")
		default:
			wrong = append(wrong, wrongPlan(a.nested, before, wanted, e, place)...)
		}
	}
	return wrong
}

// incompatible lists where an actual value is not one that a planned one promised.
func incompatible(planned, actual cty.Value, at string) []string {
	kind := planned.Type()
	switch {
	case !planned.IsKnown():
		if kind != cty.DynamicPseudoType && !actual.Type().Equals(kind) {
			return []string{fmt.Sprintf("%s: wrong final value type", at)}
		}
		return nil
	case planned.IsNull() && actual.IsNull():
		return nil
	case planned.IsNull():
		return []string{fmt.Sprintf("%s: was null, but now %#v", at, actual)}
	case actual.IsNull():
		return []string{fmt.Sprintf("%s: was %#v, but now null", at, planned)}
	case !actual.IsKnown():
		return []string{fmt.Sprintf("%s: was known, but now unknown", at)}
	case kind.IsObjectType():
		var wrong []string
		for name := range kind.AttributeTypes() {
			if !actual.Type().IsObjectType() || !actual.Type().HasAttribute(name) {
				return []string{at + ": another type"}
			}
			wrong = append(wrong, incompatible(planned.GetAttr(name), actual.GetAttr(name), at+"."+name)...)
		}
		return wrong
	case kind.IsListType() || kind.IsMapType() || kind.IsTupleType():
		return incompatibleElements(planned, actual, at)
	case kind.IsSetType():
		if !planned.IsWhollyKnown() {
			return nil
		}
	}
	if !planned.RawEquals(actual) {
		return []string{fmt.Sprintf("%s: was %#v, but now %#v", at, planned, actual)}
	}
	return nil
}

func incompatibleElements(planned, actual cty.Value, at string) []string {
	var wrong []string
	for it := planned.ElementIterator(); it.Next(); {
		k, e := it.Element()
		if actual.HasIndex(k).False() {
			wrong = append(wrong, fmt.Sprintf("%s: element %#v has vanished", at, k))
			continue
		}
		wrong = append(wrong, incompatible(e, actual.Index(k), fmt.Sprintf("%s[%#v]", at, k))...)
	}
	for it := actual.ElementIterator(); it.Next(); {
		if k, _ := it.Element(); planned.HasIndex(k).False() {
			wrong = append(wrong, fmt.Sprintf("%s: new element %#v has appeared", at, k))
		}
	}
	return wrong
}

// differences lists where two states differ, for messages.
func differences(a, b cty.Value) []string {
	if a.IsNull() || b.IsNull() {
		return []string{"one of them is null"}
	}
	var all []string
	for name := range a.Type().AttributeTypes() {
		if x, y := a.GetAttr(name), b.GetAttr(name); !x.RawEquals(y) {
			all = append(all, fmt.Sprintf("%s: %#v -> %#v", name, x, y))
		}
	}
	return all
}
