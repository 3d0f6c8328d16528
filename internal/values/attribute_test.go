package values

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
)

func TestAttributesSayHowTheyAreSet(t *testing.T) {
	t.Parallel()
	each := Each(Word)
	for name, c := range map[string]struct {
		a                            schema.Attribute
		required, optional, computed bool
	}{
		"required text":                    {Word.Required("x"), true, false, false},
		"optional text":                    {Word.Optional("x"), false, true, false},
		"chosen text":                      {Word.OptionalComputed("x"), false, true, true},
		"text with a default":              {Word.Default("a", "x"), false, true, true},
		"required number":                  {Port().Required("x"), true, false, false},
		"optional number":                  {Port().Optional("x"), false, true, false},
		"number with a default":            {Port().Default(80, "x"), false, true, true},
		"optional flag":                    {Flag.Optional("x"), false, true, false},
		"chosen flag":                      {Flag.OptionalComputed("x"), false, true, true},
		"flag with a default":              {Flag.Default(true, "x"), false, true, true},
		"required list":                    {each.RequiredList("x"), true, false, false},
		"optional list":                    {each.OptionalList("x"), false, true, false},
		"chosen list":                      {each.OptionalComputedList("x"), false, true, true},
		"optional map":                     {each.OptionalMap("x"), false, true, false},
		"chosen map":                       {each.OptionalComputedMap("x"), false, true, true},
		"optional object":                  {OptionalObject("x", nil), false, true, false},
		"required list of objects":         {Objects().RequiredListOf("x", nil), true, false, false},
		"chosen list of objects":           {Objects().OptionalComputedListOf("x", nil), false, true, true},
		"required map of objects":          {Objects().RequiredMapOf("x", nil), true, false, false},
		"map of objects that is left open": {Objects().OptionalComputedMapOf("x", nil), false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.a.IsRequired() != c.required || c.a.IsOptional() != c.optional || c.a.IsComputed() != c.computed || c.a.GetMarkdownDescription() != "x" {
				t.Errorf("%+v", c.a)
			}
		})
	}
	if a := Address.Default("::1", "x", stringplanmodifier.RequiresReplace()); a.Default == nil || len(a.Validators) != 1 || len(a.PlanModifiers) != 1 {
		t.Errorf("%+v", a)
	}
	if got := Each(Each(Port())).OptionalMap("x").ElementType.String(); got != "types.ListType[basetypes.Int64Type]" {
		t.Error(got)
	}
}
