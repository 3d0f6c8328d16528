package machine

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/parentcommand"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// listTurnUses returns the limit of the machine's group, which all of it name alike.
func (s *Spec) listTurnUses() []plan.Use {
	if s.Rollout == nil || s.Rollout.Group == "" || s.Unknown.Has("rollout", "max_unavailable") {
		return nil
	}
	return []plan.Use{{Kind: plan.TurnLimit, Value: s.Rollout.Group, For: fmt.Sprint(s.Rollout.Limit()), Of: s.Name, Path: pathTo("rollout"), Known: []string{"rollout"}}}
}

// turnChecker finds what keeps a planned machine from taking turns with the others of its group.
type turnChecker struct{ *Checker }

// checkTurn finds what is wrong with the machine's turn beside the others of its group, and a service node that is the machine itself.
func (k turnChecker) checkTurn(ctx context.Context) error {
	r := k.Want.Rollout
	if r == nil || r.Group == "" || k.Want.Unknown.Has("rollout", "max_unavailable") {
		return nil
	}
	k.checkDrain(ctx)
	others, err := k.listOthers(ctx, r.Group)
	if err != nil {
		return err
	}
	k.compareLimits(r, others)
	return k.checkLimit(ctx, r, others)
}

// compareLimits finds a node of another state that names another limit: those of this state may be about to change theirs.
func (k turnChecker) compareLimits(r *Rollout, others []*Machine) {
	for _, m := range others {
		if theirs := m.Mark.Settings.Rollout.Limit(); m.Mark.Workspace != k.Owner.Workspace && theirs != r.Limit() {
			k.addProblem(pathTo("rollout", "max_unavailable"), "Two limits of one group", "max_unavailable of group %q is %d here, and %d for node %q of another state: write %[3]d, or, to change it, name the group otherwise in both", r.Group, r.Limit(), theirs, m.Name)
			return
		}
	}
}

// resolveLimit bounds the question which address a name has.
const resolveLimit = 2 * time.Second

// checkDrain finds the machine among its service nodes, by a name that this computer knows one of its addresses for.
func (k turnChecker) checkDrain(ctx context.Context) {
	if k.Want.Rollout.Drain == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, resolveLimit)
	defer cancel()
	own := k.Want.ListAddresses()
	for n, endpoint := range k.Want.Rollout.Drain.ServiceNodes {
		u, err := url.Parse(endpoint)
		if err != nil || u.Scheme != "ssh" || k.Want.isCalled(u.Hostname()) {
			continue // the other checks say so
		}
		if _, err := netip.ParseAddr(u.Hostname()); err == nil {
			continue
		}
		all, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname()) // a name that only ssh knows is no error
		if slices.ContainsFunc(all, func(a netip.Addr) bool { return slices.Contains(own, a.Unmap()) }) {
			k.problems = append(k.problems, drainsItself(n))
		}
	}
}

// listOthers lists the machines of a group that are there, but the planned one.
func (k turnChecker) listOthers(ctx context.Context, group string) (others []*Machine, err error) {
	seen := map[string]bool{}
	for _, c := range k.Hypervisors {
		all, err := k.Cache.listDomains(ctx, c)
		if err != nil {
			return nil, err
		}
		for _, d := range all {
			m := Read(d.Config)
			self := c == k.Client && d.Name == k.Want.Name || k.From != nil && d.UUID == k.Was.UUID
			if s := m.Mark.Settings; s != nil && s.Rollout != nil && s.Rollout.Group == group && !self && !seen[d.UUID] {
				seen[d.UUID] = true
				others = append(others, m)
			}
		}
	}
	return others, nil
}

// othersLimit is how long a plan looks for further nodes of a group, which are planned side by side.
const othersLimit = 3 * time.Second

// checkLimit finds a limit that leaves no machine of the group to serve, with those that the plan makes. A group of one has none to serve
// meanwhile, whatever it says. Where not all of a group are planned at one time, nobody knows how many they are.
func (k turnChecker) checkLimit(ctx context.Context, r *Rollout, others []*Machine) error {
	if r.Limit() < 2 || r.Limit() > parentcommand.Parallelism() || parentcommand.ChoosesTargets() {
		return nil
	}
	for deadline := time.Now().Add(othersLimit); ; {
		members := k.countMembers(r.Group, others)
		switch {
		case members == 1, r.Limit() < members:
			return nil
		case time.Now().After(deadline):
			k.addProblem(pathTo("rollout", "max_unavailable"), "Nobody left to serve", "group %q has %d nodes with this one, and so all of them might be down at one time: write at most %d", r.Group, members, members-1)
			return nil
		}
		if err := hypervisor.Pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// countMembers counts the machine, the others that are there, and those that the plan makes.
func (k turnChecker) countMembers(group string, others []*Machine) int {
	names := map[any]bool{k.Want.Name: true}
	for _, u := range k.Plan.List(plan.TurnLimit) {
		if u.Value == group {
			names[u.Of] = true
		}
	}
	members := len(names)
	for _, m := range others {
		if !names[m.Name] {
			members++
		}
	}
	return members
}

// RunsOutside says whether a machine that runs, and that one tells by its mark, or by its name where it has none, is of another group than one, or
// of none.
func (k *Checker) RunsOutside(ctx context.Context, group string, owns func(owner.Mark) bool) (bool, error) {
	for _, c := range k.Hypervisors {
		all, err := k.Cache.listDomains(ctx, c)
		if err != nil {
			return false, err
		}
		for _, d := range all {
			mark := Read(d.Config).Mark
			is := owns(mark.ownerMark()) || !mark.IsPresent() && c == k.Client && d.Name == k.Want.Name
			if is && d.Active() && (mark.Settings == nil || mark.Settings.Rollout == nil || mark.Settings.Rollout.Group != group) {
				return true, nil
			}
		}
	}
	return false, nil
}
