package attrs

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
)

// The functions come in pairs. The reader turns a Terraform value into a plain one, unknown into zero. The
// writer turns what was read back into a Terraform value and keeps the one that is there where the meaning
// is the same.

// Words gives a text with single blanks between its words.
func Words(v types.String) string { return haproxy.OneLine(v.ValueString()) }

// KeepText writes a text; empty is null.
func KeepText(now types.String, was, got string) types.String {
	if was == got && !now.IsUnknown() {
		return now
	}
	if got == "" {
		return types.StringNull()
	}
	return types.StringValue(got)
}

// KeepTime writes a time.
func KeepTime(now types.String, got string) types.String {
	was := now.ValueString()
	a, okA := haproxy.Duration(was)
	b, okB := haproxy.Duration(got)
	if okA && okB && a == b {
		return now
	}
	return KeepText(now, was, got)
}

// KeepNumber writes a number; 0 is null.
func KeepNumber(now types.Int64, got int64) types.Int64 {
	if now.ValueInt64() == got && !now.IsUnknown() {
		return now
	}
	if got == 0 {
		return types.Int64Null()
	}
	return types.Int64Value(got)
}

// Strings gives the known elements of a collection of texts, with single blanks each.
func Strings(v interface{ Elements() []attr.Value }) []string {
	texts := convert.KnownTexts(v)
	for i, s := range texts {
		texts[i] = haproxy.OneLine(s)
	}
	return texts
}

// Set gives the elements of a set, sorted.
func Set(v types.Set) []string {
	out := Strings(v)
	slices.Sort(out)
	return slices.Compact(out)
}

// KeepSet writes a set; none is null.
func KeepSet(now types.Set, got []string) types.Set {
	if slices.Equal(Set(now), got) && !now.IsUnknown() && !now.IsNull() {
		return now
	}
	if len(got) == 0 {
		return types.SetNull(types.StringType)
	}
	return types.SetValueMust(types.StringType, convert.Elements(got))
}

// KeepList writes options of a line as a list: grouped as they are now where the words are the same.
func KeepList(now types.List, words string, grouped []string) types.List {
	if strings.Join(Strings(now), " ") == words && !now.IsUnknown() && !now.IsNull() {
		return now
	}
	if len(grouped) == 0 {
		return types.ListNull(types.StringType)
	}
	return types.ListValueMust(types.StringType, convert.Elements(grouped))
}

// KeepLines writes a text of several lines.
func KeepLines(now types.String, got []string) types.String {
	if slices.Equal(haproxy.Lines(now.ValueString()), got) && !now.IsUnknown() {
		return now
	}
	switch len(got) {
	case 0:
		return types.StringNull()
	case 1:
		return types.StringValue(got[0])
	}
	return types.StringValue(strings.Join(got, "\n") + "\n") // as a heredoc ends
}

// Object reads an object that is there and known.
func Object[T any](ctx context.Context, v types.Object, into *T, diags *diag.Diagnostics) bool {
	if !convert.Known(v) {
		return false
	}
	diags.Append(v.As(ctx, into, basetypes.ObjectAsOptions{})...)
	return !diags.HasError()
}
