package acctest

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// Drift is what a person changes of a resource's object, and where a plan has to show it: the paths of attributes, such as "dhcp.pool", with spaces between.
type Drift struct {
	Name, Shows string
	Change      func()
}

// MendsDrift wants each change to show on its attributes, and on no others but those of the changes before it, and one apply to mend all of them.
func (s *State) MendsDrift(address string, drifts ...Drift) {
	s.t.Helper()
	shown := map[string]bool{}
	for _, d := range drifts {
		d.Change()
		for path := range strings.FieldsSeq(d.Shows) {
			shown[path] = true
		}
		if want, got := slices.Sorted(maps.Keys(shown)), s.planChanges(address); !slices.Equal(got, want) {
			s.t.Errorf("%s: the plan shows %q of %s, and not %q", d.Name, got, address, want)
		}
	}
	s.Run("apply", "-auto-approve")
	s.Settled()
}

// planChanges returns the paths of the attributes of a resource that a plan changes, and "made" for one that it makes.
func (s *State) planChanges(address string) []string {
	s.t.Helper()
	s.Run("plan", "-out=drift.plan")
	var plan struct {
		Changes []struct {
			Address string
			Change  struct{ Before, After any }
		} `json:"resource_changes"`
	}
	out := s.Run("show", "-json", filepath.Join(s.Dir, "drift.plan"))
	if at := strings.Index(out, "{"); at < 0 || json.Unmarshal([]byte(out[at:]), &plan) != nil {
		s.t.Fatalf("not a plan: %s", out)
	}
	for _, c := range plan.Changes {
		switch {
		case c.Address != address:
		case c.Change.Before == nil:
			return []string{"made"}
		default:
			return listChanges("", c.Change.Before, c.Change.After)
		}
	}
	s.t.Fatalf("the plan has no %s: %s", address, out)
	return nil
}

// listChanges returns the paths at which two values differ, down to what is no object.
func listChanges(path string, before, after any) (all []string) {
	was, isObject := before.(map[string]any)
	is, staysOne := after.(map[string]any)
	if !isObject || !staysOne {
		if !reflect.DeepEqual(before, after) {
			all = append(all, path)
		}
		return all
	}
	for _, name := range slices.Sorted(maps.Keys(joinKeys(was, is))) {
		all = append(all, listChanges(strings.TrimPrefix(path+"."+name, "."), was[name], is[name])...)
	}
	return all
}

// joinKeys returns a map that has the keys of both.
func joinKeys(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
