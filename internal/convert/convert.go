// Package convert is between the framework's values and plain ones: what is null, what is empty, and what is known, with one
// meaning everywhere.
package convert

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Known says that a value is there to be read: neither null nor unknown.
func Known(v attr.Value) bool { return !v.IsNull() && !v.IsUnknown() }

// Text is a text that is null where it is empty.
func Text(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}
