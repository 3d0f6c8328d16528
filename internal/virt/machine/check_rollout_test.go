package machine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan/ledger"
)

// member returns a machine of group "g" as its hypervisor has it.
func member(name, workspace string, limit int64) *Machine {
	m := &Machine{Name: name}
	m.Mark.Workspace, m.Mark.Settings = workspace, &Settings{Rollout: &Rollout{Group: "g", MaxUnavailable: limit}}
	return m
}

func TestALimitLeavesSomebodyToServe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit          int64
		planned, there []string
		problem        string
	}{
		"a group of one":                    {2, []string{"a"}, nil, ""},
		"a new group":                       {2, []string{"a", "b", "c"}, nil, ""},
		"a new group, all of it":            {3, []string{"a", "b", "c"}, nil, `group "g" has 3 nodes with this one`},
		"a group that is there, all of it":  {3, []string{"a"}, []string{"b", "c"}, "write at most 2"},
		"a group that is there and planned": {3, []string{"a", "b", "c"}, []string{"b", "c"}, "write at most 2"},
		"a group that grows":                {3, []string{"a", "d"}, []string{"b", "c"}, ""},
		"more than are planned at one time": {11, []string{"a", "b"}, nil, ""},
		"a limit of one is any group's":     {1, []string{"a", "b"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var l ledger.Ledger
			spec := func(node string) *Spec {
				return &Spec{Name: node, Settings: Settings{Rollout: &Rollout{Group: "g", MaxUnavailable: c.limit}}, Unknown: Places{}}
			}
			for _, node := range c.planned {
				l.Register(plan.Holder{ID: node, Name: node}, spec(node).listTurnUses())
			}
			var others []*Machine
			for _, node := range c.there {
				others = append(others, member(node, "", c.limit))
			}
			k := &Checker{Plan: &l, Want: spec("a")}
			err := turnChecker{k}.checkLimit(t.Context(), k.Want.Rollout, others)
			if said := fmt.Sprint(k.problems); err != nil || (len(k.problems) > 0) != (c.problem != "") || !strings.Contains(said, c.problem) {
				t.Errorf("%v, %s", err, said)
			}
		})
	}
}

func TestLimitsOfOtherStatesAreCompared(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		other   *Machine
		problem bool
	}{
		"the same":                  {member("b", "theirs", 2), false},
		"another, of this state":    {member("b", "mine", 1), false},
		"another, of another state": {member("b", "theirs", 0), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &Checker{Owner: owner.Mark{ID: "i", Workspace: "mine"}}
			turnChecker{k}.compareLimits(&Rollout{Group: "g", MaxUnavailable: 2}, []*Machine{c.other})
			if (len(k.problems) > 0) != c.problem {
				t.Errorf("%v", k.problems)
			}
		})
	}
}
