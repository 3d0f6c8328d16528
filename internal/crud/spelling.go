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
	old, there := valueAt(before, at)
	if !there || old.IsNull() || !old.IsKnown() || old.As(&was) != nil || got == was {
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
	a, attribute := found.(schema.Attribute)
	if err != nil || !attribute {
		return nil
	}
	for _, m := range listModifiers(a) {
		if s, ok := m.(speller); ok {
			return s
		}
	}
	return nil
}

// keepUnchanged returns a plan as the state has it where nothing changes: the framework takes what is computed for unknown as soon as an attribute
// is spelled otherwise, before what keeps spellings has its say. What the configuration itself does not know yet stays unknown.
func keepUnchanged(config, state, planned tftypes.Value) tftypes.Value {
	if state.IsNull() || planned.IsFullyKnown() {
		return planned
	}
	kept, err := tftypes.Transform(planned, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if v.IsKnown() {
			return v, nil
		}
		if written, there := valueAt(config, at); there && !written.IsNull() {
			return v, nil
		}
		if was, there := valueAt(state, at); there {
			return was, nil
		}
		return v, nil
	})
	if err != nil || !kept.Equal(state) {
		return planned
	}
	return kept
}

// valueAt finds the value at a path of another one; false where there is none.
func valueAt(in tftypes.Value, at *tftypes.AttributePath) (tftypes.Value, bool) {
	found, _, err := tftypes.WalkAttributePath(in, at)
	v, ok := found.(tftypes.Value)
	return v, err == nil && ok
}
