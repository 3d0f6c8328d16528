package ovn

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// Changes that arrive together go as one transaction: Terraform hands several out at once, and each that chassis have to follow costs them a
// round. gatherQuiet and gatherMost bound the wait for more: it ends when none has come for so long.
const (
	gatherQuiet = 5 * time.Millisecond
	gatherMost  = 50 * time.Millisecond
)

// change is what one caller wants of the database.
type change struct {
	ctx  context.Context
	plan func(ctx context.Context) ([]ovsdb.Operation, error)
	// counted says that chassis are to follow, and counter is the number that the change has then; 0 where there was nothing to do.
	counted bool
	counter int
	// planned says that the transaction has operations of it.
	planned bool
	err     error
	done    chan struct{}
}

// changes are those that wait, of which one caller at a time makes all.
type changes struct {
	mu      sync.Mutex
	waiting []*change
	busy    bool
}

// commitWithOthers makes a change with those that arrive at the same time, and returns the counter that it has; 0 where there was nothing to do.
func (n *Northbound) commitWithOthers(ctx context.Context, counted bool, plan func(ctx context.Context) ([]ovsdb.Operation, error)) (counter int, err error) {
	c := &change{ctx: ctx, plan: plan, counted: counted, done: make(chan struct{})}
	n.changes.mu.Lock()
	n.changes.waiting = append(n.changes.waiting, c)
	first := !n.changes.busy
	n.changes.busy = true
	n.changes.mu.Unlock()
	if first {
		go n.commitWaiting(context.WithoutCancel(ctx))
	}
	// It is made, or not, once its turn came: nobody leaves before it is known which.
	<-c.done
	return c.counter, c.err
}

// commitWaiting makes what waits, group by group, until nothing does.
func (n *Northbound) commitWaiting(ctx context.Context) {
	for {
		n.changes.gatherMore()
		n.changes.mu.Lock()
		group := n.changes.waiting
		n.changes.waiting = nil
		n.changes.busy = len(group) > 0
		n.changes.mu.Unlock()
		if len(group) == 0 {
			return
		}
		n.commitGroup(ctx, group)
		for _, c := range group {
			close(c.done)
		}
	}
}

// gatherMore waits until changes stop arriving.
func (q *changes) gatherMore() {
	count := func() int {
		q.mu.Lock()
		defer q.mu.Unlock()
		return len(q.waiting)
	}
	for start, seen := time.Now(), 0; time.Since(start) < gatherMost; {
		now := count()
		if now == seen {
			return
		}
		seen = now
		time.Sleep(gatherQuiet)
	}
}

// commitGroup makes a group of changes by one transaction. Where that is refused it is halved, until only those fail that are at fault. What
// others of the group change is not in the rows yet as each is planned: those that are in each other's way are refused together, and planned
// one after the other then.
func (n *Northbound) commitGroup(ctx context.Context, group []*change) {
	err := n.North.Commit(ctx, func(ctx context.Context) ([]ovsdb.Operation, error) { return n.planGroup(ctx, group) })
	var planned []*change
	for _, c := range group {
		if c.planned {
			planned = append(planned, c)
		}
	}
	switch {
	case len(planned) == 0:
	case err == nil:
		n.numberGroup(ctx, planned)
	case len(planned) > 1 && !errors.Is(err, errLost):
		n.commitGroup(ctx, planned[:len(planned)/2])
		n.commitGroup(ctx, planned[len(planned)/2:])
	default:
		for _, c := range planned {
			c.err = err
		}
	}
}

// planGroup returns the operations of all changes of a group. Whose plan fails is out of it, and so is who does not wait any more.
func (n *Northbound) planGroup(ctx context.Context, group []*change) (all []ovsdb.Operation, err error) {
	counted := false
	for at, c := range group {
		if c.planned = false; c.err != nil {
			continue
		}
		if c.err = c.ctx.Err(); c.err != nil {
			continue
		}
		operations, err := c.plan(c.ctx)
		if c.err = err; err != nil || len(operations) == 0 {
			continue
		}
		c.planned = true
		counted = counted || c.counted
		all = append(all, renameRows(operations, at)...)
	}
	if !counted {
		return all, nil
	}
	global, err := n.findGlobal(ctx)
	if err != nil {
		return nil, err
	}
	return append(all, mutate(NorthDB, global, global.UUID, *ovsdb.NewMutation("nb_cfg", ovsdb.MutateOperationAdd, 1))), nil
}

// numberGroup notes the counter that changes have which are made.
func (n *Northbound) numberGroup(ctx context.Context, made []*change) {
	global, err := n.findGlobal(ctx)
	for _, c := range made {
		if c.err = err; err == nil && c.counted {
			c.counter = global.Config
		}
	}
}
