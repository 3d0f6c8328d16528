package haproxy

import (
	"slices"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
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

func TestTheBaseGivesWhatServersAreVerifiedBy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base Base
		want []string
	}{
		"nothing":           {Base{Extra: []string{"maxconn 5"}, DefaultsExtra: []string{"default_backend x"}}, nil},
		"no verification":   {Base{Extra: []string{"ssl-server-verify  none"}}, []string{VerifiesNothing}},
		"a server's values": {Base{DefaultsExtra: []string{"default-server ca-file /ca.pem"}}, []string{DefaultServer}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := valuesOf(c.base.Uses(), plan.Setting); !slices.Equal(got, c.want) {
				t.Errorf("it gives %q", got)
			}
		})
	}
}

func TestADefaultServerIsFoundInDefaultsOnly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"defaults\n mode tcp\n default-server ca-file /ca.pem\n":    true,
		"defaults\n mode tcp\n\nbackend b\n default-server check\n": false,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			tree := transaction.Tree{}
			tree.Put(ConfigPath, []byte(text), 0o644, "", "")
			if got := HasDefaultServer(tree); got != want {
				t.Errorf("found: %v", got)
			}
		})
	}
}
