package transaction

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// snapshotAge is how long readers share one read. Terraform refreshes in waves of its parallelism, so a
// refresh of hundreds of parts costs one read; a person's edit shows in the next command at the latest.
const snapshotAge = 2 * time.Second

// snapshot is a configuration as those who read at the same time share it.
type snapshot struct {
	reading
	done  chan struct{}
	taken time.Time
	err   error

	mu      sync.Mutex
	answers map[reflect.Type]*answer
}

// Snapshot returns the daemon's configuration on the machine, of a daemon that is stopped too. Readers that ask at the
// same time share one read; after a commit by this process it is what that one proved. A commit that a killed run left is undone first, as
// nobody else may ever change this daemon; what one that is under way has on disk is not in the tree. The caller must not change the tree.
func (e *Engine) Snapshot(ctx context.Context, h host.Host, d Daemon) (Tree, error) {
	s, err := e.findQueue(h, d).takeSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	return s.tree, nil
}

// Running says whether the daemon is up, of the same moment as Snapshot.
func (e *Engine) Running(ctx context.Context, h host.Host, d Daemon) (bool, error) {
	s, err := e.findQueue(h, d).takeSnapshot(ctx)
	if err != nil {
		return false, err
	}
	return s.running, nil
}

// Interrupted says whether a commit is under way at the moment of Snapshot, or could not be ended: the tree is the one before it, and
// what is live may be more. The next commit ends it first.
func (e *Engine) Interrupted(ctx context.Context, h host.Host, d Daemon) (bool, error) {
	s, err := e.findQueue(h, d).takeSnapshot(ctx)
	if err != nil {
		return false, err
	}
	return s.interrupted, nil
}

func (q *queue) takeSnapshot(ctx context.Context) (*snapshot, error) {
	s, mine := q.shareSnapshot()
	if mine {
		s.reading, s.err = q.readTree(ctx)
		if s.err == nil && s.interrupted && !s.edited && q.endInterrupted(ctx) {
			s.reading, s.err = q.readTree(ctx)
		}
		s.taken = time.Now()
		close(s.done)
		if s.err != nil {
			q.forgetSnapshot(s)
		}
		return s, s.err
	}
	select {
	case <-s.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.err != nil {
		// The reader may have failed for its own reason, a deadline say: everyone else asks for himself.
		read, err := q.readTree(ctx)
		return &snapshot{reading: read}, err
	}
	return s, nil
}

// endPatience bounds how long a reader waits for the machine's lock where a commit did not come to its end: who holds it for longer is making
// that very commit, or the ones after it.
const endPatience = 5 * time.Second

// endInterrupted ends the commit of a run that was killed as the next commit would, and says whether it did. While this process commits there
// is nothing to end.
func (q *queue) endInterrupted(ctx context.Context) bool {
	q.mu.Lock()
	leading := q.leading
	q.mu.Unlock()
	if leading {
		return false
	}
	wait, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	nothing := Edit{Owner: "what was interrupted", Removes: true, Apply: func(Tree) error { return nil }, Warn: func(text string) { tflog.Warn(ctx, text) }}
	if err := q.commitRequest(wait, &request{edit: nothing}); err != nil {
		tflog.Warn(ctx, fmt.Sprintf("an interrupted change of %s on %s stays for the next change: %s", q.daemon.Name(), q.host, err))
		return false
	}
	return true
}

// shareSnapshot returns the current snapshot, or a new one that the caller has to take.
func (q *queue) shareSnapshot() (s *snapshot, mine bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s := q.shared; s != nil {
		select {
		case <-s.done:
			if time.Since(s.taken) < snapshotAge {
				return s, false
			}
		default:
			return s, false
		}
	}
	q.shared = &snapshot{done: make(chan struct{})}
	return q.shared, true
}

// forgetSnapshot drops a snapshot; nil drops whatever is there.
func (q *queue) forgetSnapshot(s *snapshot) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s == nil || q.shared == s {
		q.shared = nil
	}
}

// rememberSnapshot makes a tree that was just proven the current snapshot: those who wait for the commit read their parts from
// it, and do not Ask again what the proof told.
func (q *queue) rememberSnapshot(t Tree, running bool, learned any) {
	if t == nil {
		return
	}
	s := &snapshot{reading: reading{tree: t, running: running}, done: make(chan struct{}), taken: time.Now()}
	close(s.done)
	if learned != nil {
		a := &answer{done: s.done, value: learned}
		s.answers = map[reflect.Type]*answer{reflect.TypeOf(learned): a}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shared = s
}

// answer is what a daemon said to those who share a snapshot.
type answer struct {
	done  chan struct{}
	value any
	err   error
}

// Ask returns the daemon's configuration as Snapshot does, and what ask learns of the daemon that serves it: nothing of
// one that is stopped. Readers that share a snapshot share one answer, as they are asked of every resource in a refresh; answers
// are told apart by their type.
func Ask[A any](ctx context.Context, e *Engine, h host.Host, d Daemon, ask func(context.Context, host.Host, Tree) (A, error)) (Tree, A, error) {
	var none A
	s, err := e.findQueue(h, d).takeSnapshot(ctx)
	if err != nil {
		return nil, none, err
	}
	if !s.running {
		return s.tree, none, nil
	}
	a, mine := s.shareAnswer(reflect.TypeFor[A]())
	if mine {
		value, err := ask(ctx, h, s.tree)
		a.value, a.err = value, err
		close(a.done)
		if err != nil {
			s.forgetAnswer(reflect.TypeFor[A](), a)
		}
		return s.tree, value, err
	}
	select {
	case <-a.done:
	case <-ctx.Done():
		return nil, none, ctx.Err()
	}
	if a.err != nil {
		// As with the snapshot: who asked may have failed for its own reason.
		value, err := ask(ctx, h, s.tree)
		return s.tree, value, err
	}
	value, _ := a.value.(A)
	return s.tree, value, nil
}

// shareAnswer returns the answer of a type, or a new one that the caller has to get.
func (s *snapshot) shareAnswer(kind reflect.Type) (a *answer, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.answers[kind]; ok {
		return a, false
	}
	if s.answers == nil {
		s.answers = map[reflect.Type]*answer{}
	}
	a = &answer{done: make(chan struct{})}
	s.answers[kind] = a
	return a, true
}

// forgetAnswer drops an answer that failed.
func (s *snapshot) forgetAnswer(kind reflect.Type, a *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers[kind] == a {
		delete(s.answers, kind)
	}
}
