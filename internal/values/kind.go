// Package values holds what attributes hold: kinds of text, whole numbers with their bounds, lists and maps with what may be in
// them, and which spellings are the same. Every attribute that a configuration sets has one of them, so that a null element, an
// empty name or a number that overflows is refused at plan, at its place, in every resource.
package values

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Rule is what an attribute, or an element of a collection, has to be. All rules of this package are validators of the framework.
type Rule interface {
	// Check returns what is wrong with a value; what is unknown is not wrong.
	Check(at path.Path, v attr.Value) diag.Diagnostics
}

// Kind is a kind of text. It refuses the empty text, which is no way to leave an attribute out.
type Kind struct {
	noun, example string
	wrong         func(string) error
	same          func(string) string
	empty, zero   bool
}

// New makes a kind of its own: noun and example are for messages ("address", "10.0.0.1"), and wrong says what is wrong with a text;
// nil is nothing.
func New(noun, example string, wrong func(string) error) Kind {
	return Kind{noun: noun, example: example, wrong: wrong}
}

// Same adds which spellings mean the same: those of which same returns the same.
func (k Kind) Same(same func(string) string) Kind {
	k.same = same
	return k
}

// OrEmpty takes the empty text too. It means the same as none, and stays in the state as it is written.
func (k Kind) OrEmpty() Kind {
	k.empty = true
	return k
}

// TakesEmpty says whether it does.
func (k Kind) TakesEmpty() bool { return k.empty }

// OrZero says of a time that none at all has a meaning of its own.
func (k Kind) OrZero() Kind {
	k.zero = true
	return k
}

// TakesZero says whether it has.
func (k Kind) TakesZero() bool { return k.zero }

// Canonical is the one spelling of all that mean the same.
func (k Kind) Canonical(text string) string {
	if k.same == nil {
		return text
	}
	return k.same(text)
}

// Check implements Rule.
func (k Kind) Check(at path.Path, v attr.Value) diag.Diagnostics {
	var diags diag.Diagnostics
	text, ok := v.(types.String)
	if !ok || text.IsNull() || text.IsUnknown() || k.empty && text.ValueString() == "" {
		return nil
	}
	if text.ValueString() == "" {
		diags.AddAttributeError(at, "Empty text", DetailAt(at, fmt.Sprintf("write %s, or leave it out (null); an empty text is neither", k.describeKind())))
		return diags
	}
	if k.wrong == nil {
		return nil
	}
	if err := k.wrong(text.ValueString()); err != nil {
		diags.AddAttributeError(at, "Invalid "+k.noun, DetailAt(at, err.Error()))
	}
	return diags
}

func (k Kind) describeKind() string {
	if k.example == "" {
		return withArticle(k.noun)
	}
	return fmt.Sprintf("%s such as %q", withArticle(k.noun), k.example)
}

func withArticle(noun string) string {
	for _, vowel := range "aeioAEIO" {
		if []rune(noun)[0] == vowel {
			return "an " + noun
		}
	}
	return "a " + noun
}

// Description implements validator.Describer.
func (k Kind) Description(context.Context) string { return k.describeKind() }

// MarkdownDescription implements validator.Describer.
func (k Kind) MarkdownDescription(context.Context) string { return k.describeKind() }

// ValidateString implements validator.String.
func (k Kind) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	resp.Diagnostics.Append(k.Check(req.Path, req.ConfigValue)...)
}

// DetailAt says where in an attribute something is wrong: Terraform points at the whole of it. An element of a set has no place
// other than its own value, which the detail says where it is one to be said, so what stands there is the set.
func DetailAt(at path.Path, detail string) string {
	if len(at.Steps()) < 2 {
		return detail
	}
	place := at
	for up := at; len(up.Steps()) > 0; up = up.ParentPath() {
		if _, element := up.Steps()[len(up.Steps())-1].(path.PathStepElementKeyValue); element {
			place = up.ParentPath()
		}
	}
	return place.String() + ": " + detail
}

// Undescribed is embedded in plan modifiers and validators: nobody is shown what these say of themselves.
type Undescribed struct{}

// Description implements planmodifier.Describer and validator.Describer.
func (Undescribed) Description(context.Context) string { return "" }

// MarkdownDescription implements planmodifier.Describer and validator.Describer.
func (Undescribed) MarkdownDescription(context.Context) string { return "" }

// KeepSpelling plans the spelling that the state has while it means the same as the configuration's.
func (k Kind) KeepSpelling() planmodifier.String { return keepSpelling{k} }

type keepSpelling struct{ Kind }

// PlanModifyString implements planmodifier.String.
func (k keepSpelling) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if req.ConfigValue.IsNull() || req.PlanValue.IsUnknown() || req.StateValue.IsNull() || req.PlanValue.Equal(req.StateValue) {
		return
	}
	if k.Canonical(req.PlanValue.ValueString()) == k.Canonical(req.StateValue.ValueString()) {
		resp.PlanValue = req.StateValue
	}
}

// KeepElements plans a map of texts as the state spells it, while all of it means the same as the configuration's: Terraform takes a planned map
// that is one of the two, and none that is made of both.
func (c Collection) KeepElements() planmodifier.Map { return keepElements{keepSpellings{c}} }

type keepElements struct{ keepSpellings }

// PlanModifyMap implements planmodifier.Map.
func (k keepElements) PlanModifyMap(_ context.Context, req planmodifier.MapRequest, resp *planmodifier.MapResponse) {
	planned, had := req.PlanValue.Elements(), req.StateValue.Elements()
	if req.PlanValue.IsNull() || req.PlanValue.IsUnknown() || len(planned) != len(had) || len(had) == 0 {
		return
	}
	for key, v := range had {
		text, isText := planned[key].(types.String)
		state, isToo := v.(types.String)
		if !isText || !isToo || text.IsUnknown() || k.Canonical(text.ValueString()) != k.Canonical(state.ValueString()) {
			return
		}
	}
	resp.PlanValue = req.StateValue
}

// Texts says which lists, or sets, of texts mean the same as a whole, and not element by element. As a plan modifier it plans what the state
// has while that means the same as the configuration's.
type Texts struct {
	Undescribed
	same func(a, b []string) bool
}

// TextsSame makes one of a function that compares the texts of two: none at all are nil.
func TextsSame(same func(a, b []string) bool) Texts { return Texts{same: same} }

// Keep returns one of two lists or sets: the own one where it is there, is known and means the same as what was read back.
func Keep[V attr.Value](t Texts, own, read V) V {
	a, areKnown := listTexts(own)
	b, areToo := listTexts(read)
	if areKnown && areToo && !own.IsNull() && t.same(a, b) {
		return own
	}
	return read
}

// listTexts returns the elements of a list or a set of texts; known is false where one of them, or all, are not.
func listTexts(v attr.Value) (texts []string, known bool) {
	of, ok := v.(interface{ Elements() []attr.Value })
	if !ok || v.IsUnknown() {
		return nil, false
	}
	if v.IsNull() {
		return nil, true
	}
	texts = []string{}
	for _, e := range of.Elements() {
		text, isText := e.(types.String)
		if !isText || text.IsUnknown() {
			return nil, false
		}
		texts = append(texts, text.ValueString())
	}
	return texts, true
}

// PlanModifyList implements planmodifier.List.
func (t Texts) PlanModifyList(_ context.Context, req planmodifier.ListRequest, resp *planmodifier.ListResponse) {
	resp.PlanValue = Keep(t, req.StateValue, req.PlanValue)
}

// PlanModifySet implements planmodifier.Set.
func (t Texts) PlanModifySet(_ context.Context, req planmodifier.SetRequest, resp *planmodifier.SetResponse) {
	resp.PlanValue = Keep(t, req.StateValue, req.PlanValue)
}
