package readiness

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// Ready is a condition with what was answered when it was met.
type Ready struct {
	Condition
	Answer string
	// AtDestroy says that it is asked before it goes, and not before.
	AtDestroy bool
}

// Store is a crud.Store of an answer that was given once: nothing keeps it but the state.
type Store struct {
	asker Asker
	known Ready
	// destroysAll says whether this run destroys all that there is.
	destroysAll func() bool
}

// NewStore returns the store of an answer that the state or the plan has, asked for by an asker. destroysAll says whether this run destroys
// all that there is.
func NewStore(asker Asker, known Ready, destroysAll func() bool) *Store {
	return &Store{asker: asker, known: known, destroysAll: destroysAll}
}

// Get returns what the state has, and asks once after an import, which has no answer yet.
func (s *Store) Get(ctx context.Context) (Ready, error) {
	if s.known.Answer != "" || s.known.AtDestroy {
		return s.known, nil
	}
	answer, err := s.asker.Ask(ctx, s.known.Condition)
	return Ready{Condition: s.known.Condition, Answer: answer}, err
}

// Create waits, unless a destroy does.
func (s *Store) Create(ctx context.Context, want Ready) (Ready, error) {
	want.Answer = ""
	if want.AtDestroy {
		return want, nil
	}
	var err error
	want.Answer, err = s.waitReady(ctx, want)
	return want, err
}

// givenUp is the answer where nobody waited for one.
const givenUp = "given up"

// Update waits anew, but not where it is to hold nothing back any more: that is how to give up waiting.
func (s *Store) Update(ctx context.Context, was, want Ready) (Ready, error) {
	if was.AtDestroy {
		want.Answer = givenUp
		return want, nil
	}
	return s.Create(ctx, want)
}

// Delete has nothing to remove, and waits where it shall: not when all that might stay until then goes as well.
func (s *Store) Delete(ctx context.Context) error {
	if !s.known.AtDestroy || s.destroysAll() {
		return nil
	}
	if _, err := s.waitReady(ctx, s.known); err != nil {
		return fmt.Errorf("%w; what goes after it stays: to give up waiting, apply with when = \"create\" first, or take it out of the state (terraform state rm)", err)
	}
	return nil
}

func (s *Store) waitReady(ctx context.Context, want Ready) (answer string, err error) {
	return Wait(ctx, s.asker, want.Condition, func(reason string) {
		tflog.Info(ctx, "not ready yet", map[string]any{"target": want.Target(), "reason": reason})
	})
}
