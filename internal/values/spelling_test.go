package values

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func texts(all ...string) (v []attr.Value) {
	for _, s := range all {
		v = append(v, types.StringValue(s))
	}
	return v
}

// sameWords compares words, in any order and case.
var sameWords = TextsSame(func(a, b []string) bool {
	words := func(all []string) []string {
		return slices.Sorted(slices.Values(strings.Fields(strings.ToUpper(strings.Join(all, " ")))))
	}
	return (a == nil) == (b == nil) && slices.Equal(words(a), words(b))
})

func TestAListIsKeptWhileItMeansTheSameAsAWhole(t *testing.T) {
	t.Parallel()
	list := func(all ...string) types.List { return types.ListValueMust(types.StringType, texts(all...)) }
	none, unknown := types.ListNull(types.StringType), types.ListUnknown(types.StringType)
	for name, c := range map[string]struct {
		own, read types.List
		kept      bool
	}{
		"the same":           {list("b", "a"), list("A b"), true},
		"another":            {list("b", "a"), list("a"), false},
		"none, and empty":    {none, list(), false},
		"empty, and none":    {list(), none, false},
		"not known":          {unknown, list("a"), false},
		"an unknown element": {types.ListValueMust(types.StringType, []attr.Value{types.StringUnknown()}), list(""), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := c.read
			if c.kept {
				want = c.own
			}
			if got := Keep(sameWords, c.own, c.read); !got.Equal(want) {
				t.Errorf("%s, want %s", got, want)
			}
			resp := planmodifier.ListResponse{PlanValue: c.read}
			sameWords.PlanModifyList(t.Context(), planmodifier.ListRequest{PlanValue: c.read, StateValue: c.own}, &resp)
			if !resp.PlanValue.Equal(want) {
				t.Errorf("planned %s, want %s", resp.PlanValue, want)
			}
		})
	}
}

func TestASetIsPlannedAsTheStateSpellsIt(t *testing.T) {
	t.Parallel()
	was := types.SetValueMust(types.StringType, texts("b", "a"))
	for name, c := range map[string]struct {
		planned types.Set
		kept    bool
	}{"the same": {types.SetValueMust(types.StringType, texts("A", "b")), true}, "another": {types.SetValueMust(types.StringType, texts("a")), false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := planmodifier.SetResponse{PlanValue: c.planned}
			sameWords.PlanModifySet(t.Context(), planmodifier.SetRequest{PlanValue: c.planned, StateValue: was}, &resp)
			if kept := resp.PlanValue.Equal(was); kept != c.kept {
				t.Errorf("planned %s", resp.PlanValue)
			}
		})
	}
}

func TestEachElementOfAMapIsPlannedAsTheStateSpellsIt(t *testing.T) {
	t.Parallel()
	planned := types.MapValueMust(types.StringType, map[string]attr.Value{"a": types.StringValue("x"), "b": types.StringValue("y"), "c": types.StringUnknown()})
	state := types.MapValueMust(types.StringType, map[string]attr.Value{"a": types.StringValue("X"), "b": types.StringValue("z"), "c": types.StringValue("c"), "d": types.StringValue("d")})
	resp := planmodifier.MapResponse{PlanValue: planned}
	Each(Text.Same(strings.ToUpper)).KeepElements().PlanModifyMap(t.Context(), planmodifier.MapRequest{PlanValue: planned, StateValue: state}, &resp)
	want := types.MapValueMust(types.StringType, map[string]attr.Value{"a": types.StringValue("X"), "b": types.StringValue("y"), "c": types.StringUnknown()})
	if !resp.PlanValue.Equal(want) {
		t.Errorf("planned %s, want %s", resp.PlanValue, want)
	}
}
