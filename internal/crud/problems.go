package crud

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// Validator is a spec that can be checked without asking any machine.
type Validator interface{ Validate() []service.Problem }

// Problems turns problems into diagnostics at their attributes. A problem whose attribute holds something
// unknown is dropped, as is one for which another attribute has to be known: they are checked again when all is known.
func Problems(ctx context.Context, plan tfsdk.Plan, problems []service.Problem) diag.Diagnostics {
	unknown := func(root string) bool { return !isKnownAt(plan, []any{root}) }
	return Diagnostics(slices.DeleteFunc(slices.Clone(problems), func(p service.Problem) bool {
		return !isKnownAt(plan, p.Path) || slices.ContainsFunc(p.Known, unknown)
	}))
}

// Diagnostics turns problems that are known to be some into diagnostics at their attributes.
func Diagnostics(problems []service.Problem) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, p := range problems {
		at := AttributePath(p.Path)
		switch {
		case p.Warning:
			diags.AddAttributeWarning(at, p.Summary, DetailAt(at, p.Detail))
		case len(p.Path) == 0:
			diags.AddError(p.Summary, p.Detail)
		default:
			diags.AddAttributeError(at, p.Summary, DetailAt(at, p.Detail))
		}
	}
	return diags
}

// NewUnseen says in a plan that the machine of what cannot be looked at, which is no error yet, as the machine may come to be in the same
// apply. One that is there and shows a host key that nobody knows is refused, as the apply would refuse it.
func NewUnseen(at path.Path, what string, err error) diag.Diagnostic {
	summary := "Cannot look at the host of " + what
	if fleet.ShowsUnknownKey(err) {
		return diag.NewAttributeErrorDiagnostic(at, summary, err.Error())
	}
	return diag.NewAttributeWarningDiagnostic(at, summary, err.Error())
}

// DetailAt says where in an attribute something is wrong: Terraform points at the whole of it.
func DetailAt(at path.Path, detail string) string { return values.DetailAt(at, detail) }

// listWarnings returns what a store has to say about a change that succeeded.
func listWarnings(store any) diag.Diagnostics {
	var diags diag.Diagnostics
	if w, ok := store.(Warner); ok {
		for _, p := range w.Warnings() {
			diags.AddAttributeWarning(AttributePath(p.Path), p.Summary, DetailAt(AttributePath(p.Path), p.Detail))
		}
	}
	return diags
}

// AttributePath turns a problem's path into the framework's: the first string is the root attribute,
// further strings are attributes, service.Key a map key, int a list index.
func AttributePath(steps []any) path.Path {
	p := path.Empty()
	for _, step := range steps {
		switch s := step.(type) {
		case service.Key:
			p = p.AtMapKey(string(s))
		case int:
			p = p.AtListIndex(s)
		default:
			p = p.AtName(fmt.Sprint(s))
		}
	}
	return p
}

// isKnownAt says whether the value at a problem's path, or the nearest value above it, is wholly known. What is below a value that is not known is
// not either.
func isKnownAt(plan tfsdk.Plan, steps []any) bool {
	at := plan.Raw
	for _, step := range steps {
		if !at.IsKnown() {
			return false
		}
		next, err := at.ApplyTerraform5AttributePathStep(pathStep(step))
		value, isValue := next.(tftypes.Value)
		if err != nil || !isValue {
			break
		}
		at = value
	}
	return at.IsFullyKnown()
}

// pathStep turns a step of a problem's path into one of Terraform's.
func pathStep(step any) tftypes.AttributePathStep {
	switch s := step.(type) {
	case service.Key:
		return tftypes.ElementKeyString(s)
	case int:
		return tftypes.ElementKeyInt(s)
	}
	return tftypes.AttributeName(fmt.Sprint(step))
}

// Diagnostic is an error as Terraform shows it: at its attribute, and saying where in it, where it belongs to one.
func Diagnostic(summary string, err error) diag.Diagnostic {
	if at, ok := errors.AsType[*service.AttributeError](err); ok {
		return diag.NewAttributeErrorDiagnostic(AttributePath(at.Path), summary, DetailAt(AttributePath(at.Path), err.Error()))
	}
	return diag.NewErrorDiagnostic(summary, err.Error())
}

// NewFailure returns a diagnostic in the provider's form: `Cannot update HAProxy backend "api"`, then the error.
func NewFailure(verb, what string, err error) diag.Diagnostic {
	return Diagnostic(fmt.Sprintf("Cannot %s %s", verb, what), err)
}
