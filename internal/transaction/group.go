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
	gatherLate  = 100 * time.Millisecond
	lastSizeAge = time.Second
	// fullSize is from how many edits on a group does not wait once there are as many as before: they are
	// Terraform's parallelism, of which none is left to wait for.
	fullSize   = 5
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
	// giveBack marks Engine.GiveBack, which goes alone.
	giveBack bool
}

// Commit applies one edit. It returns when the daemon serves the edited configuration, or with an error
// when the edit failed and the daemon serves what it served before. Edits that arrive while another commit
// runs go together as one check and one reload.
func (e *Engine) Commit(ctx context.Context, h host.Host, d Daemon, edit Edit) error {
	return e.line(h, d).commit(ctx, &request{edit: edit})
}

// commit is Commit of a request.
func (l *line) commit(ctx context.Context, r *request) error {
	r.ctx, r.done = ctx, make(chan struct{})
	l.mu.Lock()
	l.waiting = append(l.waiting, r)
	if !l.leading {
		l.leading = true
		go l.runGroups()
	}
	l.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
	}
	if l.withdraw(r) {
		return fmt.Errorf("%s on %s was not changed: %w", l.daemon.Name(), l.host, ctx.Err())
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

// runGroups runs group after group until nobody waits.
func (l *line) runGroups() {
	for wait, ok := l.lead(); ok; wait, ok = l.lead() {
		t, err := l.prepare(wait)
		l.runGroup(wait, t, err)
	}
}

// runGroup runs those who wait as one group in a turn that was prepared for as long as wait lives, and answers them.
func (l *line) runGroup(wait context.Context, t turn, err error) {
	if err != nil && wait.Err() != nil {
		return // given up for those who left; who came since gets a try of his own
	}
	group := l.takeGroup()
	if len(group) == 0 {
		t.end()
		return
	}
	l.run(t, err, group)
	for cut, try := unfinished(group), 1; len(cut) > 0 && try < maxTries; cut, try = unfinished(cut), try+1 {
		l.retry(cut)
	}
	l.forget(nil)
	l.remember(l.proven, l.running, l.learned)
	l.lastSize, l.lastEnded = len(group)+l.count(), time.Now()
	for _, r := range group {
		close(r.done)
	}
}

// lead returns a context that lives while anybody waits; without anybody there is no leader any more.
func (l *line) lead() (context.Context, bool) {
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

// takeGroup returns those who wait, as the next group; who gives back goes alone.
func (l *line) takeGroup() []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := slices.IndexFunc(l.waiting, func(r *request) bool { return r.giveBack })
	switch n {
	case -1:
		n = len(l.waiting)
	case 0:
		n = 1
	}
	group := slices.Clone(l.waiting[:n])
	l.waiting = slices.Clone(l.waiting[n:])
	return group
}

// turn is the machine's lock and the configuration as it is while that is held. The zero turn is one that did not begin.
type turn struct {
	ctx  context.Context
	tree Tree
	// unfit is why the daemon cannot be told to load anything, nil where it can.
	unfit   error
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
	if t.tree, t.unfit, err = l.recover(ctx); err != nil {
		t.end()
		return turn{}, err
	}
	return t, nil
}

// unfinished returns the requests of a group that lost the connection, or with it the lock, on the way, or found the files edited
// while they were checked. Nobody knows how far they came, and it does not matter: another run puts back what they left half done, or
// finds that it is done.
func unfinished(group []*request) []*request {
	var cut []*request
	for _, r := range group {
		if r.ctx.Err() == nil && (errors.Is(r.err, host.ErrCut) || errors.Is(r.err, host.ErrLockLost) || errors.Is(r.err, errEdited)) {
			cut = append(cut, r)
		}
	}
	return cut
}

// retry runs a group again, in a turn of its own.
func (l *line) retry(group []*request) {
	tflog.Info(group[0].ctx, fmt.Sprintf("%s on %s is changed again from the start: %s", l.daemon.Name(), l.host, group[0].err))
	for _, r := range group {
		r.err = nil
	}
	wait, stop := untilAllLeave(group)
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
		if time.Since(changed) >= l.quietTime(n, start) {
			return
		}
	}
}

// quietTime is how long a group of n edits that began at start waits for one more.
func (l *line) quietTime(n int, start time.Time) time.Duration {
	switch {
	case n == 0 || start.Sub(l.lastEnded) >= lastSizeAge:
	case n < l.lastSize:
		return gatherLate
	case l.lastSize >= fullSize:
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
	l.proven, l.learned, l.cut = nil, nil, nil
	for _, r := range group {
		if r.edit.Cut != nil {
			l.cut = r.edit.Cut
		}
	}
	if err != nil {
		for _, r := range group {
			r.err = err
		}
		return
	}
	defer t.end()
	defer l.deliverWarnings(group)
	if t.unfit == nil {
		t.unfit = l.probe(t.ctx)
	}
	if t.unfit != nil && !isUnable(t.unfit) {
		for _, r := range group {
			r.err = t.unfit
		}
		return
	}
	if first := group[0]; first.giveBack {
		first.err = l.giveBack(t.ctx, t)
		l.clearStage(t.ctx)
		return
	}
	if l.untold = false; t.unfit != nil {
		able := l.onlyRemovals(group, t.unfit, errors.Unwrap(t.unfit))
		l.serve(t.ctx, t.tree, l.findAccepted(t.ctx, t.tree, able))
		l.clearStage(t.ctx)
		return
	}
	tree := l.serve(t.ctx, t.tree, l.findAccepted(t.ctx, t.tree, group))
	l.clearStage(t.ctx)
	if !l.untold && !slices.ContainsFunc(group, func(r *request) bool { return r.err != nil }) {
		l.proven = tree
	}
}

// untilAllLeave is a context that lives as long as one of the group's requests does.
func untilAllLeave(group []*request) (context.Context, context.CancelFunc) {
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
