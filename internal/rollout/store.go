package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/parentcommand"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// Store is the store of a machine that takes its turn among those of its group, whenever a change takes it down.
type Store struct {
	*machine.Store
	at    *hypervisor.Client
	known *machine.Spec
	in    Surroundings
}

// Surroundings are what a turn needs to know of the run and of the provider.
type Surroundings struct {
	// Hypervisors are all of the provider's, by name.
	Hypervisors map[string]*hypervisor.Client
	// Host returns the machine of an endpoint.
	Host hostFinder
	// Turns has the turns of this run, and Run is the run.
	Turns *Turns
	Run   *owner.Run
	// Successor names what a create makes, and what the same apply makes in place of what a delete removes; "" for nothing.
	Successor string
	// Engine knows the configuration of daemons on service nodes, HandOvers has which of them handed virtual addresses over, and Temporary says
	// which errors to reach one may pass by themselves.
	Engine    *transaction.Engine
	HandOvers *keepalived.HandOvers
	Temporary provision.Temporary
}

// NewStore returns a store that opens the turn of each change for the machine's own store; at is its hypervisor. What state or plan knows
// of the machine says how it takes its turn.
func NewStore(of *machine.Store, at *hypervisor.Client, known *machine.Spec, in Surroundings) *Store {
	return &Store{Store: of, at: at, known: known, in: in}
}

// changeLimit bounds a change where the configuration does not.
const changeLimit = 10 * time.Minute

// boundChange bounds the change itself: what it waited for before does not count.
func boundChange(ctx context.Context, limit string) (context.Context, context.CancelFunc) {
	d, err := time.ParseDuration(limit)
	if err != nil || d <= 0 {
		d = changeLimit
	}
	return context.WithTimeout(ctx, d)
}

func (s *Store) timeLimits() machine.Timeouts {
	if s.known.Timeouts == nil {
		return machine.Timeouts{}
	}
	return *s.known.Timeouts
}

// newTurn returns the turn of the machine, whose domain is there; "" where it is not.
func (s *Store) newTurn(own string) *turn {
	return &turn{
		board: s.newBoard(), turns: s.in.Turns, run: s.in.Run, settings: s.known.Rollout, name: s.known.Name, at: s.at, own: own,
		parallelism: parentcommand.Parallelism(), dismisses: !parentcommand.ChoosesTargets(), balancers: balancers{s.in.Host, s.in.Engine, s.in.Temporary},
		drained: serverSet{}, ticket: ticket{Group: s.known.Rollout.Group},
	}
}

func (s *Store) newBoard() machines {
	return machines{all: slices.Collect(maps.Values(s.in.Hypervisors)), host: s.in.Host, engine: s.in.Engine}
}

// Update changes the machine, in its turn where that takes it down.
func (s *Store) Update(ctx context.Context, was, want *machine.Spec) (*machine.Spec, error) {
	change := func() (*machine.Spec, error) {
		ctx, cancel := boundChange(ctx, s.timeLimits().Update)
		defer cancel()
		return s.Store.Update(ctx, was, want)
	}
	before := s.storeBefore(was)
	t, err := before.openTurn(ctx, was.UUID)
	if err != nil {
		return nil, err
	}
	down, err := machine.TakesDown(ctx, s.at, was, want)
	if err != nil {
		return nil, err
	}
	if !down && len(t.drained) == 0 {
		got, err := change()
		if was.State == machine.Moving && err == nil {
			err = s.removePlaces(ctx, func(m *member) bool { return m.name == s.known.Name })
		}
		return got, err
	}
	if err := t.awaitTurn(ctx, s.known.Rollout.Patience()); err != nil {
		return nil, err
	}
	if before != s { // a domain that is being migrated takes no marks
		if err := t.keepPlace(ctx, was.Type); err != nil {
			return nil, t.failTurn(ctx, "nothing was changed", err)
		}
	}
	if err := before.prepareMachine(ctx, t, was); err != nil {
		return nil, t.failTurn(ctx, "nothing was changed", err)
	}
	if err := t.confirmTurn(ctx, s.known.Rollout.Patience()); err != nil {
		return nil, t.failTurn(ctx, "nothing was changed", err)
	}
	t.noteStep(ctx, "is being changed")
	got, err := change()
	if before != s && got != nil {
		t.arrived = s.at
	}
	if err != nil {
		return got, t.failTurn(ctx, "the change did not come to its end", err)
	}
	return s.finishTurn(ctx, t, got, want)
}

// joinPause is how long a machine that joins a group looks at nothing: others that join in the same apply do so meanwhile.
const joinPause = 2 * time.Second

// openTurn returns the turn of a machine that is there, which takes over what one that was cut short left. It has the machine join its group, where it
// was of none so far, or of another. The error is an *owner.ForeignError where the machine has become somebody else's: a turn of it would drain its
// servers, and run commands.
func (s *Store) openTurn(ctx context.Context, uuid string) (*turn, error) {
	t := s.newTurn(uuid)
	joined, err := s.joinGroup(ctx, t)
	if err == nil && joined {
		err = hypervisor.Pause(ctx, joinPause)
	}
	return t, err
}

func (s *Store) joinGroup(ctx context.Context, t *turn) (joined bool, err error) {
	defer guest.Lock(s.at, t.own)()
	d, err := s.at.Domain(ctx, t.own)
	if hypervisor.IsNotFound(err) {
		return false, nil
	}
	if err == nil {
		err = t.takeOver(s, d)
	}
	if err != nil {
		return false, err
	}
	joined, err = machine.JoinGroup(ctx, s.at, d, t.settings)
	if err != nil {
		err = fmt.Errorf("mark node %q as one of group %q: %w", t.name, t.settings.Group, err)
	}
	return joined, err
}

// takeOver has the turn take over what one that was cut short left on the machine's domain, which is the store's still.
func (t *turn) takeOver(s *Store, d *hypervisor.Domain) error {
	if err := s.CheckOwned(d); err != nil {
		return err
	}
	left, err := readTicket(d)
	if left != nil {
		t.setDrained(left.Drained)
	}
	return err
}

// storeBefore returns the store of the machine where it is before the change: on another hypervisor, where it moves.
func (s *Store) storeBefore(was *machine.Spec) *Store {
	from, known := s.in.Hypervisors[was.Hypervisor]
	if was.Hypervisor == s.known.Hypervisor || !known {
		return s
	}
	before, there := *s, *s.known
	there.Hypervisor = was.Hypervisor
	before.at, before.known = from, &there
	return &before
}

// finishTurn ends a turn whose change was made: the machine serves by then, or is an *Unfinished.
func (s *Store) finishTurn(ctx context.Context, t *turn, got, want *machine.Spec) (*machine.Spec, error) {
	if want.Running {
		if err := s.awaitServing(ctx, t); err != nil {
			return got, &service.Unfinished{Made: true, Err: t.failTurn(ctx, "the change was made, and it was started", err)}
		}
	}
	t.endTurn(ctx)
	return got, nil
}

// Create makes the machine: in the turn that its predecessor's removal opened, or that a killed run left open, where there is one. Else
// nothing is taken down, and it waits for nobody.
func (s *Store) Create(ctx context.Context, want *machine.Spec) (*machine.Spec, error) {
	t, err := s.takeUp(ctx)
	if err != nil {
		return nil, err
	}
	got, err := func() (*machine.Spec, error) {
		ctx, cancel := boundChange(ctx, s.timeLimits().Create)
		defer cancel()
		return s.Store.Create(ctx, want)
	}()
	unfinished, made := errors.AsType[*service.Unfinished](err)
	if t == nil {
		return got, err
	}
	if got != nil {
		t.own = got.UUID
	}
	switch {
	case made:
		return got, &service.Unfinished{Made: unfinished.Made, Err: t.failTurn(ctx, "the new machine was made", err)}
	case err != nil:
		t.leavePlace(ctx)
		return got, t.failTurn(ctx, "the old machine is gone, and no new one was made", err)
	case !want.Running || s.lacksContents(t):
		t.endTurn(ctx)
		return got, nil
	}
	if err := s.putContents(ctx, t); err != nil {
		return got, &service.Unfinished{Made: true, Err: t.failTurn(ctx, "the new machine was made", err)}
	}
	return s.finishTurn(ctx, t, got, want)
}

// takeUp returns the turn that is open for the machine; nil where there is none. Its ticket stays where the machine was, which may have been
// another hypervisor.
func (s *Store) takeUp(ctx context.Context) (*turn, error) {
	if t := s.in.Turns.takeOpen(s.in.Successor); t != nil {
		t.settings, t.arrived = s.known.Rollout, s.at
		t.noteStep(ctx, "is being made anew")
		return t, nil
	}
	t := s.newTurn("")
	place, err := s.findPlace(ctx, t.board)
	if place == nil || err != nil {
		return nil, err
	}
	t.at, t.arrived, t.place, t.ticket = place.at, s.at, place.place, *place.ticket
	t.setDrained(place.ticket.Drained)
	return t, t.awaitTurn(ctx, s.known.Rollout.Patience())
}

// findPlace finds the place of the machine that a killed run of this state keeps, on its own hypervisor rather than on another one; nil for none.
// Another one that cannot be reached is passed over: a machine that is made takes nothing down, and a place that stays there counts as down.
func (s *Store) findPlace(ctx context.Context, b board) (*member, error) {
	others := slices.DeleteFunc(slices.SortedFunc(maps.Values(s.in.Hypervisors), compareURIs), func(c *hypervisor.Client) bool { return c == s.at })
	for _, c := range slices.Insert(others, 0, s.at) {
		all, err := b.listMembersAt(ctx, c, s.known.Rollout.Group)
		if _, unreachable := errors.AsType[*hypervisor.UnreachableError](err); unreachable && c != s.at {
			tflog.Warn(ctx, "a hypervisor that cannot be reached was not asked whether it keeps the place of the machine", map[string]any{"node": s.known.Name, "hypervisor": c.URI(), "reason": err.Error()})
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, m := range all {
			if m.place != "" && m.name == s.known.Name && m.workspace == owner.Workspace() {
				return m, nil
			}
		}
	}
	return nil, nil
}

// Delete removes the machine: at once where everything goes, and else in its turn, which stays open where it is made anew. For good, it
// waits for a while for others, and then goes.
func (s *Store) Delete(ctx context.Context) error {
	remove := func() error {
		ctx, cancel := boundChange(ctx, s.timeLimits().Delete)
		defer cancel()
		return s.Store.Delete(ctx)
	}
	if parentcommand.DestroysAll() {
		return errors.Join(remove(), s.removePlaces(ctx, func(*member) bool { return true }))
	}
	d, err := s.at.Domain(ctx, s.known.UUID)
	if hypervisor.IsNotFound(err) && s.in.Successor == "" {
		return remove()
	}
	if err != nil && !hypervisor.IsNotFound(err) {
		return err
	}
	t, machineType := s.newTurn(""), s.known.Type
	if d != nil {
		t.own, err = d.UUID, t.takeOver(s, d)
	} else {
		err = t.keepPlace(ctx, machineType)
	}
	if err != nil {
		return err
	}
	if err := s.awaitRemoval(ctx, t); err != nil {
		return err
	}
	if s.in.Successor != "" {
		if err := t.keepPlace(ctx, machineType); err != nil {
			return t.failTurn(ctx, "nothing was changed", err)
		}
		if err := s.takeContents(ctx, t); err != nil {
			return t.failTurn(ctx, "nothing was changed", err)
		}
	}
	if err := s.prepareMachine(ctx, t, s.known); err != nil {
		return t.failTurn(ctx, "nothing was changed", err)
	}
	if err := t.confirmTurn(ctx, s.known.Rollout.Patience()); err != nil {
		return t.failTurn(ctx, "nothing was changed", err)
	}
	t.noteStep(ctx, "is being removed")
	if err := remove(); err != nil {
		if _, gone := s.at.Domain(ctx, s.known.UUID); s.in.Successor != "" && hypervisor.IsNotFound(gone) {
			t.own = ""
			t.leavePlace(ctx) // the group lacks a machine until it is made anew
		}
		return t.failTurn(ctx, "the removal did not come to its end", err)
	}
	t.own = ""
	if s.in.Successor == "" {
		t.endTurn(ctx)
		return nil
	}
	t.noteStep(ctx, "is to be made anew")
	s.in.Turns.leaveOpen(s.in.Successor, t)
	return nil
}

// awaitRemoval waits for the turn of a machine that is to be removed. One that goes for good waits no longer than for a while.
func (s *Store) awaitRemoval(ctx context.Context, t *turn) error {
	if s.in.Successor != "" {
		return t.awaitTurn(ctx, s.known.Rollout.Patience())
	}
	patience := s.in.Turns.boundRemoval()
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := t.awaitTurn(waiting, patience)
	if err == nil || ctx.Err() != nil || s.in.Turns.whyStopped(t.settings.Group) != nil {
		return err
	}
	s.in.Turns.noteInVain()
	tflog.Warn(ctx, "removed without waiting longer for its turn", map[string]any{"node": t.name, "group": t.settings.Group})
	return nil
}

// removePlaces removes what killed runs of this state left to keep the places of such machines of the group.
func (s *Store) removePlaces(ctx context.Context, such func(*member) bool) error {
	b := s.newBoard()
	all, err := b.listMembers(ctx, s.known.Rollout.Group)
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.place != "" && such(m) && m.workspace == owner.Workspace() && !s.in.Turns.isAlive(s.in.Run, m.ticket) {
			if err := b.removeMarks(ctx, m.at, "", m.place); err != nil {
				return fmt.Errorf("remove domain %q: %w", placeName(m.name), err)
			}
		}
	}
	return nil
}
