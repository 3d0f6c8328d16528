package haproxyattr

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// OneLine gives a text with single blanks between its words.
func OneLine(v types.String) string { return haproxy.OneLine(v.ValueString()) }

// Number is a number that is null where it is 0.
func Number(n int64) types.Int64 {
	if n == 0 {
		return types.Int64Null()
	}
	return types.Int64Value(n)
}

// OptionSet are the options of a section, as they are spelled in own; none is null.
func OptionSet(own types.Set, options []string) types.Set {
	if len(options) == 0 {
		return types.SetNull(types.StringType)
	}
	return values.Keep(SectionOptions, own, types.SetValueMust(types.StringType, convert.Elements(options)))
}

// JoinLines is a text of several lines, as a heredoc ends; none is null.
func JoinLines(lines []string) types.String {
	if len(lines) > 1 {
		return types.StringValue(strings.Join(lines, "\n") + "\n")
	}
	return convert.Text(strings.Join(lines, ""))
}

// Object reads an object that is there and known.
func Object[T any](ctx context.Context, v types.Object, into *T, diags *diag.Diagnostics) bool {
	if !convert.Known(v) {
		return false
	}
	diags.Append(v.As(ctx, into, basetypes.ObjectAsOptions{})...)
	return !diags.HasError()
}
