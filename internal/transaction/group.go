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
	// giveBack marks Engine.GiveBack, which goes alone; kept are the files that it left as others made them.
	giveBack bool
	kept     []string
}

// Commit applies one edit. It returns when the daemon serves the edited configuration, or with an error
// when the edit failed and the daemon serves what it served before. Edits that arrive while another commit
// runs go together as one check and one reload.
func (e *Engine) Commit(ctx context.Context, h host.Host, d Daemon, edit Edit) error {
	return e.findQueue(h, d).commitRequest(ctx, &request{edit: edit})
}

// commitRequest is Commit of a request.
func (q *queue) commitRequest(ctx context.Context, r *request) error {
	r.ctx, r.done = ctx, make(chan struct{})
	q.mu.Lock()
	q.waiting = append(q.waiting, r)
	if !q.leading {
		q.leading = true
		go q.runGroups()
	}
	q.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
	}
	if q.withdrawRequest(r) {
		return fmt.Errorf("%s on %s was not changed: %w", q.daemon.Name(), q.host, ctx.Err())
	}
	// The group is under way and ends by itself; only its end tells what the daemon serves.
	<-r.done
	return r.err
}

// withdrawRequest takes a request out of the queue, if no group has taken it up.
func (q *queue) withdrawRequest(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, w := range q.waiting {
		if w == r {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			if len(q.waiting) == 0 && q.abandon != nil {
				q.abandon()
			}
			return true
		}
	}
	return false
}

// runGroups runs group after group until nobody waits.
func (q *queue) runGroups() {
	for wait, ok := q.leaderContext(); ok; wait, ok = q.leaderContext() {
		t, err := q.prepareTurn(wait)
		q.runGroup(wait, t, err)
	}
}

// runGroup runs those who wait as one group in a turn that was prepared for as long as wait lives, and answers them.
func (q *queue) runGroup(wait context.Context, t turn, err error) {
	if err != nil && wait.Err() != nil {
		return // given up for those who left; who came since gets a try of his own
	}
	group := q.takeGroup()
	if len(group) == 0 {
		t.endTurn()
		return
	}
	q.runTurn(t, err, group)
	for cut, try := unfinishedRequests(group), 1; len(cut) > 0 && try < maxTries; cut, try = unfinishedRequests(cut), try+1 {
		q.retryGroup(cut)
	}
	q.forgetSnapshot(nil)
	q.rememberSnapshot(q.proven, q.running, q.learned)
	q.lastSize, q.lastEnded = len(group)+q.countWaiting(), time.Now()
	for _, r := range group {
		close(r.done)
	}
}

// leaderContext returns a context that lives while anybody waits; without anybody there is no leader any more.
func (q *queue) leaderContext() (context.Context, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.abandon != nil {
		q.abandon()
		q.abandon = nil
	}
	if q.leading = len(q.waiting) > 0; !q.leading {
		return nil, false
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(q.waiting[0].ctx))
	q.abandon = cancel
	return ctx, true
}

// takeGroup returns those who wait, as the next group; who gives back goes alone.
func (q *queue) takeGroup() []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := slices.IndexFunc(q.waiting, func(r *request) bool { return r.giveBack })
	switch n {
	case -1:
		n = len(q.waiting)
	case 0:
		n = 1
	}
	group := slices.Clone(q.waiting[:n])
	q.waiting = slices.Clone(q.waiting[n:])
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

// endTurn gives the lock back.
func (t turn) endTurn() {
	if t.release != nil {
		t.release()
	}
}

// prepareTurn begins a turn while the edits for it gather, for both take their time: on a slow machine the one
// takes so long that no edit comes too late for it.
func (q *queue) prepareTurn(wait context.Context) (turn, error) {
	gathered := make(chan struct{})
	go func() {
		defer close(gathered)
		q.gatherEdits()
	}()
	t, err := q.beginTurn(wait)
	<-gathered
	return t, err
}

// beginTurn takes the machine's lock, for as long as wait lives, and reads the configuration.
func (q *queue) beginTurn(wait context.Context) (turn, error) {
	unlock, err := q.host.Lock(wait, q.daemon.Name())
	if err != nil {
		return turn{}, fmt.Errorf("lock %s on %s: %w", q.daemon.Name(), q.host, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(wait), groupLimit)
	t := turn{ctx: ctx, release: func() { cancel(); unlock() }}
	if t.tree, t.unfit, err = q.recoverTree(ctx); err != nil {
		t.endTurn()
		return turn{}, err
	}
	return t, nil
}

// unfinishedRequests returns the requests of a group that lost the connection, or with it the lock, on the way, or found the files edited
// while they were checked. Nobody knows how far they came, and it does not matter: another run puts back what they left half done, or
// finds that it is done.
func unfinishedRequests(group []*request) []*request {
	var cut []*request
	for _, r := range group {
		if r.ctx.Err() == nil && (errors.Is(r.err, host.ErrCut) || errors.Is(r.err, host.ErrLockLost) || errors.Is(r.err, errEdited)) {
			cut = append(cut, r)
		}
	}
	return cut
}

// retryGroup runs a group again, in a turn of its own.
func (q *queue) retryGroup(group []*request) {
	tflog.Info(group[0].ctx, fmt.Sprintf("%s on %s is changed again from the start: %s", q.daemon.Name(), q.host, group[0].err))
	for _, r := range group {
		r.err = nil
	}
	wait, stop := untilAllLeave(group)
	t, err := q.beginTurn(wait)
	stop()
	q.runTurn(t, err, group)
}

// gatherEdits waits until edits stop arriving.
func (q *queue) gatherEdits() {
	const step = gatherFull
	n, changed := q.countWaiting(), time.Now()
	for start := time.Now(); time.Since(start) < gatherMost; {
		time.Sleep(step)
		if now := q.countWaiting(); now != n {
			n, changed = now, time.Now()
		}
		if time.Since(changed) >= q.quietTime(n, start) {
			return
		}
	}
}

// quietTime is how long a group of n edits that began at start waits for one more.
func (q *queue) quietTime(n int, start time.Time) time.Duration {
	switch {
	case n == 0 || start.Sub(q.lastEnded) >= lastSizeAge:
	case n < q.lastSize:
		return gatherLate
	case q.lastSize >= fullSize:
		return gatherFull
	}
	return gatherQuiet
}

func (q *queue) countWaiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// runTurn commits a group in its turn, or fails it for the reason that it got none.
func (q *queue) runTurn(t turn, err error, group []*request) {
	q.proven, q.learned, q.cut, q.secrets = nil, nil, nil, collectSecrets(group)
	for _, r := range group {
		if r.edit.Cut != nil {
			q.cut = r.edit.Cut
		}
	}
	if err != nil {
		for _, r := range group {
			r.err = err
		}
		return
	}
	defer t.endTurn()
	defer q.deliverWarnings(group)
	if t.unfit == nil {
		t.unfit = q.probeDaemon(t.ctx)
	}
	if t.unfit != nil && !isUnable(t.unfit) {
		for _, r := range group {
			r.err = t.unfit
		}
		return
	}
	if first := group[0]; first.giveBack {
		first.err = q.giveBack(t.ctx, t, first)
		q.clearStage(t.ctx)
		return
	}
	if q.cannotReload = false; t.unfit != nil {
		able := q.onlyRemovals(group, t.unfit, errors.Unwrap(t.unfit))
		q.serveRequests(t.ctx, t.tree, q.findAccepted(t.ctx, t.tree, able))
		q.clearStage(t.ctx)
		return
	}
	tree := q.serveRequests(t.ctx, t.tree, q.findAccepted(t.ctx, t.tree, group))
	q.clearStage(t.ctx)
	if !q.cannotReload && !slices.ContainsFunc(group, func(r *request) bool { return r.err != nil }) {
		q.proven = tree
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
