package attrs

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Optional are a model's attributes by name, as pointers to types.String, Set, List, Map and Object, that may be written and
// empty: HAProxy's files have no words for that, and what is imported shall be planned without a change all the same.
type Optional map[string]any

// Empty lists those that are written, and empty: a text or a collection without anything in it, an object of nulls.
func (o Optional) Empty() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if isEmpty(o[name]) {
			names = append(names, name)
		}
	}
	return names
}

func isEmpty(pointer any) bool {
	switch v := pointer.(type) {
	case *types.String:
		return written(v) && v.ValueString() == ""
	case *types.Set:
		return written(v) && len(v.Elements()) == 0
	case *types.List:
		return written(v) && len(v.Elements()) == 0
	case *types.Map:
		return written(v) && len(v.Elements()) == 0
	case *types.Object:
		for _, a := range v.Attributes() {
			if !a.IsNull() {
				return false
			}
		}
		return written(v)
	}
	return false
}

func written(v interface {
	IsNull() bool
	IsUnknown() bool
},
) bool {
	return !v.IsNull() && !v.IsUnknown()
}

// Fill makes those that are null, as after an import, empty where they are written so.
func (o Optional) Fill(ctx context.Context, empty []string) {
	for _, name := range empty {
		switch v := o[name].(type) {
		case *types.String:
			if v.IsNull() {
				*v = types.StringValue("")
			}
		case *types.Set:
			if v.IsNull() {
				*v = types.SetValueMust(v.ElementType(ctx), nil)
			}
		case *types.List:
			if v.IsNull() {
				*v = types.ListValueMust(v.ElementType(ctx), nil)
			}
		case *types.Map:
			if v.IsNull() {
				*v = types.MapValueMust(v.ElementType(ctx), nil)
			}
		case *types.Object:
			if v.IsNull() {
				*v = ofNulls(ctx, v.AttributeTypes(ctx))
			}
		}
	}
}

// ofNulls is an object without anything in it.
func ofNulls(ctx context.Context, attributes map[string]attr.Type) types.Object {
	values := map[string]attr.Value{}
	for name, t := range attributes {
		v, err := t.ValueFromTerraform(ctx, tftypes.NewValue(t.TerraformType(ctx), nil))
		if err != nil {
			return types.ObjectNull(attributes)
		}
		values[name] = v
	}
	return types.ObjectValueMust(attributes, values)
}
