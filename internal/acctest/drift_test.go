package acctest

import (
	"slices"
	"testing"
)

func TestChangesAreNamedByTheirPaths(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	for name, test := range map[string]struct {
		before, after any
		want          []string
	}{
		"nothing":             {object{"a": "1"}, object{"a": "1"}, nil},
		"below":               {object{"a": object{"b": "1", "c": "1"}}, object{"a": object{"b": "2", "c": "1"}}, []string{"a.b"}},
		"an object that goes": {object{"a": object{"b": "1"}}, object{"a": nil}, []string{"a"}},
		"a key that comes":    {object{"a": object{}}, object{"a": object{"b": "1"}}, []string{"a.b"}},
		"a list":              {object{"a": []any{"1"}}, object{"a": []any{"1", "2"}}, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := listChanges("", test.before, test.after); !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
