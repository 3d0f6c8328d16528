// Package haproxyattr holds the attributes that the HAProxy types have in common: how they look in a schema, and
// their conversion between Terraform and plain values.
package haproxyattr

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// Name is the name of a section.
func Name(kind string) schema.StringAttribute {
	return values.Word.Required("Name of the "+kind+" in HAProxy's configuration: letters, digits, `-`, `_`, `.` and `:`. Another one replaces the resource; "+
		"`create_before_destroy` lets what names it follow.", stringplanmodifier.RequiresReplace())
}

// Options is an attribute of option names.
func Options(example string) schema.SetAttribute {
	return schema.SetAttribute{
		Optional:    true,
		ElementType: types.StringType,
		Validators:  []validator.Set{values.Each(values.Line)},
		MarkdownDescription: "HAProxy options without the word `option`, such as " + example + "; `no ` before one switches it off. " +
			"Default: none beyond those of the defaults section.",
		PlanModifiers: []planmodifier.Set{SectionOptions},
	}
}

// Extra is an attribute of further lines of a section.
func Extra(section string) schema.StringAttribute {
	return Lines.Optional("Further lines of the "+section+" section, in HAProxy's language, checked by HAProxy like all others. Lines that an attribute can say "+
		"are refused with the attribute's name. Comments and indentation are not kept. Default: none.", Lines.KeepSpelling())
}

// Kinds of text, each with the spellings of HAProxy's language that mean the same.
var (
	// Duration is a time in HAProxy's spelling, to which 0 means that there is no limit: "60s" is "1m".
	Duration = values.New("time", "10s", haproxy.CheckDuration).OrZero().Same(canonicalTime)
	// Words are a line: blanks between its words make no difference.
	Words = values.Line.Same(haproxy.OneLine)
	// Lines are those of a section, without their indentation.
	Lines = values.Free.Same(func(text string) string { return strings.Join(haproxy.Lines(text), "\n") })
)

func canonicalTime(text string) string {
	if d, ok := haproxy.Duration(text); ok {
		return d.String()
	}
	return text
}

var (
	// LineOptions is a list of options of one line: it makes no difference which of its words stand together.
	LineOptions = values.TextsSame(func(a, b []string) bool { return JoinWords(a) == JoinWords(b) })
	// SectionOptions are a set of options.
	SectionOptions = values.TextsSame(func(a, b []string) bool { return slices.Equal(SortWords(a), SortWords(b)) })
)

// JoinWords returns options as the words of one line.
func JoinWords(options []string) string { return haproxy.OneLine(strings.Join(options, " ")) }

// SortWords returns options, each in one spelling, in their order and each once.
func SortWords(options []string) []string {
	sorted := make([]string, 0, len(options))
	for _, o := range options {
		sorted = append(sorted, haproxy.OneLine(o))
	}
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// Time is an optional attribute with a time.
func Time(description string) schema.StringAttribute {
	return Duration.Optional(description, Duration.KeepSpelling())
}

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
