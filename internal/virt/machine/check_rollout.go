package machine

import (
	"context"
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// listTurnUses returns the limit of the machine's group, which all of it name alike.
func (s *Spec) listTurnUses() []plan.Use {
	if s.Rollout == nil || s.Rollout.Group == "" || s.Unknown.Has("rollout", "max_unavailable") {
		return nil
	}
	return []plan.Use{{Kind: plan.TurnLimit, Value: s.Rollout.Group, For: fmt.Sprint(s.Rollout.Limit()), Path: pathTo("rollout"), Known: []string{"rollout"}}}
}

// checkTurn finds a limit that leaves no machine of the group to serve. A group of one has none to serve meanwhile, whatever it says.
func (k *Checker) checkTurn(ctx context.Context) error {
	r := k.Want.Rollout
	if r == nil || r.Group == "" || r.Limit() < 2 {
		return nil
	}
	others, seen := 0, map[string]bool{}
	for _, c := range k.Hypervisors {
		all, err := k.Cache.listDomains(ctx, c)
		if err != nil {
			return err
		}
		for _, d := range all {
			m := Read(d.Config).Mark.Settings
			self := c == k.Client && d.Name == k.Want.Name || k.From != nil && d.UUID == k.Was.UUID
			if m != nil && m.Rollout != nil && m.Rollout.Group == r.Group && !self && !seen[d.UUID] {
				seen[d.UUID] = true
				others++
			}
		}
	}
	if others > 0 && r.Limit() > others {
		k.addProblem(pathTo("rollout", "max_unavailable"), "Nobody left to serve", "group %q has %d nodes with this one, and so all of them might be down at one time: write at most %d", r.Group, others+1, others)
	}
	return nil
}
