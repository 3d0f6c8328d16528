package exposure

import (
	"context"
	"fmt"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addressuse"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Check returns what is in the way of a planned exposure on a machine that answers: rules of a person's under the provider's names,
// exposures and sections of HAProxy's that are another state's, and programs that listen. Asked is false where the machine does not answer:
// the apply says so.
func Check(ctx context.Context, e *transaction.Engine, h host.Host, claim owner.Claim, want Exposure) (problems []service.Problem, survey Survey, asked bool) {
	refuse := func(path []any, summary, format string, args ...any) {
		problems = append(problems, service.Problemf(path, summary, format, args...))
	}
	tree, survey, err := SurveyOnce(ctx, e, h)
	if err != nil {
		return nil, survey, false
	}
	node := []any{"service_node"}
	for _, what := range survey.Foreign {
		refuse(node, "Rules of somebody else's", "on %s %s", h, what)
	}
	// What this state exposes besides is in the plan, where it may change.
	mine := func(m owner.Mark) bool { return m.Workspace == owner.Workspace() || claim.Owns(m) }
	if what := Conflict(tree, want, func(m owner.Mark) bool { return !mine(m) }); what != "" {
		refuse(node, "Exposed already", "%s: choose another address or port, or have that destroyed first", what)
	}
	// What an interrupted change exposed is live until the apply takes it back: who has what is asked then.
	if interrupted, err := e.Interrupted(ctx, h, Daemon{}); err == nil && !interrupted {
		if err := checkTaken(ctx, e, h, claim, tree, want); err != nil {
			problems = append(problems, service.NewProblem("Taken already", err))
		}
		for port, who := range survey.Occupied(tree, want) {
			refuse(want.placePort(port), "Port in use", "%s", want.describeOccupied(h, port, who))
		}
	}
	for _, shut := range survey.Blocked(want) {
		shut.Detail = fmt.Sprintf("On %s: %s", h, shut.Detail)
		problems = append(problems, shut)
	}
	refused := slices.ContainsFunc(problems, func(p service.Problem) bool { return !p.Warning })
	if err := PreviewLocate(ctx, e, h, want); err != nil && !refused {
		doubt := service.NewProblem("The apply may refuse it", err)
		doubt.Warning, doubt.Detail = true, "Unless something else of this apply changes that: "+doubt.Detail
		problems = append(problems, doubt)
	}
	sections, err := e.Snapshot(ctx, h, haproxy.Daemon{})
	if err != nil {
		return problems, survey, true
	}
	for port, bind := range want.Binds() {
		if who, there := haproxy.ForeignListener(sections, bind, mine, "frontend "+Section(want.Name, port)); there {
			refuse(want.placePort(port), "Port in use", "%s listens at %s of %s already: choose another address or port, or have that removed first", who, bind.Endpoint(), h)
		}
	}
	return problems, survey, true
}

// describeOccupied says who has a port, or the machine's own address, that an exposure would take.
func (e Exposure) describeOccupied(h host.Host, port, who string) string {
	place := Endpoint(e, e.Ports[port])
	if port == "" {
		place = "a port of " + e.Address.String() + ", or all of it,"
	}
	return fmt.Sprintf("%s has %s on %s: choose another address or port, or take that away first", who, place, h)
}

// placePort leads to the number of a port. A name that the exposure has no port of stands for all of a floating address.
func (e Exposure) placePort(name string) []any {
	if _, there := e.Ports[name]; !there {
		return []any{"address"}
	}
	return []any{"ports", service.Key(name), "port"}
}

// putsAddress says whether an exposure is to put its address on a device that no other one keeps there already.
func putsAddress(t transaction.Tree, want Exposure) bool {
	return want.ConfigureAddress && want.Address.IsValid() && !KeepsAddress(t, want.Address)
}

// refuseTaken refuses an address to be put on a device that somebody has. Others that expose something at it are no such, and what this
// state has besides is in the plan, where it may change.
func refuseTaken(use addressuse.Use, want Exposure, claim owner.Claim) error {
	return service.At([]any{"address"}, use.Refuse(addressuse.Claim{
		Address: want.Address,
		Suits: func(h addressuse.Holder) bool {
			return h.Kind == addressuse.Exposure || h.IsHere() || h.Mark.ID != "" && claim.Owns(h.Mark)
		},
	}))
}

// checkTaken returns, while planning, why an address is refused that somebody has on a machine that answers.
func checkTaken(ctx context.Context, e *transaction.Engine, h host.Host, claim owner.Claim, tree transaction.Tree, want Exposure) error {
	if !putsAddress(tree, want) {
		return nil
	}
	_, use, err := transaction.Ask(ctx, e, h, Daemon{}, func(ctx context.Context, h host.Host, _ transaction.Tree) (addressuse.Use, error) {
		return addressuse.Look(ctx, h)
	})
	if err == nil && use.Machine == "" { // what is exposed is not live, so nothing was asked
		use, err = addressuse.Look(ctx, h)
	}
	if err != nil {
		return nil //nolint:nilerr // the apply says so
	}
	return refuseTaken(use, want, claim)
}

// takeAddress refuses what somebody has. No other state takes an address on the machine until done is called.
func (s *Store) takeAddress(ctx context.Context, tree transaction.Tree, want Exposure) (done func(), err error) {
	if !putsAddress(tree, want) {
		return func() {}, nil
	}
	if done, err = s.turns.Join(ctx, s.Host, addressuse.Lock); err != nil {
		return nil, err
	}
	use, err := addressuse.Look(ctx, s.Host)
	if err == nil {
		err = refuseTaken(use, want, s.claim)
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}
