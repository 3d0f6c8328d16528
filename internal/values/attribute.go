package values

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Attributes of resources are made of what they hold, how they may be set, and their description in Markdown:
//
//	Required          the configuration sets it
//	Optional          it may: else it is null
//	OptionalComputed  it may: else the provider chooses it
//	Default           it may: else it has this value
//
// What the framework can besides, such as attributes that are sensitive or only computed, is written as the framework has it.

// Required makes an attribute that holds a text of the kind.
func (k Kind) Required(description string, modifiers ...planmodifier.String) schema.StringAttribute {
	return schema.StringAttribute{Required: true, MarkdownDescription: description, Validators: []validator.String{k}, PlanModifiers: modifiers}
}

// Optional makes an attribute that holds a text of the kind, or null.
func (k Kind) Optional(description string, modifiers ...planmodifier.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: []validator.String{k}, PlanModifiers: modifiers}
}

// OptionalComputed makes an attribute that holds a text of the kind.
func (k Kind) OptionalComputed(description string, modifiers ...planmodifier.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, Computed: true, MarkdownDescription: description, Validators: []validator.String{k}, PlanModifiers: modifiers}
}

// Default makes an attribute that holds a text of the kind.
func (k Kind) Default(value, description string, modifiers ...planmodifier.String) schema.StringAttribute {
	a := k.OptionalComputed(description, modifiers...)
	a.Default = stringdefault.StaticString(value)
	return a
}

// Required makes an attribute that holds such a whole number.
func (n Number) Required(description string, modifiers ...planmodifier.Int64) schema.Int64Attribute {
	return schema.Int64Attribute{Required: true, MarkdownDescription: description, Validators: []validator.Int64{n}, PlanModifiers: modifiers}
}

// Optional makes an attribute that holds such a whole number, or null.
func (n Number) Optional(description string, modifiers ...planmodifier.Int64) schema.Int64Attribute {
	return schema.Int64Attribute{Optional: true, MarkdownDescription: description, Validators: []validator.Int64{n}, PlanModifiers: modifiers}
}

// OptionalComputed makes an attribute that holds such a whole number.
func (n Number) OptionalComputed(description string, modifiers ...planmodifier.Int64) schema.Int64Attribute {
	return schema.Int64Attribute{Optional: true, Computed: true, MarkdownDescription: description, Validators: []validator.Int64{n}, PlanModifiers: modifiers}
}

// Default makes an attribute that holds such a whole number.
func (n Number) Default(value int64, description string, modifiers ...planmodifier.Int64) schema.Int64Attribute {
	a := n.OptionalComputed(description, modifiers...)
	a.Default = int64default.StaticInt64(value)
	return a
}

// Flag is what is true or false.
var Flag flag

type flag struct{}

// Optional makes an attribute that is true, false or null.
func (flag) Optional(description string, modifiers ...planmodifier.Bool) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, MarkdownDescription: description, PlanModifiers: modifiers}
}

// OptionalComputed makes an attribute that is true or false.
func (flag) OptionalComputed(description string, modifiers ...planmodifier.Bool) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, Computed: true, MarkdownDescription: description, PlanModifiers: modifiers}
}

// Default makes an attribute that is true or false.
func (f flag) Default(value bool, description string, modifiers ...planmodifier.Bool) schema.BoolAttribute {
	a := f.OptionalComputed(description, modifiers...)
	a.Default = booldefault.StaticBool(value)
	return a
}

// RequiredList makes an attribute that holds a list of such elements.
func (c Collection) RequiredList(description string, modifiers ...planmodifier.List) schema.ListAttribute {
	return schema.ListAttribute{Required: true, ElementType: c.elementType(), MarkdownDescription: description, Validators: []validator.List{c}, PlanModifiers: modifiers}
}

// OptionalList makes an attribute that holds a list of such elements, or null.
func (c Collection) OptionalList(description string, modifiers ...planmodifier.List) schema.ListAttribute {
	return schema.ListAttribute{Optional: true, ElementType: c.elementType(), MarkdownDescription: description, Validators: []validator.List{c}, PlanModifiers: modifiers}
}

// RequiredSet makes an attribute that holds a set of such elements.
func (c Collection) RequiredSet(description string, modifiers ...planmodifier.Set) schema.SetAttribute {
	return schema.SetAttribute{Required: true, ElementType: c.elementType(), MarkdownDescription: description, Validators: []validator.Set{c}, PlanModifiers: modifiers}
}

// OptionalSet makes an attribute that holds a set of such elements, or null.
func (c Collection) OptionalSet(description string, modifiers ...planmodifier.Set) schema.SetAttribute {
	a := c.RequiredSet(description, modifiers...)
	a.Required, a.Optional = false, true
	return a
}

// OptionalComputedSet makes an attribute that holds a set of such elements.
func (c Collection) OptionalComputedSet(description string, modifiers ...planmodifier.Set) schema.SetAttribute {
	a := c.OptionalSet(description, modifiers...)
	a.Computed = true
	return a
}

// RequiredMap makes an attribute that holds a map of such elements.
func (c Collection) RequiredMap(description string, modifiers ...planmodifier.Map) schema.MapAttribute {
	a := c.OptionalMap(description, modifiers...)
	a.Required, a.Optional = true, false
	return a
}

// OptionalMap makes an attribute that holds a map of such elements, or null.
func (c Collection) OptionalMap(description string, modifiers ...planmodifier.Map) schema.MapAttribute {
	return schema.MapAttribute{Optional: true, ElementType: c.elementType(), MarkdownDescription: description, Validators: []validator.Map{c}, PlanModifiers: modifiers}
}

// OptionalComputedList makes an attribute that holds a list of such elements.
func (c Collection) OptionalComputedList(description string, modifiers ...planmodifier.List) schema.ListAttribute {
	a := c.OptionalList(description, modifiers...)
	a.Computed = true
	return a
}

// OptionalComputedMap makes an attribute that holds a map of such elements.
func (c Collection) OptionalComputedMap(description string, modifiers ...planmodifier.Map) schema.MapAttribute {
	a := c.OptionalMap(description, modifiers...)
	a.Computed = true
	return a
}

// elementType is the framework's type of what is in the collection.
func (c Collection) elementType() attr.Type {
	switch of := c.of.(type) {
	case Collection:
		return types.ListType{ElemType: of.elementType()}
	case Number:
		return types.Int64Type
	}
	return types.StringType
}

// Attributes are those of an object, by their names.
type Attributes = map[string]schema.Attribute

// OptionalObject makes an attribute that holds an object, or null.
func OptionalObject(description string, attributes Attributes) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{Optional: true, MarkdownDescription: description, Attributes: attributes}
}

// RequiredObject makes an attribute that holds an object.
func RequiredObject(description string, attributes Attributes) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{Required: true, MarkdownDescription: description, Attributes: attributes}
}

// OptionalComputedObject makes an attribute that holds an object.
func OptionalComputedObject(description string, attributes Attributes, modifiers ...planmodifier.Object) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{Optional: true, Computed: true, MarkdownDescription: description, Attributes: attributes, PlanModifiers: modifiers}
}

// RequiredListOf makes an attribute that holds a list of objects.
func (c Collection) RequiredListOf(description string, attributes Attributes) schema.ListNestedAttribute {
	return schema.ListNestedAttribute{Required: true, MarkdownDescription: description, Validators: []validator.List{c}, NestedObject: schema.NestedAttributeObject{Attributes: attributes}}
}

// OptionalListOf makes an attribute that holds a list of objects, or null.
func (c Collection) OptionalListOf(description string, attributes Attributes) schema.ListNestedAttribute {
	return schema.ListNestedAttribute{Optional: true, MarkdownDescription: description, Validators: []validator.List{c}, NestedObject: schema.NestedAttributeObject{Attributes: attributes}}
}

// OptionalComputedListOf makes an attribute that holds a list of objects.
func (c Collection) OptionalComputedListOf(description string, attributes Attributes, modifiers ...planmodifier.List) schema.ListNestedAttribute {
	a := c.OptionalListOf(description, attributes)
	a.Computed, a.PlanModifiers = true, modifiers
	return a
}

// RequiredMapOf makes an attribute that holds a map of objects.
func (c Collection) RequiredMapOf(description string, attributes Attributes) schema.MapNestedAttribute {
	return schema.MapNestedAttribute{Required: true, MarkdownDescription: description, Validators: []validator.Map{c}, NestedObject: schema.NestedAttributeObject{Attributes: attributes}}
}

// OptionalMapOf makes an attribute that holds a map of objects, or null.
func (c Collection) OptionalMapOf(description string, attributes Attributes) schema.MapNestedAttribute {
	return schema.MapNestedAttribute{Optional: true, MarkdownDescription: description, Validators: []validator.Map{c}, NestedObject: schema.NestedAttributeObject{Attributes: attributes}}
}

// OptionalComputedMapOf makes an attribute that holds a map of objects.
func (c Collection) OptionalComputedMapOf(description string, attributes Attributes, modifiers ...planmodifier.Map) schema.MapNestedAttribute {
	a := c.OptionalMapOf(description, attributes)
	a.Computed, a.PlanModifiers = true, modifiers
	return a
}

// KeptText makes an attribute whose text the provider makes once, and keeps for as long as the object is there.
func KeptText(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}}
}
