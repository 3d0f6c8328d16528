package node

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// duration accepts what time.ParseDuration does, from zero up.
type duration struct{}

func (duration) Description(context.Context) string               { return "a duration such as \"30s\" or \"2m\"" }
func (d duration) MarkdownDescription(ctx context.Context) string { return d.Description(ctx) }

func (duration) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if d, err := time.ParseDuration(req.ConfigValue.ValueString()); err != nil || d < 0 {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid duration", "write a duration such as \"30s\" or \"2m\", not \""+req.ConfigValue.ValueString()+"\"")
	}
}

// given accepts any text but an empty one, which would be neither a value nor its absence: what is read back is null.
type given struct{}

func (given) Description(context.Context) string               { return "not an empty text" }
func (g given) MarkdownDescription(ctx context.Context) string { return g.Description(ctx) }

func (given) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() || req.ConfigValue.ValueString() != "" {
		return
	}
	resp.Diagnostics.AddAttributeError(req.Path, "Empty text", req.Path.String()+`: write a value, or leave the attribute out (null), not ""`)
}
