package convert

import (
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// A plain struct says which attribute each of its fields is: `attr:"memory_mib"`. Options follow the name:
//
//	canonical  a text, or a list of texts, is spelled canonically where it is an address, a prefix or a MAC address
//	not        a truth value means the opposite of the attribute
//	zero       a number of zero, and nothing in a text, slice or map, has a meaning of its own; else it stands for null
//	words      a text has the words of a list of texts; SplitWords of the struct says which of them are one element
//
// Fields are texts, int64, int, uint16, bool, netip.Addr and netip.Prefix, pointers to these where null differs from zero, and structs, slices and
// maps of all of them. An empty text, an invalid address and an empty slice or map stand for null.

// ToPlain fills a plain struct from a model: what both have an attribute of, by its name. The model is a struct as the framework decodes
// it, tagged `tfsdk`, whose nested attributes may be decoded or not. What is null or unknown becomes the zero value; unknown is told the
// path of each that is unknown, in strings and, of lists, ints. A list of texts with an unknown element is unknown, and has the others.
// The diagnostics are of texts that are no addresses, and of two keys of a map that mean the same.
func ToPlain(model, plain any, unknown func(at ...any)) diag.Diagnostics {
	r := reader{unknown: unknown}
	r.readStruct(reflect.ValueOf(model).Elem(), reflect.ValueOf(plain).Elem(), path.Empty())
	return r.diags
}

// Plain returns what ToPlain makes of a model, where nobody needs to know what is unknown.
func Plain[S any](model any) (plain S, diags diag.Diagnostics) {
	diags = ToPlain(model, &plain, func(...any) {})
	return plain, diags
}

// FromPlain writes a plain struct into a model: what both have an attribute of.
func FromPlain(plain, model any) {
	writeStruct(reflect.ValueOf(plain).Elem(), reflect.ValueOf(model).Elem())
}

// FillModel writes what a system has into a model, as FromPlain does, but for the attributes, and what is in them, at which that is what the model
// means: these keep their spelling, and whether nothing is null or empty. was is what ToPlain made of the model.
func FillModel(was, is, model any) {
	before, after, into := reflect.ValueOf(was).Elem(), reflect.ValueOf(is).Elem(), reflect.ValueOf(model).Elem()
	for _, a := range fieldsOf(into.Type(), "tfsdk") {
		f, ok := findField(after.Type(), "attr", a.name)
		if !ok {
			continue
		}
		meant, found, own := newValue(before.FieldByIndex(f.index), f), newValue(after.FieldByIndex(f.index), f), into.FieldByIndex(a.index)
		if v, isValue := own.Interface().(attr.Value); isValue {
			setValue(own, keepMeant(v, meant, found))
			continue
		}
		writeField(after.FieldByIndex(f.index), own, f)
	}
}

// Value returns a plain value, a struct, slice or map among them, as the framework's.
func Value(plain any) attr.Value { return newValue(reflect.ValueOf(plain), field{}) }

// Canonical spells an address, a prefix or a MAC address canonically; anything else stays as it is.
func Canonical(text string) string {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap().String()
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.String()
	}
	if m, err := net.ParseMAC(text); err == nil {
		return m.String()
	}
	return text
}

// field is a field of a struct that has an attribute.
type field struct {
	name    string
	index   []int
	options []string
}

func (f field) hasOption(option string) bool { return slices.Contains(f.options, option) }

type fieldsKey struct {
	of  reflect.Type
	tag string
}

var knownFields sync.Map // fieldsKey → []field

// fieldsOf lists the fields that a tag gives an attribute, those of embedded structs among them.
func fieldsOf(t reflect.Type, tag string) []field {
	if known, ok := knownFields.Load(fieldsKey{t, tag}); ok {
		return known.([]field)
	}
	var all []field
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get(tag), ",")
		if name != "" && name != "-" {
			all = append(all, field{name, f.Index, strings.Split(options, ",")})
		}
	}
	knownFields.Store(fieldsKey{t, tag}, all)
	return all
}

func findField(t reflect.Type, tag, name string) (field, bool) {
	all := fieldsOf(t, tag)
	at := slices.IndexFunc(all, func(f field) bool { return f.name == name })
	if at < 0 {
		return field{}, false
	}
	return all[at], true
}

// Attribute returns the field of a model, which model points to, that has an attribute.
func Attribute[V attr.Value](model any, name string) *V {
	m := reflect.ValueOf(model).Elem()
	f, ok := findField(m.Type(), "tfsdk", name)
	if !ok {
		panic(fmt.Sprintf("%s has no attribute %q", m.Type(), name))
	}
	return m.FieldByIndex(f.index).Addr().Interface().(*V)
}

// reader reads plain values and notes what is unknown and what is wrong.
type reader struct {
	unknown func(at ...any)
	diags   diag.Diagnostics
}

func (r *reader) readStruct(from, into reflect.Value, at path.Path) {
	for _, f := range fieldsOf(into.Type(), "attr") {
		if a, ok := findField(from.Type(), "tfsdk", f.name); ok {
			r.readField(from.FieldByIndex(a.index), into.FieldByIndex(f.index), f, at.AtName(f.name))
		}
	}
}

func (r *reader) readField(from, into reflect.Value, f field, at path.Path) {
	if v, ok := from.Interface().(attr.Value); ok {
		r.readValue(v, into, f, at)
		return
	}
	switch from.Kind() {
	case reflect.Pointer:
		if !from.IsNil() {
			r.readStruct(from.Elem(), allocatePointer(into), at)
		}
	case reflect.Slice:
		for i := range from.Len() {
			element := reflect.New(into.Type().Elem()).Elem()
			r.readStruct(from.Index(i), element, at.AtListIndex(i))
			into.Set(reflect.Append(into, element))
		}
	case reflect.Map:
		if !from.IsNil() {
			into.Set(reflect.MakeMap(into.Type()))
		}
		for _, key := range from.MapKeys() {
			element := reflect.New(into.Type().Elem()).Elem()
			r.readStruct(from.MapIndex(key), element, at.AtMapKey(key.String()))
			into.SetMapIndex(key, element)
		}
	}
}

func (r *reader) readValue(v attr.Value, into reflect.Value, f field, at path.Path) {
	switch {
	case v == nil || v.IsNull():
		return
	case v.IsUnknown():
		r.noteUnknown(at)
		return
	}
	into = allocatePointer(into)
	switch v := v.(type) {
	case types.String:
		r.readText(v.ValueString(), into, f, at)
	case types.Int64:
		if into.CanUint() {
			into.SetUint(uint64(v.ValueInt64())) //nolint:gosec // the schema has bounds
			return
		}
		into.SetInt(v.ValueInt64())
	case types.Bool:
		into.SetBool(v.ValueBool() != f.hasOption("not"))
	case interface{ Attributes() map[string]attr.Value }:
		for _, f := range fieldsOf(into.Type(), "attr") {
			r.readValue(v.Attributes()[f.name], into.FieldByIndex(f.index), f, at.AtName(f.name))
		}
	case interface{ Elements() []attr.Value }:
		for i, e := range v.Elements() {
			if _, text := e.(types.String); text && e.IsUnknown() {
				r.noteUnknown(at)
				continue
			}
			if f.hasOption("words") {
				into.SetString(strings.TrimSpace(into.String() + " " + e.(types.String).ValueString()))
				continue
			}
			element := reflect.New(into.Type().Elem()).Elem()
			r.readValue(e, element, f, at.AtListIndex(i))
			into.Set(reflect.Append(into, element))
		}
	case interface{ Elements() map[string]attr.Value }:
		into.Set(reflect.MakeMap(into.Type()))
		for name, e := range v.Elements() {
			key, element := reflect.New(into.Type().Key()).Elem(), reflect.New(into.Type().Elem()).Elem()
			r.readText(name, key, f, at.AtMapKey(name))
			if into.MapIndex(key).IsValid() {
				r.refuseTwice(key, at.AtMapKey(name), name)
			}
			if r.readValue(e, element, field{}, at.AtMapKey(name)); !e.IsUnknown() || element.Kind() == reflect.Struct {
				into.SetMapIndex(key, element)
			}
		}
	}
}

// allocatePointer returns what a pointer points to, made where it is nil; anything else is returned as it is.
func allocatePointer(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Pointer {
		return v
	}
	v.Set(reflect.New(v.Type().Elem()))
	return v.Elem()
}

func (r *reader) readText(text string, into reflect.Value, f field, at path.Path) {
	switch to := into.Addr().Interface().(type) {
	case *netip.Addr:
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" {
			r.refuseText(at, "Invalid address", "write an IP address such as 10.0.0.254", text)
			return
		}
		*to = a.Unmap()
	case *netip.Prefix:
		p, err := netip.ParsePrefix(text)
		if err != nil {
			r.refuseText(at, "Invalid subnet", "write an address and a prefix length such as 10.0.0.0/24", text)
			return
		}
		*to = p
	default:
		if f.hasOption("canonical") {
			text = Canonical(text)
		}
		into.SetString(text)
	}
}

// refuseText says what to write instead of a text; an empty one stands for null.
func (r *reader) refuseText(at path.Path, summary, instead, text string) {
	if text == "" {
		return
	}
	detail := fmt.Sprintf("%s, not %q", instead, text)
	if len(at.Steps()) > 1 { // Terraform points at the whole of an attribute
		detail = at.String() + ": " + detail
	}
	r.diags.AddAttributeError(at, summary, detail)
}

// refuseTwice refuses a key of a map of which another one is another spelling.
func (r *reader) refuseTwice(key reflect.Value, at path.Path, text string) {
	if key.Kind() == reflect.String {
		r.refuseText(at, "MAC address written twice", "write each MAC address once", text)
		return
	}
	r.refuseText(at, "Address written twice", "write each address once", text)
}

func (r *reader) noteUnknown(at path.Path) {
	var steps []any
	for _, step := range at.Steps() {
		switch s := step.(type) {
		case path.PathStepAttributeName:
			steps = append(steps, string(s))
		case path.PathStepElementKeyString:
			steps = append(steps, string(s))
		case path.PathStepElementKeyInt:
			steps = append(steps, int(s))
		}
	}
	r.unknown(steps...)
}
