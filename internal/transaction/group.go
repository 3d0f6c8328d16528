package transaction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

const (
	// gatherQuiet and gatherMost bound the wait for more edits before a commit starts: Terraform hands out
	// a wave of operations within a few milliseconds.
	gatherQuiet = 25 * time.Millisecond
	gatherMost  = 250 * time.Millisecond
	// gatherLate is how long a group waits for as many edits as there were a moment ago: Terraform follows
	// each operation that ended by another one, once it has written its state. Without it a wave that was
	// split once stays split, and every half of it costs a reload.
	gatherLate = 100 * time.Millisecond
	crowdAge   = time.Second
	// fullCrowd is from how many edits on a group does not wait once there are as many as before: they are
	// Terraform's parallelism, of which none is left to wait for.
	fullCrowd  = 5
	gatherFull = gatherQuiet / 5
	// groupLimit bounds one group from when it has the lock; nobody's cancellation stops it half-way.
	groupLimit = 5 * time.Minute
	// maxTries bounds how often a group is run when connections break.
	maxTries = 3
)

// request is one resource's edit on its way.
type request struct {
	edit Edit
	ctx  context.Context
	done chan struct{} // closed when err is final
	err  error
}

// Commit applies one edit. It returns when the daemon serves the edited configuration, or with an error
// when the edit failed and the daemon serves what it served before. Edits that arrive while another commit
// runs go together as one check and one reload.
func (e *Engine) Commit(ctx context.Context, h host.Host, d Daemon, edit Edit) error {
	l := e.line(h, d)
	r := &request{edit: edit, ctx: ctx, done: make(chan struct{})}
	l.mu.Lock()
	l.waiting = append(l.waiting, r)
	if !l.leading {
		l.leading = true
		go l.lead()
	}
	l.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
	}
	if l.withdraw(r) {
		return fmt.Errorf("%s on %s was not changed: %w", d.Name(), h, ctx.Err())
	}
	// The group is under way and ends by itself; only its end tells what the daemon serves.
	<-r.done
	return r.err
}

// withdraw takes a request out of the line, if no group has taken it up.
func (l *line) withdraw(r *request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, w := range l.waiting {
		if w == r {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			if len(l.waiting) == 0 && l.abandon != nil {
				l.abandon()
			}
			return true
		}
	}
	return false
}

// lead runs group after group until nobody waits.
func (l *line) lead() {
	for wait, ok := l.wanted(); ok; wait, ok = l.wanted() {
		t, err := l.prepare(wait)
		l.finish(wait, t, err)
	}
}

// finish runs those who wait as one group in a turn that was prepared for as long as wait lives, and answers them.
func (l *line) finish(wait context.Context, t turn, err error) {
	if err != nil && wait.Err() != nil {
		return // given up for those who left; who came since gets a try of his own
	}
	group := l.take()
	if len(group) == 0 {
		t.end()
		return
	}
	l.run(t, err, group)
	for cut, try := l.cutOff(group), 1; len(cut) > 0 && try < maxTries; cut, try = l.cutOff(cut), try+1 {
		l.again(cut)
	}
	l.forget(nil)
	l.remember(l.proven, l.learned)
	l.crowd, l.crowded = len(group)+l.count(), time.Now()
	for _, r := range group {
		close(r.done)
	}
}

// wanted returns a context that lives while anybody waits; without anybody there is no leader any more.
func (l *line) wanted() (context.Context, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.abandon != nil {
		l.abandon()
		l.abandon = nil
	}
	if l.leading = len(l.waiting) > 0; !l.leading {
		return nil, false
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.waiting[0].ctx))
	l.abandon = cancel
	return ctx, true
}

// take returns those who wait: the next group.
func (l *line) take() []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	group := l.waiting
	l.waiting = nil
	return group
}

// turn is the machine's lock and the configuration as it is while that is held. The zero turn is one that did not begin.
type turn struct {
	ctx     context.Context
	tree    Tree
	release func()
}

// end gives the lock back.
func (t turn) end() {
	if t.release != nil {
		t.release()
	}
}

// prepare begins a turn while the edits for it gather, for both take their time: on a slow machine the one
// takes so long that no edit comes too late for it.
func (l *line) prepare(wait context.Context) (turn, error) {
	gathered := make(chan struct{})
	go func() {
		defer close(gathered)
		l.gather()
	}()
	t, err := l.begin(wait)
	<-gathered
	return t, err
}

// begin takes the machine's lock, for as long as wait lives, and reads the configuration.
func (l *line) begin(wait context.Context) (turn, error) {
	unlock, err := l.host.Lock(wait, l.daemon.Name())
	if err != nil {
		return turn{}, fmt.Errorf("lock %s on %s: %w", l.daemon.Name(), l.host, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(wait), groupLimit)
	t := turn{ctx: ctx, release: func() { cancel(); unlock() }}
	if t.tree, err = l.ready(ctx); err != nil {
		t.end()
		return turn{}, err
	}
	return t, nil
}

// cutOff returns the requests of a group that lost the connection, or with it the lock, on the way. Nobody
// knows how far they came, and it does not matter: another run puts back what they left half done, or finds
// that it is done.
func (l *line) cutOff(group []*request) []*request {
	var cut []*request
	for _, r := range group {
		if r.ctx.Err() == nil && (errors.Is(r.err, host.ErrCut) || errors.Is(r.err, host.ErrLockLost)) {
			cut = append(cut, r)
		}
	}
	return cut
}

func (l *line) again(group []*request) {
	tflog.Info(group[0].ctx, fmt.Sprintf("%s on %s is changed again from the start: %s", l.daemon.Name(), l.host, group[0].err))
	for _, r := range group {
		r.err = nil
	}
	wait, stop := anyOf(group)
	t, err := l.begin(wait)
	stop()
	l.run(t, err, group)
}

// gather waits until edits stop arriving.
func (l *line) gather() {
	const step = gatherFull
	n, changed := l.count(), time.Now()
	for start := time.Now(); time.Since(start) < gatherMost; {
		time.Sleep(step)
		if now := l.count(); now != n {
			n, changed = now, time.Now()
		}
		if time.Since(changed) >= l.patience(n, start) {
			return
		}
	}
}

// patience is how long a group of n edits that began at start waits for one more.
func (l *line) patience(n int, start time.Time) time.Duration {
	switch {
	case n == 0 || start.Sub(l.crowded) >= crowdAge:
	case n < l.crowd:
		return gatherLate
	case l.crowd >= fullCrowd:
		return gatherFull
	}
	return gatherQuiet
}

func (l *line) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

// run commits a group in its turn, or fails it for the reason that it got none.
func (l *line) run(t turn, err error, group []*request) {
	l.proven, l.learned = nil, nil
	if err != nil {
		for _, r := range group {
			r.err = err
		}
		return
	}
	defer t.end()
	tree := l.serve(t.ctx, t.tree, l.sift(t.ctx, t.tree, group))
	l.sweep(t.ctx)
	if !slices.ContainsFunc(group, func(r *request) bool { return r.err != nil }) {
		l.proven = tree
	}
}

// anyOf is a context that lives as long as one of the group's requests does.
func anyOf(group []*request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(group[0].ctx))
	go func() {
		for _, r := range group {
			select {
			case <-r.ctx.Done():
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}()
	return ctx, cancel
}

// sift returns the requests that the checker accepts together and fails the others, each with the error
// that is its own. An edit that leans on another one of the group gets a second try once that one is in.
func (l *line) sift(ctx context.Context, tree Tree, group []*request) []*request {
	accepted := l.halve(ctx, tree, nil, group)
	for progress := len(accepted) > 0; progress && len(accepted) < len(group); {
		progress = false
		for _, r := range group {
			if r.err == nil {
				continue
			}
			if more := l.halve(ctx, tree, accepted, []*request{r}); len(more) > len(accepted) {
				accepted, r.err, progress = more, nil, true
			}
		}
	}
	return accepted
}

// halve adds to accepted those of a group that the checker takes on top of it, in halves when it refuses
// the whole.
func (l *line) halve(ctx context.Context, tree Tree, accepted, group []*request) []*request {
	var able []*request
	next := edited(tree, accepted)
	for _, r := range group {
		trial := next.Clone()
		if err := r.edit.Apply(trial); err != nil {
			r.err = err
			continue
		}
		next, able = trial, append(able, r)
	}
	if len(able) == 0 {
		return accepted
	}
	err := l.check(ctx, tree, next)
	if err == nil {
		return append(accepted[:len(accepted):len(accepted)], able...)
	}
	if len(able) == 1 || !errors.As(err, new(*RefusedError)) {
		for _, r := range able {
			r.err = masked(err, r.edit.Secrets)
		}
		return accepted
	}
	accepted = l.halve(ctx, tree, accepted, able[:len(able)/2])
	return l.halve(ctx, tree, accepted, able[len(able)/2:])
}

// serve makes the accepted requests live: all at once, or in halves when the daemon does not take the
// whole. It returns the tree that is served in the end.
func (l *line) serve(ctx context.Context, tree Tree, group []*request) Tree {
	if len(group) == 0 {
		return tree
	}
	next := edited(tree, group)
	err := l.swap(ctx, tree, next)
	if err == nil {
		return next
	}
	var rolled *RolledBackError
	if len(group) == 1 || !errors.As(err, &rolled) || rolled.Restore != nil {
		for _, r := range group {
			r.err = masked(err, r.edit.Secrets)
		}
		return tree
	}
	half := len(group) / 2
	// A half was checked only as part of the whole.
	tree = l.serve(ctx, tree, l.sift(ctx, tree, group[:half]))
	return l.serve(ctx, tree, l.sift(ctx, tree, group[half:]))
}

// edited is the tree with a group's edits; each was applied to it before, in this order, without an error.
func edited(tree Tree, group []*request) Tree {
	next := tree.Clone()
	for _, r := range group {
		trial := next.Clone()
		if err := r.edit.Apply(trial); err == nil {
			next = trial
		}
	}
	return next
}
