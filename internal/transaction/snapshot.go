package transaction

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// snapshotAge is how long readers share one read. Terraform refreshes in waves of its parallelism, so a
// refresh of hundreds of parts costs one read; a person's edit shows in the next command at the latest.
const snapshotAge = 2 * time.Second

// snapshot is a configuration as those who read at the same time share it.
type snapshot struct {
	done    chan struct{}
	taken   time.Time
	tree    Tree
	running bool
	// interrupted says that a commit did not come to its end, or is under way: what is live may be more than the tree.
	interrupted bool
	err         error

	mu      sync.Mutex
	answers map[reflect.Type]*answer
}

// Snapshot returns the daemon's configuration on the machine, of a daemon that is stopped too. Readers that ask at the
// same time share one read; after a commit by this process it is what that one proved. What an interrupted commit left on
// disk without loading it is not in the tree. The caller must not change the tree.
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

// Interrupted says whether a commit did not come to its end, or is under way, at the moment of Snapshot: the tree is the one before it, and
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
		s.tree, s.running, s.interrupted, s.err = q.readTree(ctx)
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
		tree, running, interrupted, err := q.readTree(ctx)
		return &snapshot{tree: tree, running: running, interrupted: interrupted}, err
	}
	return s, nil
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
	s := &snapshot{done: make(chan struct{}), taken: time.Now(), tree: t, running: running}
	close(s.done)
	if learned != nil {
		a := &answer{done: s.done, value: learned}
		s.answers = map[reflect.Type]*answer{reflect.TypeOf(learned): a}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shared = s
}
