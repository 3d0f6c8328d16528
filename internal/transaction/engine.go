package transaction

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

const (
	// stateDir holds, for each daemon, what a commit keeps beside the live configuration.
	stateDir = "/var/lib/virtcluster"
	// snapshotAge is how long readers share one read. Terraform refreshes in waves of its parallelism, so a
	// refresh of hundreds of parts costs one read; a person's edit shows in the next command at the latest.
	snapshotAge = 2 * time.Second
)

// Engine runs the transactions of one provider process. The zero value is ready to use.
type Engine struct {
	// StateDir replaces /var/lib/virtcluster on the machines.
	StateDir string

	mu    sync.Mutex
	lines map[string]*line
}

// line is the traffic to one daemon on one machine.
type line struct {
	site

	mu      sync.Mutex
	waiting []*request
	leading bool
	abandon func() // ends the leader's wait for the lock, once nobody waits for the leader
	shared  *snapshot

	// What follows is the leader's: what the last group left on disk, loaded and verified, nil where that is
	// not sure; and how many edits there were when it ended, its own and those that waited.
	proven  Tree
	crowd   int
	crowded time.Time
}

type snapshot struct {
	done  chan struct{}
	taken time.Time
	tree  Tree
	err   error

	mu      sync.Mutex
	answers map[reflect.Type]*answer
}

// line finds the daemon's line; daemons and hosts are told apart by name.
func (e *Engine) line(h host.Host, d Daemon) *line {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lines == nil {
		e.lines = map[string]*line{}
	}
	key := d.Name() + " on " + h.String()
	l, ok := e.lines[key]
	if !ok {
		dir := stateDir
		if e.StateDir != "" {
			dir = e.StateDir
		}
		l = &line{site: site{host: h, daemon: d, dir: dir + "/" + d.Name()}}
		e.lines[key] = l
	}
	return l
}

// Snapshot returns the configuration that the daemon serves on the machine. Readers that ask at the same
// time share one read; after a commit by this process it is what that one proved. What an interrupted commit
// left on disk without loading it is not in the tree, and the tree of a daemon that does not run is empty:
// it serves nothing. The caller must not change the tree.
func (e *Engine) Snapshot(ctx context.Context, h host.Host, d Daemon) (Tree, error) {
	s, err := e.line(h, d).snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return s.tree, nil
}

func (l *line) snapshot(ctx context.Context) (*snapshot, error) {
	s, mine := l.share()
	if mine {
		s.tree, s.err = l.served(ctx)
		s.taken = time.Now()
		close(s.done)
		if s.err != nil {
			l.forget(s)
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
		tree, err := l.served(ctx)
		return &snapshot{tree: tree}, err
	}
	return s, nil
}

// share returns the current snapshot, or a new one that the caller has to take.
func (l *line) share() (s *snapshot, mine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.shared; s != nil {
		select {
		case <-s.done:
			if time.Since(s.taken) < snapshotAge {
				return s, false
			}
		default:
			return s, false
		}
	}
	l.shared = &snapshot{done: make(chan struct{})}
	return l.shared, true
}

// forget drops a snapshot; nil drops whatever is there.
func (l *line) forget(s *snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s == nil || l.shared == s {
		l.shared = nil
	}
}

// remember makes a tree that was just proven to be served the current snapshot: those who wait for the commit
// read their parts from it, and do not Ask again what the proof told.
func (l *line) remember(t Tree, learned any) {
	if t == nil {
		return
	}
	s := &snapshot{done: make(chan struct{}), taken: time.Now(), tree: t}
	close(s.done)
	if learned != nil {
		a := &answer{done: s.done, value: learned}
		s.answers = map[reflect.Type]*answer{reflect.TypeOf(learned): a}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shared = s
}

// Stripper is a Daemon that can take every part that the provider wrote out of a tree and put back what a
// take-over replaced, so that what a person wrote since is kept.
type Stripper interface{ Strip(t Tree) error }

// Owners is a Daemon that tells which parts of a tree carry the provider's mark, this state's or another's, as messages name
// them: `HAProxy backend "api" (owner …)`.
type Owners interface{ Owners(t Tree) []string }

// GiveBack ends the provider's hold on a daemon: the configuration becomes what it was before the first
// commit on the machine (what a person wrote since is kept where the Daemon is a Stripper), and what
// commits kept beside it is removed.
func (e *Engine) GiveBack(ctx context.Context, h host.Host, d Daemon) error {
	l := e.line(h, d)
	original, err := l.original(ctx)
	if err != nil || original == nil {
		return err // nothing was ever committed
	}
	err = e.Commit(ctx, h, d, Edit{Owner: "what was there before", Apply: func(t Tree) error {
		if s, ok := d.(Stripper); ok {
			return s.Strip(t)
		}
		clear(t)
		for path, file := range original {
			t[path] = file
		}
		return nil
	}})
	if err != nil {
		return err
	}
	return l.removeState(ctx)
}
