package largemap

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// NoNulls refuses elements that are null or empty texts, and maps in the map without anything in them: none could be read back.
type NoNulls struct{}

// Description implements validator.Describer.
func (NoNulls) Description(context.Context) string { return "elements that are not null" }

// MarkdownDescription implements validator.Describer.
func (n NoNulls) MarkdownDescription(ctx context.Context) string { return n.Description(ctx) }

// ValidateString implements validator.String.
func (NoNulls) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	content, _ := Value{req.ConfigValue}.Content().(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(content)) {
		at := req.Path.AtMapKey(key)
		if key == "" {
			resp.Diagnostics.AddAttributeError(at, "Empty name", at.String()+": write a name for a key, not an empty text")
		}
		if content[key] == "" {
			resp.Diagnostics.AddAttributeError(at, "Empty text", at.String()+": write a value, or leave the element out")
		}
		if inner, ok := content[key].(map[string]any); ok && len(inner) == 0 {
			resp.Diagnostics.AddAttributeError(at, "Nothing in it", at.String()+": write at least one element, or leave it out")
		}
		noNulls(at, content[key], &resp.Diagnostics)
	}
}

func noNulls(at path.Path, v any, diags *diag.Diagnostics) {
	switch v := v.(type) {
	case nil:
		diags.AddAttributeError(at, "Null element", at.String()+": an element must not be null: write a value, or leave the element out")
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			noNulls(at.AtMapKey(key), v[key], diags)
		}
	case []any:
		for i, e := range v {
			noNulls(at.AtListIndex(i), e, diags)
		}
	}
}
