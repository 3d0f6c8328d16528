// Package computed makes the attributes of data sources that say what was found.
package computed

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Attributes are those of an object, by their names.
type Attributes = map[string]schema.Attribute

// Text makes an attribute that holds a text.
func Text(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

// Number makes an attribute that holds a whole number.
func Number(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}

// Flag makes an attribute that holds true or false.
func Flag(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Computed: true, MarkdownDescription: description}
}

// Texts makes an attribute that holds a list of texts.
func Texts(description string) schema.ListAttribute {
	return schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}

// TextMap makes an attribute that holds texts by name.
func TextMap(description string) schema.MapAttribute {
	return schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}

// ListOf makes an attribute that holds a list of objects.
func ListOf(description string, attributes Attributes) schema.ListNestedAttribute {
	return schema.ListNestedAttribute{Computed: true, MarkdownDescription: description, NestedObject: schema.NestedAttributeObject{Attributes: attributes}}
}

// MapOf makes an attribute that holds objects by name.
func MapOf(description string, attributes Attributes) schema.MapNestedAttribute {
	return schema.MapNestedAttribute{Computed: true, MarkdownDescription: description, NestedObject: schema.NestedAttributeObject{Attributes: attributes}}
}
