package values

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Form is what an attribute that no type of Terraform's describes has to be, such as a word or a list.
type Form struct {
	noun  string
	wrong func(types.Dynamic) diag.Diagnostics
}

// NewForm makes a form: noun is for messages, and wrong says what is wrong with a value that is there, at its place.
func NewForm(noun string, wrong func(types.Dynamic) diag.Diagnostics) Form {
	return Form{noun, wrong}
}

// Check implements Rule.
func (f Form) Check(_ path.Path, v attr.Value) diag.Diagnostics {
	d, ok := v.(types.Dynamic)
	if !ok || d.IsNull() || d.IsUnknown() {
		return nil
	}
	return f.wrong(d)
}

// Description implements validator.Describer.
func (f Form) Description(context.Context) string { return f.noun }

// MarkdownDescription implements validator.Describer.
func (f Form) MarkdownDescription(context.Context) string { return f.noun }

// ValidateDynamic implements validator.Dynamic.
func (f Form) ValidateDynamic(_ context.Context, req validator.DynamicRequest, resp *validator.DynamicResponse) {
	resp.Diagnostics.Append(f.Check(req.Path, req.ConfigValue)...)
}
