package transaction

import (
	"context"
	"reflect"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

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
