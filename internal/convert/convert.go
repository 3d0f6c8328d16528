// Package convert is between the framework's values and plain ones: what is null, what is empty, and what is known, with one
// meaning everywhere.
package convert

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Known says that a value is there to be read: neither null nor unknown. What is in it may be unknown.
func Known(v interface {
	IsNull() bool
	IsUnknown() bool
},
) bool {
	return !v.IsNull() && !v.IsUnknown()
}

// WhollyKnown says that nothing in a value is unknown. A null value is wholly known.
func WhollyKnown(ctx context.Context, v attr.Value) bool {
	tf, err := v.ToTerraformValue(ctx)
	return err == nil && tf.IsFullyKnown()
}

// SpreadUnknowns returns a list, a set or a map of objects in which an object that is unknown as a whole is one whose attributes are, so that
// all decode alike. So is an attribute of an object, but for those that are named: these decode as a whole. Anything else stays as it is.
func SpreadUnknowns(v attr.Value, whole ...string) attr.Value {
	ctx := context.Background()
	tf, err := v.ToTerraformValue(ctx)
	if err != nil || !tf.IsKnown() || tf.IsNull() {
		return v
	}
	spread, err := tftypes.Transform(tf, func(at *tftypes.AttributePath, e tftypes.Value) (tftypes.Value, error) {
		of, object := e.Type().(tftypes.Object)
		if len(at.Steps()) != 1 || !object || e.IsKnown() {
			return e, nil
		}
		if name, attribute := at.LastStep().(tftypes.AttributeName); attribute && slices.Contains(whole, string(name)) {
			return e, nil
		}
		attributes := map[string]tftypes.Value{}
		for name, t := range of.AttributeTypes {
			attributes[name] = tftypes.NewValue(t, tftypes.UnknownValue)
		}
		return tftypes.NewValue(of, attributes), nil
	})
	if err != nil {
		return v
	}
	if known, err := v.Type(ctx).ValueFromTerraform(ctx, spread); err == nil {
		return known
	}
	return v
}

// TakeAttribute returns an object with an attribute as another object of its type has it: one that is write-only, which a plan has not and the
// configuration has. Where one of the two is not there or not known, the object stays as it is.
func TakeAttribute(into, from types.Object, name string) types.Object {
	v, ok := from.Attributes()[name]
	if !ok || !Known(into) {
		return into
	}
	attributes := into.Attributes()
	attributes[name] = v
	return types.ObjectValueMust(into.AttributeTypes(context.Background()), attributes)
}

// Text is a text that is null where it is empty.
func Text(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}

// Elements are texts as the framework's values.
func Elements(all []string) []attr.Value {
	elements := make([]attr.Value, len(all))
	for i, s := range all {
		elements[i] = types.StringValue(s)
	}
	return elements
}

// Texts are the elements of a list of texts: nil where it is null or unknown, "" for an unknown element, so that every element
// keeps its place.
func Texts(l types.List) []string {
	if !Known(l) {
		return nil
	}
	all := make([]string, 0, len(l.Elements()))
	for _, e := range l.Elements() {
		s, _ := e.(types.String)
		all = append(all, s.ValueString())
	}
	return all
}

// KnownTexts are the elements of a collection of texts that are known.
func KnownTexts(v interface{ Elements() []attr.Value }) []string {
	var all []string
	for _, e := range v.Elements() {
		if s, ok := e.(types.String); ok && Known(s) {
			all = append(all, s.ValueString())
		}
	}
	return all
}

// SpellList returns a list of what values are spelled as: of no values it is empty.
func SpellList[T fmt.Stringer](values []T) types.List {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = v.String()
	}
	return List(texts)
}

// SequenceElements returns the elements of a value that was written with brackets, whatever type Terraform took that for; ok is false for
// anything else.
func SequenceElements(v attr.Value) (elements []attr.Value, ok bool) {
	switch l := v.(type) {
	case types.Tuple:
		return l.Elements(), true
	case types.List:
		return l.Elements(), true
	case types.Set:
		return l.Elements(), true
	}
	return nil, false
}

// List is the inverse of Texts: nil is null, and no elements are an empty list.
func List(all []string) types.List {
	if all == nil {
		return types.ListNull(types.StringType)
	}
	return types.ListValueMust(types.StringType, Elements(all))
}

// ListOrNull is a list that is null where it has no elements.
func ListOrNull(all []string) types.List {
	if len(all) == 0 {
		return types.ListNull(types.StringType)
	}
	return List(all)
}

// MapTexts are the elements of a map of texts: nil where it is null or unknown, "" for an unknown element.
func MapTexts(m types.Map) map[string]string {
	if !Known(m) {
		return nil
	}
	all := map[string]string{}
	for k, e := range m.Elements() {
		s, _ := e.(types.String)
		all[k] = s.ValueString()
	}
	return all
}

// Map is a map of texts.
func Map(all map[string]string) types.Map {
	elements := make(map[string]attr.Value, len(all))
	for k, v := range all {
		elements[k] = types.StringValue(v)
	}
	return types.MapValueMust(types.StringType, elements)
}

// MapOrNull is a map that is null where it has no elements.
func MapOrNull(all map[string]string) types.Map {
	if len(all) == 0 {
		return types.MapNull(types.StringType)
	}
	return Map(all)
}
