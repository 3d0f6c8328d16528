package haproxy

import (
	"slices"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

func valuesOf(uses []plan.Use, kind plan.Kind) (all []string) {
	for _, u := range uses {
		if u.Kind == kind {
			all = append(all, u.Value)
		}
	}
	return all
}

func TestOnlyWrittenModesAreCompared(t *testing.T) {
	t.Parallel()
	for mode, leads := range map[string][]string{"http": {"b", "a"}, "tcp": nil, "": nil} {
		t.Run("a frontend in mode "+mode, func(t *testing.T) {
			t.Parallel()
			f := Frontend{Name: "f", Mode: mode, DefaultBackend: "a", Rules: []Rule{{Backend: "b"}, {Backend: "a"}, {}}}
			if got := valuesOf(f.Uses(), plan.LeadsToHTTP); !slices.Equal(got, leads) {
				t.Errorf("leads to %q", got)
			}
		})
	}
	for mode, tcp := range map[string][]string{"http": nil, "tcp": {"b"}, "": nil} {
		t.Run("a backend in mode "+mode, func(t *testing.T) {
			t.Parallel()
			if got := valuesOf(Backend{Name: "b", Mode: mode}.Uses(), plan.TCPBackend); !slices.Equal(got, tcp) {
				t.Errorf("is %q in mode tcp", got)
			}
		})
	}
}
