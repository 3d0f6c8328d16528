// Package largemap passes maps of thousands of values (the records of a zone, the pointers of a reverse zone) through the
// plugin framework as one text. The framework walks every single value of a resource a dozen times a call, which takes
// seconds where there are ten thousand; one text costs it nothing. Terraform never sees the text: Server puts it in on the
// way to the framework and takes it out again on the way back, in the schema too.
//
// The package can go when the framework handles such maps by itself in time that grows with their number only:
// https://github.com/hashicorp/terraform-plugin-framework/issues/775.
package largemap

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Unknown stands for what is not known yet in the place of a string, a list or a map.
type Unknown struct{}

// Value is a packed attribute. The zero value is null.
type Value struct{ basetypes.StringValue }

// Pack makes a value of map[string]any, []any, string, Unknown and nil, which is null. It panics at anything else.
func Pack(content any) Value {
	switch content.(type) {
	case nil:
		return Value{basetypes.NewStringNull()}
	case Unknown:
		return Value{basetypes.NewStringUnknown()}
	}
	text, err := toText(content)
	if err != nil {
		panic(err)
	}
	return Value{basetypes.NewStringValue(text)}
}

// Content is what Pack was given. A text that Pack did not make is nil, like null.
func (v Value) Content() any {
	switch {
	case v.IsUnknown():
		return Unknown{}
	case v.IsNull():
		return nil
	}
	content, err := fromText([]byte(v.ValueString()))
	if err != nil {
		return nil
	}
	return content
}

// KnownAt says whether what is below the steps (map keys as anything that prints as its key, list indices as int), or
// the nearest value above it, is wholly known.
func (v Value) KnownAt(steps ...any) bool {
	at := v.Content()
	for _, step := range steps {
		switch inner := at.(type) {
		case map[string]any:
			if e, ok := inner[fmt.Sprint(step)]; ok {
				at = e
				continue
			}
		case []any:
			if i, ok := step.(int); ok && i >= 0 && i < len(inner) {
				at = inner[i]
				continue
			}
		}
		break
	}
	return isKnown(at)
}

func isKnown(content any) bool {
	switch c := content.(type) {
	case Unknown:
		return false
	case map[string]any:
		for _, e := range c {
			if !isKnown(e) {
				return false
			}
		}
	case []any:
		for _, e := range c {
			if !isKnown(e) {
				return false
			}
		}
	}
	return true
}

// Equal implements attr.Value.
func (v Value) Equal(o attr.Value) bool {
	other, ok := o.(Value)
	return ok && v.StringValue.Equal(other.StringValue)
}

// Type implements attr.Value.
func (v Value) Type(context.Context) attr.Type { return Type{} }

// Type is a Value's type in the framework.
type Type struct{ basetypes.StringType }

// Equal implements attr.Type.
func (t Type) Equal(o attr.Type) bool { _, ok := o.(Type); return ok }

// String implements attr.Type.
func (t Type) String() string { return "largemap.Type" }

// ValueType implements attr.Type.
func (t Type) ValueType(context.Context) attr.Value { return Value{} }

// EmptyText is what a map without anything in it is packed as.
func (t Type) EmptyText() string { return Pack(map[string]any{}).ValueString() }

// ValueFromString implements basetypes.StringTypable.
func (t Type) ValueFromString(_ context.Context, in basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return Value{in}, nil
}

// ValueFromTerraform implements attr.Type.
func (t Type) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	v, err := t.StringType.ValueFromTerraform(ctx, in)
	if err != nil {
		return nil, err
	}
	s, ok := v.(basetypes.StringValue)
	if !ok {
		return nil, fmt.Errorf("a packed attribute is %T", v)
	}
	return Value{s}, nil
}

// Attribute is an optional packed attribute.
func Attribute(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, CustomType: Type{}, MarkdownDescription: description, Validators: []validator.String{NoNulls{}}}
}

// toText writes JSON with the keys in order, so that equal content is equal text. Unknown is false, which stands for
// nothing else.
func toText(content any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(content); err != nil {
		return "", fmt.Errorf("pack: %w", err)
	}
	return string(bytes.TrimSpace(b.Bytes())), nil
}

// MarshalJSON implements json.Marshaler.
func (Unknown) MarshalJSON() ([]byte, error) { return []byte("false"), nil }

func fromText(text []byte) (any, error) {
	var content any
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return restoreUnknown(content)
}

// restoreUnknown turns what JSON made of Unknown back.
func restoreUnknown(content any) (any, error) {
	var err error
	switch c := content.(type) {
	case nil, string:
	case bool:
		if c {
			return nil, fmt.Errorf("unpack: only strings are packed, not %v", c)
		}
		return Unknown{}, nil
	case map[string]any:
		for k, e := range c {
			if c[k], err = restoreUnknown(e); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, e := range c {
			if c[i], err = restoreUnknown(e); err != nil {
				return nil, err
			}
		}
	default:
		return nil, fmt.Errorf("unpack: only strings are packed, not %v", c)
	}
	return content, nil
}
