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

// Terraform takes a planned map that is the configuration's or the state's, and refuses one that is made of both.
func TestAMapIsPlannedAsTheStateSpellsItWhileAllOfItMeansTheSame(t *testing.T) {
	t.Parallel()
	mapOf := func(elements map[string]string) types.Map {
		all := map[string]attr.Value{}
		for key, text := range elements {
			all[key] = types.StringValue(text)
			if text == "" {
				all[key] = types.StringUnknown()
			}
		}
		return types.MapValueMust(types.StringType, all)
	}
	state := mapOf(map[string]string{"a": "X", "b": "Z"})
	for name, c := range map[string]struct {
		planned types.Map
		kept    bool
	}{
		"the same":           {mapOf(map[string]string{"a": "x", "b": "z"}), true},
		"another element":    {mapOf(map[string]string{"a": "x", "b": "y"}), false},
		"one less":           {mapOf(map[string]string{"a": "x"}), false},
		"another key":        {mapOf(map[string]string{"a": "x", "c": "z"}), false},
		"an unknown element": {mapOf(map[string]string{"a": "x", "b": ""}), false},
		"not known":          {types.MapUnknown(types.StringType), false},
		"none":               {types.MapNull(types.StringType), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := planmodifier.MapResponse{PlanValue: c.planned}
			Each(Text.Same(strings.ToUpper)).KeepElements().PlanModifyMap(t.Context(), planmodifier.MapRequest{PlanValue: c.planned, StateValue: state}, &resp)
			want := c.planned
			if c.kept {
				want = state
			}
			if !resp.PlanValue.Equal(want) {
				t.Errorf("planned %s, want %s", resp.PlanValue, want)
			}
		})
	}
}
