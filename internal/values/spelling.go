package values

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Equality is what an attribute means: a plan modifier that plans what the state has while the configuration's means the same, and by which
// a Speller keeps what a model has when it was read back in another spelling. Of a map it is about each element.
type Equality interface {
	// IsSame says whether two values that are not unknown mean the same.
	IsSame(a, b attr.Value) bool
}

// IsSame implements Equality.
func (k keepSpelling) IsSame(a, b attr.Value) bool {
	x, isText := a.(types.String)
	y, areTexts := b.(types.String)
	return isText && areTexts && !x.IsUnknown() && !y.IsUnknown() && k.Canonical(x.ValueString()) == k.Canonical(y.ValueString())
}

// IsSame implements Equality.
func (k keepSpellings) IsSame(a, b attr.Value) bool {
	x, areElements := a.(interface{ Elements() []attr.Value })
	y, areToo := b.(interface{ Elements() []attr.Value })
	of, _ := k.of.(Kind)
	return areElements && areToo && a.IsNull() == b.IsNull() && slices.EqualFunc(x.Elements(), y.Elements(), keepSpelling{of}.IsSame)
}

// KeepElements plans each element of a map of texts as the state has it, while it means the same as the configuration's.
func (c Collection) KeepElements() planmodifier.Map {
	of, _ := c.of.(Kind)
	return keepElements{keepSpelling{of}}
}

type keepElements struct{ keepSpelling }

// PlanModifyMap implements planmodifier.Map.
func (k keepElements) PlanModifyMap(ctx context.Context, req planmodifier.MapRequest, resp *planmodifier.MapResponse) {
	if elements := req.PlanValue.Elements(); len(elements) > 0 {
		for key, state := range req.StateValue.Elements() {
			if planned, there := elements[key]; there && k.IsSame(planned, state) {
				elements[key] = state
			}
		}
		resp.PlanValue = types.MapValueMust(req.PlanValue.ElementType(ctx), elements)
	}
}

// Texts is the Equality of a list or a set of texts as a whole.
type Texts struct{ canonical func([]string) []string }

// TextsAs returns that by which two mean the same of which canonical returns the same. The elements of none at all are nil.
func TextsAs(canonical func([]string) []string) Texts { return Texts{canonical} }

// IsSame implements Equality.
func (t Texts) IsSame(a, b attr.Value) bool {
	x, areKnown := listTexts(a)
	y, areToo := listTexts(b)
	return areKnown && areToo && slices.Equal(t.canonical(x), t.canonical(y))
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

// Description implements planmodifier.Describer.
func (Texts) Description(context.Context) string { return "another spelling of the same is no change" }

// MarkdownDescription implements planmodifier.Describer.
func (t Texts) MarkdownDescription(ctx context.Context) string { return t.Description(ctx) }

// PlanModifyList implements planmodifier.List.
func (t Texts) PlanModifyList(_ context.Context, req planmodifier.ListRequest, resp *planmodifier.ListResponse) {
	if !req.StateValue.IsNull() && t.IsSame(req.PlanValue, req.StateValue) {
		resp.PlanValue = req.StateValue
	}
}

// PlanModifySet implements planmodifier.Set.
func (t Texts) PlanModifySet(_ context.Context, req planmodifier.SetRequest, resp *planmodifier.SetResponse) {
	if !req.StateValue.IsNull() && t.IsSame(req.PlanValue, req.StateValue) {
		resp.PlanValue = req.StateValue
	}
}

// Speller writes what was read back into models of a schema, in the spelling that they have.
type Speller struct {
	attributes func() map[string]schema.Attribute
}

// NewSpeller returns that of a schema.
func NewSpeller(of func(context.Context) schema.Schema) Speller {
	return Speller{sync.OnceValue(func() map[string]schema.Attribute { return of(context.Background()).Attributes })}
}

// Keep writes read, a struct of values by the names of their attributes, into own, a pointer to such a one. A value that own has stays where
// it means the same, in an object, a list or a map of objects too. So it does where both are nothing: null, or empty.
func (s Speller) Keep(own, read any) {
	s.keepFields(reflect.ValueOf(own).Elem(), reflect.ValueOf(read))
}

func (s Speller) keepFields(own, read reflect.Value) {
	for i := range own.NumField() {
		field := own.Type().Field(i)
		if field.Anonymous {
			s.keepFields(own.Field(i), read.Field(i))
		} else if attribute, there := s.attributes()[field.Tag.Get("tfsdk")]; there {
			was, is := own.Field(i).Interface().(attr.Value)
			if now, too := read.Field(i).Interface().(attr.Value); is && too {
				own.Field(i).Set(reflect.ValueOf(keepValue(attribute, was, now)))
			}
		}
	}
}

// keepValue returns one of two values of an attribute: the own one where it means the same.
func keepValue(a schema.Attribute, own, read attr.Value) attr.Value {
	equality := equalityOf(a)
	was, isMap := own.(types.Map)
	now, _ := read.(types.Map)
	_, ofObjects := a.(schema.MapNestedAttribute)
	switch {
	case own == nil || own.IsUnknown() || own.Equal(read):
		return read
	case equality != nil && !isMap:
		if equality.IsSame(own, read) {
			return own
		}
		return read
	case isNothing(own) && isNothing(read):
		return own
	case isMap && (ofObjects || equality != nil) && !now.IsNull() && !now.IsUnknown():
		return types.MapValueMust(now.ElementType(context.Background()), keepElementsOf(a, equality, was.Elements(), now.Elements()))
	}
	return keepNested(a, own, read)
}

func keepElementsOf(a schema.Attribute, equality Equality, own, read map[string]attr.Value) map[string]attr.Value {
	for key, e := range read {
		was, there := own[key]
		switch nested, ofObjects := a.(schema.MapNestedAttribute); {
		case !there:
		case ofObjects:
			read[key] = keepObject(nested.NestedObject.Attributes, was, e)
		case equality.IsSame(was, e):
			read[key] = was
		}
	}
	return read
}

// keepNested keeps what means the same in an object, and in the objects of a list.
func keepNested(a schema.Attribute, own, read attr.Value) attr.Value {
	switch a := a.(type) {
	case schema.SingleNestedAttribute:
		return keepObject(a.Attributes, own, read)
	case schema.ListNestedAttribute:
		was, now := own.(types.List).Elements(), read.(types.List).Elements()
		for i := range min(len(was), len(now)) {
			now[i] = keepObject(a.NestedObject.Attributes, was[i], now[i])
		}
		if len(now) > 0 {
			return types.ListValueMust(read.(types.List).ElementType(context.Background()), now)
		}
	}
	return read
}

func keepObject(attributes map[string]schema.Attribute, own, read attr.Value) attr.Value {
	was, isObject := own.(types.Object)
	now, isToo := read.(types.Object)
	if !isObject || !isToo || was.IsNull() || now.IsNull() || was.IsUnknown() || now.IsUnknown() {
		return read
	}
	kept := now.Attributes()
	for name, v := range kept {
		kept[name] = keepValue(attributes[name], was.Attributes()[name], v)
	}
	return types.ObjectValueMust(now.AttributeTypes(context.Background()), kept)
}

// isNothing says whether a value is null or has nothing in it.
func isNothing(v attr.Value) bool {
	if v.IsNull() {
		return true
	}
	switch v := v.(type) {
	case types.String:
		return v.ValueString() == "" && !v.IsUnknown()
	case types.Object:
		for _, a := range v.Attributes() {
			if !a.IsNull() {
				return false
			}
		}
		return !v.IsUnknown()
	case interface{ Elements() []attr.Value }:
		return len(v.Elements()) == 0
	case interface{ Elements() map[string]attr.Value }:
		return len(v.Elements()) == 0
	}
	return false
}

// equalityOf returns that of an attribute's plan modifiers; nil for none.
func equalityOf(a schema.Attribute) Equality {
	switch a := a.(type) {
	case schema.StringAttribute:
		return findEquality(a.PlanModifiers)
	case schema.ListAttribute:
		return findEquality(a.PlanModifiers)
	case schema.SetAttribute:
		return findEquality(a.PlanModifiers)
	case schema.MapAttribute:
		return findEquality(a.PlanModifiers)
	}
	return nil
}

func findEquality[M any](modifiers []M) Equality {
	for _, m := range modifiers {
		if e, is := any(m).(Equality); is {
			return e
		}
	}
	return nil
}
