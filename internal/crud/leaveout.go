package crud

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// LeaveOut returns attributes of which all that may be left out or written empty are planned by LeftOut. One with a default is
// not among them, nor one that is planned otherwise already, nor an object whose attributes have defaults: `{}` sets those.
func LeaveOut(attributes map[string]schema.Attribute) map[string]schema.Attribute {
	all := maps.Clone(attributes)
	for name, a := range attributes {
		all[name] = leaveOut(a)
	}
	return all
}

func leaveOut(of schema.Attribute) schema.Attribute {
	open := of.IsOptional() && !of.IsComputed()
	switch a := of.(type) {
	case schema.StringAttribute:
		if open && a.CustomType == nil && !a.WriteOnly && takesEmpty(a) {
			addLeftOut(&a.Computed, &a.PlanModifiers)
		}
		return a
	case schema.ListAttribute:
		leaveCollectionOut(open, a.Validators, &a.Computed, &a.PlanModifiers)
		return a
	case schema.SetAttribute:
		leaveCollectionOut(open, a.Validators, &a.Computed, &a.PlanModifiers)
		return a
	case schema.MapAttribute:
		leaveCollectionOut(open, a.Validators, &a.Computed, &a.PlanModifiers)
		return a
	case schema.ListNestedAttribute:
		a.NestedObject.Attributes = LeaveOut(a.NestedObject.Attributes)
		leaveCollectionOut(open, a.Validators, &a.Computed, &a.PlanModifiers)
		return a
	case schema.MapNestedAttribute:
		a.NestedObject.Attributes = LeaveOut(a.NestedObject.Attributes)
		leaveCollectionOut(open, a.Validators, &a.Computed, &a.PlanModifiers)
		return a
	case schema.SingleNestedAttribute:
		if a.CustomType != nil {
			return a
		}
		if open && onlyOptions(a.Attributes) {
			addLeftOut(&a.Computed, &a.PlanModifiers)
		}
		a.Attributes = LeaveOut(a.Attributes)
		return a
	}
	return of
}

// leaveCollectionOut has LeftOut plan a collection that is open to it, unless that may not be empty.
func leaveCollectionOut[V, M any](open bool, validators []V, computed *bool, modifiers *[]M) {
	if open && mayBeEmpty(validators) {
		addLeftOut(computed, modifiers)
	}
}

// addLeftOut makes an attribute one that LeftOut plans. M is the kind of plan modifier that the attribute takes.
func addLeftOut[M any](computed *bool, modifiers *[]M) {
	*computed = true
	if m, ok := any(LeftOut{}).(M); ok {
		*modifiers = append(slices.Clone(*modifiers), m)
	}
}

// mayBeEmpty says whether a collection may be written empty: one that may not is null where it is left out, after an import too.
func mayBeEmpty[V any](validators []V) bool {
	return !slices.ContainsFunc(validators, func(v V) bool {
		c, ok := any(v).(values.Collection)
		return ok && !c.TakesEmpty()
	})
}

// takesEmpty says whether a text may be written empty.
func takesEmpty(a schema.StringAttribute) bool {
	for _, v := range a.Validators {
		if kind, ok := v.(values.Kind); ok && kind.TakesEmpty() {
			return true
		}
	}
	return false
}

// onlyOptions says whether an object without any of its attributes says nothing.
func onlyOptions(attributes map[string]schema.Attribute) bool {
	for _, a := range attributes {
		if a.IsRequired() || a.IsComputed() {
			return false
		}
	}
	return true
}

// isLeftOut says whether LeftOut plans an attribute.
func isLeftOut(of schema.Attribute) bool { return slices.Contains(listModifiers(of), any(LeftOut{})) }

// listModifiers lists the plan modifiers of an attribute, of whatever kind they are.
func listModifiers(of schema.Attribute) (all []any) {
	modifiers := reflect.ValueOf(of).FieldByName("PlanModifiers")
	for i := 0; modifiers.IsValid() && i < modifiers.Len(); i++ {
		all = append(all, modifiers.Index(i).Interface())
	}
	return all
}

// restoreEmpty gives a state its spellings back (restoreSpelling), and makes empty what a store read as null and what LeftOut plans: where
// before, the plan or the state until now, has it empty, and every collection after an import, which has no before. A text and an object of
// options stay null then: hardly anybody writes an empty one, and what is left out is to read as it does after a create.
func restoreEmpty(ctx context.Context, state *tfsdk.State, before tftypes.Value, imported bool) error {
	raw, err := tftypes.Transform(state.Raw, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if !v.IsNull() || len(at.Steps()) == 0 {
			return restoreSpelling(state.Schema, at, v, before), nil
		}
		found, _, err := tftypes.WalkAttributePath(state.Schema, at)
		a, ok := found.(schema.Attribute)
		if err != nil || !ok || !isLeftOut(a) {
			return restoreSpelling(state.Schema, at, v, before), nil //nolint:nilerr // an element of a collection is no attribute
		}
		empty, ok := emptyOf(ctx, a.GetType())
		if !ok {
			return restoreSpelling(state.Schema, at, v, before), nil
		}
		value, err := empty.ToTerraformValue(ctx)
		if _, isCollection := a.GetType().(attr.TypeWithElementType); err != nil || imported && isCollection {
			return value, err
		}
		if was, _, err := tftypes.WalkAttributePath(before, at); err == nil {
			if was, ok := was.(tftypes.Value); ok && !was.IsNull() && saysNothing(was) {
				return was, nil
			}
		}
		return restoreSpelling(state.Schema, at, v, before), nil
	})
	if err == nil {
		state.Raw = raw
	}
	return err
}

// saysNothing says whether a value is as good as none: an empty text or collection, or an object of nothing else.
func saysNothing(v tftypes.Value) bool {
	var text string
	var elements []tftypes.Value
	var attributes map[string]tftypes.Value
	switch of := v.Type(); {
	case !v.IsKnown():
		return false
	case v.IsNull():
		return true
	case of.Is(tftypes.String):
		return v.As(&text) == nil && text == ""
	case of.Is(tftypes.Object{}):
		return v.As(&attributes) == nil && !slices.ContainsFunc(slices.Collect(maps.Values(attributes)), func(a tftypes.Value) bool { return !saysNothing(a) })
	case of.Is(tftypes.Map{}):
		return v.As(&attributes) == nil && len(attributes) == 0
	case of.Is(tftypes.List{}), of.Is(tftypes.Set{}):
		return v.As(&elements) == nil && len(elements) == 0
	}
	return false
}

// emptyOf is the value of a type that holds nothing.
func emptyOf(ctx context.Context, of attr.Type) (attr.Value, bool) {
	switch t := of.(type) {
	case types.ListType:
		return types.ListValueMust(t.ElemType, nil), true
	case types.SetType:
		return types.SetValueMust(t.ElemType, nil), true
	case types.MapType:
		return types.MapValueMust(t.ElemType, nil), true
	case types.ObjectType:
		nulls := map[string]attr.Value{}
		for name, t := range t.AttrTypes {
			v, err := t.ValueFromTerraform(ctx, tftypes.NewValue(t.TerraformType(ctx), nil))
			if err != nil {
				return nil, false
			}
			nulls[name] = v
		}
		return types.ObjectValueMust(t.AttrTypes, nulls), true
	}
	return types.StringValue(""), of.Equal(types.StringType)
}
