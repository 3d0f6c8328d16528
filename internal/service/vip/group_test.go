package vip

import (
	"errors"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
)

// TestASyncGroupIsOfOneStateButWhereItIsJoinedAlready has a VIP ask for a group in which an instance of several owners is.
func TestASyncGroupIsOfOneStateButWhereItIsJoinedAlready(t *testing.T) {
	s := &Store{claim: new(owner.Run).New()}
	here := s.claim.Mark().Workspace
	for name, c := range map[string]struct {
		group, inGroup string
		by             owner.Mark
		refused        bool
	}{
		"another state's":            {"pair", "", owner.Mark{ID: "theirs", Workspace: "elsewhere"}, true},
		"another state's, from none": {"pair", "other", owner.Mark{ID: "theirs", Workspace: "elsewhere"}, true},
		"in it already":              {"pair", "pair", owner.Mark{ID: "theirs", Workspace: "elsewhere"}, false},
		"this state's":               {"pair", "", owner.Mark{ID: "second", Workspace: here}, false},
		"a version's without marks":  {"pair", "", owner.Mark{}, false},
		"another group":              {"own", "", owner.Mark{ID: "theirs", Workspace: "elsewhere"}, false},
		"without a group":            {"", "", owner.Mark{ID: "theirs", Workspace: "elsewhere"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := view{others: []keepalived.Instance{{Name: "there", SyncGroup: "pair", Owner: c.by}}}
			if c.inGroup != "" {
				v.written = &keepalived.Instance{Name: "own", SyncGroup: c.inGroup}
			}
			if err := s.refuseGroup(v, keepalived.VIP{Name: "own", SyncGroup: c.group}); errors.As(err, new(*owner.ForeignError)) != c.refused {
				t.Errorf("error %v", err)
			}
		})
	}
}
