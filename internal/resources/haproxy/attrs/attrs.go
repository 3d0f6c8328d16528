// Package attrs holds the attributes that the HAProxy types have in common: how they look in a schema, and
// their conversion between Terraform and plain values.
package attrs

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// Name is the name of a section.
func Name(kind string) schema.StringAttribute {
	return schema.StringAttribute{
		Required: true, Validators: []validator.String{values.Word},
		MarkdownDescription: "Name of the " + kind + " in HAProxy's configuration: letters, digits, `-`, `_`, `.` and `:`. Another one replaces the resource; " +
			"`create_before_destroy` lets what names it follow.",
		PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
	}
}

// Options is an attribute of option names.
func Options(example string) schema.SetAttribute {
	return schema.SetAttribute{
		Optional:    true,
		ElementType: types.StringType,
		Validators:  []validator.Set{values.Each(values.Line)},
		MarkdownDescription: "HAProxy options without the word `option`, such as " + example + "; `no ` before one switches it off. " +
			"Default: none beyond those of the defaults section.",
		PlanModifiers: []planmodifier.Set{sameWords{}},
	}
}

// Extra is an attribute of further lines of a section.
func Extra(section string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true, Validators: []validator.String{values.Free},
		MarkdownDescription: "Further lines of the " + section + " section, in HAProxy's language, checked by HAProxy like all others. Lines that an attribute can say " +
			"are refused with the attribute's name. Comments and indentation are not kept. Default: none.",
		PlanModifiers: []planmodifier.String{SameLines()},
	}
}

// SameMeaning keeps the spelling in state while the configuration's has the same meaning, so that two
// spellings never make a diff.
func SameMeaning(normal func(string) string) planmodifier.String { return sameMeaning{normal} }

type sameMeaning struct{ normal func(string) string }

func (sameMeaning) Description(context.Context) string {
	return "Two spellings of one value are no change."
}

func (m sameMeaning) MarkdownDescription(ctx context.Context) string { return m.Description(ctx) }

func (m sameMeaning) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if req.ConfigValue.IsNull() || req.PlanValue.IsUnknown() || req.StateValue.IsNull() {
		return
	}
	if m.normal(req.PlanValue.ValueString()) == m.normal(req.StateValue.ValueString()) {
		resp.PlanValue = req.StateValue
	}
}

// SameTime is SameMeaning for times: "60s" is "1m".
func SameTime() planmodifier.String {
	return SameMeaning(func(s string) string {
		if d, ok := haproxy.Duration(s); ok {
			return d.String()
		}
		return s
	})
}

// SameWords is SameMeaning for lines: blanks between words make no difference.
func SameWords() planmodifier.String {
	return SameMeaning(haproxy.OneLine)
}

// SameAddress is SameMeaning for addresses.
func SameAddress() planmodifier.String { return SameMeaning(haproxy.CanonicalBindAddress) }

// Duration is a time in HAProxy's spelling, to which 0 means that there is no limit.
var Duration = values.New("time", "10s", haproxy.CheckDuration).OrZero()

// Time is an optional attribute with a time.
func Time(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional:            true,
		Validators:          []validator.String{Duration},
		MarkdownDescription: description,
		PlanModifiers:       []planmodifier.String{SameTime()},
	}
}

// sameWords keeps the spelling in state of options while their words are the same.
type sameWords struct{}

// SameWordList is SameWords for a list of options of one line.
func SameWordList() planmodifier.List { return sameWords{} }

func (sameWords) Description(context.Context) string { return "Blanks between words are no change." }

func (m sameWords) MarkdownDescription(ctx context.Context) string { return m.Description(ctx) }

func (sameWords) PlanModifySet(_ context.Context, req planmodifier.SetRequest, resp *planmodifier.SetResponse) {
	if len(req.StateValue.Elements()) > 0 && allKnown(req.PlanValue.Elements()) && slices.Equal(Set(req.PlanValue), Set(req.StateValue)) {
		resp.PlanValue = req.StateValue
	}
}

func (sameWords) PlanModifyList(_ context.Context, req planmodifier.ListRequest, resp *planmodifier.ListResponse) {
	if len(req.StateValue.Elements()) > 0 && allKnown(req.PlanValue.Elements()) && strings.Join(Strings(req.PlanValue), " ") == strings.Join(Strings(req.StateValue), " ") {
		resp.PlanValue = req.StateValue
	}
}

func allKnown(elements []attr.Value) bool {
	return !slices.ContainsFunc(elements, func(v attr.Value) bool { return !convert.Known(v) })
}

// SameLines is SameMeaning for texts of several lines.
func SameLines() planmodifier.String {
	return SameMeaning(func(s string) string { return strings.Join(haproxy.Lines(s), "\n") })
}
