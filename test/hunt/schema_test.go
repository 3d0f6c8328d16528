package hunt

import (
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// attribute is an attribute of a schema as Terraform's core knows it.
type attribute struct {
	name                                    string
	kind                                    cty.Type
	required, optional, computed, writeOnly bool
	// nested are the attributes of its object or of its elements; nil where it has none. nesting says which.
	nested  []*attribute
	nesting tfprotov6.SchemaObjectNestingMode
}

// attributesOf converts a schema, in the order of names.
func attributesOf(of []*tfprotov6.SchemaAttribute) ([]*attribute, error) {
	var all []*attribute
	for _, s := range of {
		text, err := s.ValueType().MarshalJSON() //nolint:staticcheck // there is no other way to write a type
		if err != nil {
			return nil, fmt.Errorf("type of %s: %w", s.Name, err)
		}
		a := &attribute{name: s.Name, required: s.Required, optional: s.Optional, computed: s.Computed, writeOnly: s.WriteOnly}
		if a.kind, err = ctyjson.UnmarshalType(text); err != nil {
			return nil, fmt.Errorf("type of %s: %w", s.Name, err)
		}
		if s.NestedType != nil {
			a.nesting = s.NestedType.Nesting
			if a.nested, err = attributesOf(s.NestedType.Attributes); err != nil {
				return nil, err
			}
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b *attribute) int { return compare(a.name, b.name) })
	return all, nil
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// objectType is the type of an object of attributes.
func objectType(of []*attribute) cty.Type {
	types := map[string]cty.Type{}
	for _, a := range of {
		types[a.name] = a.kind
	}
	return cty.Object(types)
}

// find is the attribute at a path of names, below lists and maps without their keys.
func find(of []*attribute, path []string) *attribute {
	for _, a := range of {
		if a.name == path[0] {
			if len(path) == 1 {
				return a
			}
			return find(a.nested, path[1:])
		}
	}
	return nil
}

type (
	// object and list are how samples write values; what an object leaves out is null.
	object = map[string]any
	list   = []any
)

// unknown stands for a value that is not known at plan, and what it is at apply.
type unknown struct{ then any }

// value converts a sample to an attribute's value. atApply has what is unknown at plan be what it is then.
func (a *attribute) value(v any, atApply bool) cty.Value {
	if u, ok := v.(unknown); ok {
		if !atApply {
			return cty.UnknownVal(a.kind)
		}
		v = u.then
	}
	if v == nil {
		return cty.NullVal(a.kind)
	}
	if a.nested == nil {
		return plain(a.kind, v, atApply)
	}
	element := func(v any) cty.Value {
		switch v := v.(type) {
		case object:
			return objectValue(a.nested, v, atApply)
		case unknown:
			if !atApply {
				return cty.UnknownVal(objectType(a.nested))
			}
			if then, ok := v.then.(object); ok {
				return objectValue(a.nested, then, atApply)
			}
		}
		return cty.NullVal(objectType(a.nested))
	}
	switch a.nesting {
	case tfprotov6.SchemaObjectNestingModeSingle:
		return element(v)
	case tfprotov6.SchemaObjectNestingModeMap:
		all := map[string]cty.Value{}
		for k, e := range v.(object) {
			all[k] = element(e)
		}
		if len(all) == 0 {
			return cty.MapValEmpty(objectType(a.nested))
		}
		return cty.MapVal(all)
	}
	var all []cty.Value
	for _, e := range v.(list) {
		all = append(all, element(e))
	}
	if len(all) == 0 {
		return cty.ListValEmpty(objectType(a.nested))
	}
	return cty.ListVal(all)
}

// objectValue converts an object.
func objectValue(of []*attribute, v object, atApply bool) cty.Value {
	all := map[string]cty.Value{}
	for _, a := range of {
		all[a.name] = a.value(v[a.name], atApply)
	}
	for name := range v {
		if _, ok := all[name]; !ok {
			panic("there is no attribute " + name)
		}
	}
	return cty.ObjectVal(all)
}

// plain converts what is not nested.
func plain(kind cty.Type, v any, atApply bool) cty.Value {
	if u, ok := v.(unknown); ok {
		if !atApply {
			return cty.UnknownVal(kind)
		}
		v = u.then
	}
	if kind == cty.DynamicPseudoType {
		return dynamic(v, atApply)
	}
	switch v := v.(type) {
	case nil:
		return cty.NullVal(kind)
	case string:
		return cty.StringVal(v)
	case bool:
		return cty.BoolVal(v)
	case int:
		return cty.NumberIntVal(int64(v))
	case number:
		return cty.MustParseNumberVal(string(v))
	case list:
		return collection(kind, v, atApply)
	case object:
		return mapping(kind, v, atApply)
	}
	panic(fmt.Sprintf("a sample holds a %T", v))
}

// number is a number that no int holds.
type number string

// dynamic converts what has no type but its own, as a configuration writes it: tuples and objects.
func dynamic(v any, atApply bool) cty.Value {
	none := cty.DynamicPseudoType
	switch v := v.(type) {
	case list:
		var all []cty.Value
		for _, e := range v {
			all = append(all, plain(none, e, atApply))
		}
		return cty.TupleVal(all)
	case object:
		all := map[string]cty.Value{}
		for k, e := range v {
			all[k] = plain(none, e, atApply)
		}
		return cty.ObjectVal(all)
	case string:
		return cty.StringVal(v)
	case bool:
		return cty.BoolVal(v)
	case int:
		return cty.NumberIntVal(int64(v))
	case number:
		return cty.MustParseNumberVal(string(v))
	}
	return cty.NullVal(none)
}

func collection(kind cty.Type, v list, atApply bool) cty.Value {
	element := kind.ElementType()
	var all []cty.Value
	for _, e := range v {
		all = append(all, plain(element, e, atApply))
	}
	switch {
	case len(all) == 0 && kind.IsSetType():
		return cty.SetValEmpty(element)
	case len(all) == 0:
		return cty.ListValEmpty(element)
	case kind.IsSetType():
		return cty.SetVal(all)
	}
	return cty.ListVal(all)
}

func mapping(kind cty.Type, v object, atApply bool) cty.Value {
	if kind.IsObjectType() {
		all := map[string]cty.Value{}
		for name, t := range kind.AttributeTypes() {
			all[name] = plain(t, v[name], atApply)
		}
		return cty.ObjectVal(all)
	}
	all := map[string]cty.Value{}
	for k, e := range v {
		all[k] = plain(kind.ElementType(), e, atApply)
	}
	if len(all) == 0 {
		return cty.MapValEmpty(kind.ElementType())
	}
	return cty.MapVal(all)
}
