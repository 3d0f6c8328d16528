// Package rollout has the machines of a group taken down in turns, whatever takes them down: at most as many at one time as the group
// bears. The group is told by marks on its domains, over all hypervisors of the provider, so that other runs wait their turn too.
//
// A turn is what one machine goes through when a change takes it down:
//
//	openTurn         the machine joins its group, where it was of none or of another so far: others see it from then on
//	awaitTurn        it draws a ticket with a number behind all others' (drawTicket), and looks at the group (lookAtGroup) until nobody
//	                 whose ticket comes before is left, and no more are down for other reasons than the group bears
//	prepareMachine   connections and virtual addresses are led to others, which keep them, and the command that goes before the change runs
//	the change       the machine's own store makes it, as without a group; a ticket says all the while what is being done (noteStep)
//	awaitServing     the machine is ready, has its virtual addresses back, the command that comes after has run, and connections are led to
//	                 it again
//	endTurn          the ticket goes, and the next one sees it gone; failTurn ends it too, and stops the roll for this run
//
// A machine that is made anew has one turn, although Terraform removes and creates it in two calls: the removal leaves it open (leaveOpen),
// and a domain without anything keeps the machine's place, and its ticket, until the create takes it up (takeUp). What it has as a service node
// goes from the one to the other within the turn (takeContents, putContents).
//
// Read ticket.go first, which is how machines agree on whose turn it is; then group.go, where tickets are and who is down; this file, which
// is one turn; turns.go, what a run knows of all of its turns; store.go, which opens and ends a turn around each change; place.go for
// machines that are made anew; and steps.go with drain.go, addresses.go and contents.go for what is done to a machine in its turn.
package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// turn is that of one machine: from its ticket to the moment at which it serves again.
type turn struct {
	board    board
	turns    *Turns
	run      *owner.Run
	settings *machine.Rollout
	name     string
	at       *hypervisor.Client
	// parallelism is how many changes the program makes at a time.
	parallelism int
	// dismisses says that a machine which was to be made anew, and of which nothing is heard, is held to be gone for good in the end: an
	// apply of everything would make it.
	dismisses bool
	balancers balancers
	// drained are the servers of the machine that do not take connections until it serves again: this turn drained them, or one before it
	// that was cut short.
	drained serverSet
	// arrived is the hypervisor to which the machine has moved in its turn, or on which it is made anew; nil for none.
	arrived *hypervisor.Client

	mu sync.Mutex
	// own and place are the domains that have the ticket, "" for none: the machine's, and that which keeps its place.
	own, place string
	ticket     ticket
	// posted is when the ticket was written last, by a clock that goes on while the computer is suspended; lapsed says that this was so long ago
	// once, since the ticket was drawn, that others may have taken the run for dead, and their own turn.
	posted time.Time
	lapsed bool
	// over says that the ticket is not written any more.
	over bool
	// endBeat ends what keeps the ticket's beat going.
	endBeat context.CancelFunc
	// wasUp says that the machine served when its turn came.
	wasUp bool
	// handedOver names the guest that handed over virtual addresses, "" for none, and heir is the service node that keeps them until this one
	// serves; nil for none.
	handedOver string
	heir       host.Host
	// contents are what the machine had as a service node, for the one that is made in its place; nil where nobody knows.
	contents *provision.Contents
}

// changeTicket changes the ticket and writes it.
func (t *turn) changeTicket(ctx context.Context, change func(*ticket)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil
	}
	change(&t.ticket)
	t.ticket.Beat++
	if err := t.board.writeTicket(ctx, t.at, cmp.Or(t.place, t.own), &t.ticket); err != nil {
		return fmt.Errorf("mark the turn of node %q: %w", t.name, err)
	}
	t.lapsed = t.lapsed || t.isStale()
	t.posted = time.Now().Round(0)
	return nil
}

// drawTicket draws a ticket with a number behind all others', and keeps its beat going.
func (t *turn) drawTicket(ctx context.Context) error {
	t.mu.Lock()
	t.ticket.ID = cmp.Or(t.ticket.ID, uuid.NewString())
	t.mu.Unlock()
	t.turns.setAlive(t.ticket.ID, true)
	if err := t.changeTicket(ctx, func(k *ticket) { k.Run, k.Choosing, k.Step = t.run.Word(), true, "waits for its turn" }); err != nil {
		return err
	}
	all, err := t.board.listMembers(ctx, t.settings.Group)
	if err != nil {
		return err
	}
	last := int64(0)
	for _, m := range all {
		if m.ticket != nil {
			last = max(last, m.ticket.Number)
		}
	}
	if err := t.changeTicket(ctx, func(k *ticket) { k.Choosing, k.Number = false, last+1 }); err != nil {
		return err
	}
	t.mu.Lock()
	t.lapsed = false
	t.mu.Unlock()
	if t.endBeat == nil {
		beating, end := context.WithCancel(context.WithoutCancel(ctx))
		t.endBeat = end
		go t.keepBeating(beating)
	}
	return nil
}

// isStale says whether the ticket was not written for so long that others may soon take its run for dead. The ticket is locked.
func (t *turn) isStale() bool { return !t.posted.IsZero() && time.Since(t.posted) > deadAfter/2 }

// hasLapsed says whether others may have taken the run for dead since the ticket was drawn. A turn that is over, as that of a removal which waited in
// vain, has no ticket that could lapse.
func (t *turn) hasLapsed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.over && (t.lapsed || t.isStale())
}

// confirmTurn is asked right before the machine is taken down, as what prepares it takes minutes: it returns at once while the run was alive to
// others all the time, and else when the turn has come again.
func (t *turn) confirmTurn(ctx context.Context, patience time.Duration) error {
	if !t.hasLapsed() {
		return nil
	}
	return t.awaitTurn(ctx, patience)
}

// keepBeating changes the ticket every few seconds, until the turn is over.
func (t *turn) keepBeating(ctx context.Context) {
	for hypervisor.Pause(ctx, beatEvery) == nil {
		if err := t.changeTicket(ctx, func(*ticket) {}); err != nil && ctx.Err() == nil {
			tflog.Warn(ctx, "the mark of a turn could not be renewed", map[string]any{"node": t.name, "reason": err.Error()})
		}
	}
}

// stopBeating has nothing keep the ticket alive any more.
func (t *turn) stopBeating() {
	t.turns.setAlive(t.ticket.ID, false)
	if t.endBeat != nil {
		t.endBeat()
	}
}

// noteStep notes on the ticket what is being done, for those who wait. Where that fails, the next beat tells them.
func (t *turn) noteStep(ctx context.Context, step string) {
	if err := t.changeTicket(ctx, func(k *ticket) { k.Step = step }); err != nil {
		tflog.Warn(ctx, "the mark of a turn could not be changed", map[string]any{"node": t.name, "reason": err.Error()})
	}
}

// endTurn ends the turn, and takes its ticket away, and the domain that kept the machine's place. What is drained still stays on the machine.
func (t *turn) endTurn(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	t.stopBeating()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	own, err := t.own, error(nil)
	if own != "" && len(t.drained) > 0 {
		at := cmp.Or(t.arrived, t.at)
		own, err = "", t.board.writeTicket(ctx, at, t.own, &ticket{ID: t.ticket.ID, Run: t.ticket.Run, Drained: t.drained.renderServers()})
	}
	if err = errors.Join(err, t.board.removeMarks(ctx, t.at, own, t.place)); err != nil {
		tflog.Warn(ctx, "the mark of a turn could not be removed", map[string]any{"node": t.name, "reason": err.Error()})
	}
}

// WaitError says that a machine's turn did not come.
type WaitError struct {
	Node, Group string
	// For says what it waited for, and After how long nothing changed of that.
	For   []string
	After time.Duration
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("node %q stays as it is: for %s its turn in group %q waited for %s, and nothing of that changed. Mend what is down, or, where it is to stay so, raise max_unavailable or take its rollout away; then apply again",
		e.Node, e.After.Round(time.Second), e.Group, strings.Join(e.For, ", "))
}

// groupView is what a look at the group says of a turn.
type groupView struct {
	// blocked says what is waited for, in words; choosing that somebody is drawing a ticket just now.
	blocked  []string
	choosing bool
	// behind says that a machine which is down waits for its own turn, which comes later: only that turn may mend it.
	behind bool
	up     bool
	// gone are machines of this state that are not there, although they were to be made anew, and whose run has ended.
	gone []*member
}

// awaitTurn returns when the machine may be taken down. For patience nothing may change of what it waits for: then it is a *WaitError, and the
// ticket is gone.
func (t *turn) awaitTurn(ctx context.Context, patience time.Duration) (err error) {
	defer t.turns.countWaiting()()
	defer func() {
		switch {
		case err != nil && t.own == "" && t.place != "":
			t.leavePlace(ctx)
		case err != nil:
			t.endTurn(ctx)
		}
	}()
	if err := t.drawTicket(ctx); err != nil {
		return err
	}
	said, since := "", time.Now()
	for {
		if why := t.turns.whyStopped(t.settings.Group); why != nil {
			return fmt.Errorf("node %q stays as it is, as the roll of group %q has stopped: %w", t.name, t.settings.Group, why)
		}
		if err := t.turns.checkParallelism(t.parallelism); err != nil {
			t.turns.stopGroup(t.settings.Group, err)
			continue
		}
		v, err := t.lookAtGroup(ctx)
		if err != nil {
			v = groupView{blocked: []string{err.Error()}}
		}
		switch {
		case v.behind || t.hasLapsed():
			if err := t.drawTicket(ctx); err != nil {
				return err
			}
		case !v.choosing && len(v.blocked) == 0:
			t.wasUp = v.up
			return nil
		}
		if now := strings.Join(v.blocked, ", "); now != said && !v.choosing {
			said, since = now, time.Now()
			tflog.Info(ctx, "waits for its turn", map[string]any{"node": t.name, "group": t.settings.Group, "for": now})
		}
		if time.Since(since) > patience {
			if err != nil {
				return err
			}
			if t.dismisses && len(v.gone) > 0 {
				if err := t.removeDismissed(ctx, v.gone); err != nil {
					return err
				}
				continue
			}
			return &WaitError{Node: t.name, Group: t.settings.Group, For: v.blocked, After: time.Since(since)}
		}
		if err := hypervisor.Pause(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// removeOwnPlace removes what a killed run of this state left to keep the place of a machine that has moved since. That of another state stays.
func (t *turn) removeOwnPlace(ctx context.Context, m *member) error {
	if m.workspace != owner.Workspace() {
		return nil
	}
	return t.board.removeMarks(ctx, m.at, "", m.place)
}

// removeDismissed removes what keeps the places of machines that nobody makes any more.
func (t *turn) removeDismissed(ctx context.Context, gone []*member) error {
	for _, m := range gone {
		tflog.Warn(ctx, "a node that was to be made anew is held to be gone for good", map[string]any{"node": m.name, "group": t.settings.Group})
		if err := t.board.removeMarks(ctx, m.at, "", m.place); err != nil {
			return err
		}
	}
	return nil
}

// lookAtGroup looks at the group: machines whose turn comes before, and others that are down, unless this one is down too.
func (t *turn) lookAtGroup(ctx context.Context) (v groupView, err error) {
	all, err := t.board.listMembers(ctx, t.settings.Group)
	if err != nil {
		return v, err
	}
	t.turns.noteSize(t.settings.Group, len(all))
	slices.SortFunc(all, func(a, b *member) int { return strings.Compare(a.uniqueName(), b.uniqueName()) })
	var self *member
	var others []*member
	waits := map[*member]bool{}
	for _, m := range all {
		switch {
		case m.hasTurn(t):
			self = m
		case !t.turns.isAlive(t.run, m.ticket):
			if m.hasMoved(all) {
				if err := t.removeOwnPlace(ctx, m); err != nil {
					return v, err
				}
				continue
			}
			others = append(others, m)
		case m.ticket.Choosing:
			v.choosing = true
		case m.ticket.comesBefore(&t.ticket):
			v.blocked = append(v.blocked, fmt.Sprintf("node %q, which %s", m.name, m.ticket.Step))
		default:
			waits[m] = true
			others = append(others, m)
		}
	}
	room := t.settings.Limit() - 1
	if v.choosing || len(v.blocked) > room {
		return v, nil
	}
	down := askAll(ctx, t.board, others)
	v.up = self != nil && t.board.askMember(ctx, self) == nil
	if !v.up || len(v.blocked)+len(down) <= room {
		v.blocked = nil
		return v, nil
	}
	for _, m := range others {
		if reason := down[m]; reason != nil {
			v.blocked = append(v.blocked, fmt.Sprintf("node %q, which is not ready (%v)", m.name, reason))
			v.behind = v.behind || waits[m]
			if m.uuid == "" && !waits[m] && m.workspace == owner.Workspace() {
				v.gone = append(v.gone, m)
			}
		}
	}
	return v, nil
}

// StepError says which step of a machine's turn failed, and that it stopped the roll of its group.
type StepError struct {
	Node, Group string
	// Did is what was done with the machine before: "it is as it was", "it was changed and started".
	Did string
	// Drained names its servers that do not take connections; "" for none.
	Drained string
	Err     error
}

func (e *StepError) Error() string {
	drained := ""
	if e.Drained != "" {
		drained = fmt.Sprintf("; until a turn of the group finds it serving, its servers take no new connections: %s", e.Drained)
	}
	return fmt.Sprintf("node %q of group %q: %v. Of this machine, %s%s; the others stay as they are. Mend it and apply again: the roll goes on from there", e.Node, e.Group, e.Err, e.Did, drained)
}

func (e *StepError) Unwrap() error { return e.Err }

// failTurn stops the roll of the group by an error in a step of the turn, and ends the turn.
func (t *turn) failTurn(ctx context.Context, did string, err error) error {
	failed := &StepError{Node: t.name, Group: t.settings.Group, Did: did, Err: err}
	t.turns.stopGroup(t.settings.Group, errors.New(failed.shortText()))
	if len(t.drained) > 0 && t.isServing(ctx) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), undrainLimit)
		defer cancel()
		failed.Err = errors.Join(failed.Err, t.undrainServers(limited, t.drained))
	}
	failed.Drained = t.drained.describeServers()
	t.endTurn(ctx)
	return failed
}

// isServing says whether the machine serves now.
func (t *turn) isServing(ctx context.Context) bool {
	all, err := t.board.listMembers(ctx, t.settings.Group)
	at := slices.IndexFunc(all, func(m *member) bool { return m.hasTurn(t) })
	return err == nil && at >= 0 && t.board.askMember(ctx, all[at]) == nil
}

// shortText is the error for the other machines of the group.
func (e *StepError) shortText() string { return fmt.Sprintf("node %q: %v", e.Node, e.Err) }
