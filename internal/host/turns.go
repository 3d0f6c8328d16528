package host

import (
	"context"
	"sync"
)

// Turns are locks of machines that the goroutines of a process hold together, and other processes wait for: what a process does
// meanwhile it can tell apart by itself. The zero value is ready.
type Turns struct {
	mu   sync.Mutex
	held map[turnOf]*turn
}

// turnOf is a lock of a Host: two Hosts of one machine may differ in the host key that it has to show, and take turns as two processes do.
type turnOf struct {
	host Host
	lock string
}

// turn is a lock that the process has, or waits for until ready is closed.
type turn struct {
	users  int
	ready  chan struct{}
	unlock func()
	err    error
}

// Join takes the named lock of a machine, or joins those of this process that have it. The lock is given back when the last of them
// leaves.
func (t *Turns) Join(ctx context.Context, h Host, name string) (leave func(), err error) {
	key := turnOf{h, name}
	for {
		at, first := t.enterTurn(key)
		if first {
			at.unlock, at.err = h.Lock(ctx, name)
			close(at.ready)
			if at.err != nil {
				t.leaveTurn(key, at)
				return nil, at.err
			}
			return sync.OnceFunc(func() { t.leaveTurn(key, at) }), nil
		}
		select {
		case <-at.ready:
		case <-ctx.Done():
			t.leaveTurn(key, at)
			return nil, context.Cause(ctx)
		}
		if at.err == nil {
			return sync.OnceFunc(func() { t.leaveTurn(key, at) }), nil
		}
		t.leaveTurn(key, at) // whoever took it may have given up for a reason of its own
	}
}

// enterTurn counts one more for whom the lock is held; first has to take it.
func (t *Turns) enterTurn(key turnOf) (at *turn, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held == nil {
		t.held = map[turnOf]*turn{}
	}
	at, there := t.held[key]
	if !there {
		at = &turn{ready: make(chan struct{})}
		t.held[key] = at
	}
	at.users++
	return at, !there
}

// leaveTurn counts one less; nobody joins a turn that failed, or that the last one left.
func (t *Turns) leaveTurn(key turnOf, at *turn) {
	t.mu.Lock()
	at.users--
	last := at.users == 0
	failed := false
	select {
	case <-at.ready:
		failed = at.err != nil
	default:
	}
	if t.held[key] == at && (last || failed) {
		delete(t.held, key)
	}
	t.mu.Unlock()
	if last && at.unlock != nil {
		at.unlock()
	}
}
