package crud

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// speller is a plan modifier that keeps spellings (values.Kind.KeepSpelling, values.Collection.KeepSpelling).
type speller interface{ Canonical(text string) string }

// restoreSpelling returns a text of a state as before, the plan or the state until now, spells it: where its attribute keeps spellings
// in plans and both mean the same, as null and blank lines do. Anything else is returned as it is.
func restoreSpelling(of any, at *tftypes.AttributePath, v, before tftypes.Value) tftypes.Value {
	var got, was string
	if !v.Type().Is(tftypes.String) || !v.IsKnown() || v.As(&got) != nil {
		return v
	}
	found, _, err := tftypes.WalkAttributePath(before, at)
	old, ok := found.(tftypes.Value)
	if err != nil || !ok || old.IsNull() || !old.IsKnown() || old.As(&was) != nil || got == was {
		return v
	}
	if s := findSpeller(of, at); s != nil && s.Canonical(got) == s.Canonical(was) {
		return old
	}
	return v
}

// findSpeller finds what keeps the spellings of the attribute at a path, or of the list or map of texts that an element is in; nil for nothing.
func findSpeller(of any, at *tftypes.AttributePath) speller {
	found, _, err := tftypes.WalkAttributePath(of, at)
	if _, attribute := found.(schema.Attribute); err == nil && !attribute {
		found, _, err = tftypes.WalkAttributePath(of, at.WithoutLastStep())
	}
	if err != nil {
		return nil
	}
	switch a := found.(type) {
	case schema.StringAttribute:
		return findModifier(a.PlanModifiers)
	case schema.ListAttribute:
		return findModifier(a.PlanModifiers)
	case schema.MapAttribute:
		return findModifier(a.PlanModifiers)
	}
	return nil
}

func findModifier[M any](all []M) speller {
	for _, m := range all {
		if s, ok := any(m).(speller); ok {
			return s
		}
	}
	return nil
}
