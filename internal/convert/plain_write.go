package convert

import (
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func writeStruct(from, into reflect.Value) {
	for _, a := range fieldsOf(into.Type(), "tfsdk") {
		if f, ok := findField(from.Type(), "attr", a.name); ok {
			writeField(from.FieldByIndex(f.index), into.FieldByIndex(a.index), f)
		}
	}
}

func writeField(from, into reflect.Value, f field) {
	if _, ok := into.Interface().(attr.Value); ok {
		setValue(into, newValue(from, f))
		return
	}
	written := reflect.Zero(into.Type())
	switch {
	case into.Kind() == reflect.Slice && from.Len() > 0:
		written = reflect.MakeSlice(into.Type(), from.Len(), from.Len())
		for i := range from.Len() {
			writeStruct(from.Index(i), written.Index(i))
		}
	case into.Kind() == reflect.Map && from.Len() > 0:
		written = reflect.MakeMap(into.Type())
		for _, key := range from.MapKeys() {
			element := reflect.New(into.Type().Elem()).Elem()
			writeStruct(from.MapIndex(key), element)
			written.SetMapIndex(key, element)
		}
	case into.Kind() == reflect.Pointer && (from.Kind() != reflect.Pointer || !from.IsNil()):
		written = reflect.New(into.Type().Elem())
		writeStruct(reflect.Indirect(from), written.Elem())
	}
	into.Set(written)
}

// setValue sets an attribute of a model, where the value is of its type: a list is a set's elements.
func setValue(into reflect.Value, written attr.Value) {
	if list, isList := written.(types.List); isList && into.Type() == reflect.TypeFor[types.Set]() {
		written = newSet(list)
	}
	if v := reflect.ValueOf(written); v.Type() == into.Type() {
		into.Set(v)
	}
}

// keepMeant returns what was found, with the model's own value for each part of it that is what the model means.
func keepMeant(own, meant, found attr.Value) attr.Value {
	ctx := context.Background()
	if meant.Equal(found) && WhollyKnown(ctx, own) && (found.IsNull() || !own.IsNull()) {
		return own
	}
	owns, means, parts := partsOf(own), partsOf(meant), partsOf(found)
	if len(owns) != len(means) || len(parts) == 0 {
		return found
	}
	for at, part := range parts {
		if owns[at] != nil && means[at] != nil {
			parts[at] = keepMeant(owns[at], means[at], part)
		}
	}
	switch found := found.(type) {
	case types.Object:
		return types.ObjectValueMust(found.AttributeTypes(ctx), parts)
	case types.Map:
		return types.MapValueMust(found.ElementType(ctx), parts)
	}
	elements := make([]attr.Value, len(parts))
	for i := range elements {
		elements[i] = parts[strconv.Itoa(i)]
	}
	return types.ListValueMust(elements[0].Type(ctx), elements)
}

// partsOf returns the attributes of an object, or the elements of a map or of a list, by their places in it.
func partsOf(v attr.Value) map[string]attr.Value {
	switch v := v.(type) {
	case types.Object:
		return v.Attributes()
	case types.Map:
		return v.Elements()
	case types.List:
		parts := map[string]attr.Value{}
		for i, e := range v.Elements() {
			parts[strconv.Itoa(i)] = e
		}
		return parts
	}
	return nil
}

// wordSplitter is a struct with a text of words that is a list: it knows which of them are one element.
type wordSplitter interface{ SplitWords(text string) []string }

// newValue returns a plain value as the framework's.
func newValue(v reflect.Value, f field) attr.Value {
	switch plain := v.Interface().(type) {
	case netip.Addr:
		return newAddress(plain)
	case netip.Prefix:
		return newAddress(plain)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return newValue(v.Elem(), field{options: append(f.options, "zero")})
		}
	case reflect.String:
		if v.Len() > 0 || f.hasOption("zero") {
			return types.StringValue(v.String())
		}
	case reflect.Int, reflect.Int64, reflect.Uint16:
		number := v.Convert(reflect.TypeFor[int64]()).Int()
		if number != 0 || f.hasOption("zero") {
			return types.Int64Value(number)
		}
	case reflect.Bool:
		return types.BoolValue(v.Bool() != f.hasOption("not"))
	case reflect.Struct:
		attributes := map[string]attr.Value{}
		for _, f := range fieldsOf(v.Type(), "attr") {
			attributes[f.name] = newValue(v.FieldByIndex(f.index), f)
			if f.hasOption("words") {
				attributes[f.name] = ListOrNull(v.Interface().(wordSplitter).SplitWords(v.FieldByIndex(f.index).String()))
			}
		}
		return types.ObjectValueMust(typeOf(v.Type()).(types.ObjectType).AttrTypes, attributes)
	case reflect.Slice:
		var elements []attr.Value
		for i := range v.Len() {
			elements = append(elements, newElement(v.Index(i), f))
		}
		if len(elements) > 0 || f.hasOption("zero") {
			return types.ListValueMust(typeOf(v.Type().Elem()), elements)
		}
	case reflect.Map:
		elements := map[string]attr.Value{}
		for _, key := range v.MapKeys() {
			elements[fmt.Sprint(key)] = newElement(v.MapIndex(key), f)
		}
		if len(elements) > 0 || f.hasOption("zero") {
			return types.MapValueMust(typeOf(v.Type().Elem()), elements)
		}
	}
	return newNull(typeOf(v.Type()))
}

// newElement returns what is in a list or a map: an empty text is one there, as no element is null.
func newElement(v reflect.Value, f field) attr.Value {
	if v.Kind() == reflect.String {
		return types.StringValue(v.String())
	}
	return newValue(v, f)
}

// newSet returns a list's elements as a set, null for a null list.
func newSet(list types.List) types.Set {
	of := list.ElementType(context.Background())
	if list.IsNull() {
		return types.SetNull(of)
	}
	return types.SetValueMust(of, list.Elements())
}

func newAddress[A interface {
	IsValid() bool
	String() string
}](a A) attr.Value {
	if !a.IsValid() {
		return types.StringNull()
	}
	return types.StringValue(a.String())
}

func newNull(of attr.Type) attr.Value {
	switch t := of.(type) {
	case types.ObjectType:
		return types.ObjectNull(t.AttrTypes)
	case types.ListType:
		return types.ListNull(t.ElemType)
	case types.MapType:
		return types.MapNull(t.ElemType)
	}
	return map[attr.Type]attr.Value{types.StringType: types.StringNull(), types.Int64Type: types.Int64Null(), types.BoolType: types.BoolNull()}[of]
}

// typeOf returns the framework's type for a plain one.
func typeOf(t reflect.Type) attr.Type {
	switch t.Kind() {
	case reflect.Pointer:
		return typeOf(t.Elem())
	case reflect.Int, reflect.Int64, reflect.Uint16:
		return types.Int64Type
	case reflect.Bool:
		return types.BoolType
	case reflect.Slice:
		return types.ListType{ElemType: typeOf(t.Elem())}
	case reflect.Map:
		return types.MapType{ElemType: typeOf(t.Elem())}
	case reflect.Struct:
		fields := fieldsOf(t, "attr")
		if len(fields) == 0 {
			return types.StringType // an address
		}
		of := map[string]attr.Type{}
		for _, f := range fields {
			of[f.name] = typeOf(t.FieldByIndex(f.index).Type)
			if f.hasOption("words") {
				of[f.name] = types.ListType{ElemType: types.StringType}
			}
		}
		return types.ObjectType{AttrTypes: of}
	}
	return types.StringType
}
