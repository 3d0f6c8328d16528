// Package readiness is the resource virtcluster_readiness.
package readiness

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/cli"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/readiness"
)

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, ready]{
		Name:   "readiness",
		Noun:   "readiness",
		Label:  formatID,
		Schema: resourceSchema,
		Key:    []string{"id"},
		ID:     formatID,
		Split:  splitID,
		SetID:  func(m *model, id string) { m.ID = types.StringValue(id) },
		Spec:   func(ctx context.Context, m *model) (ready, diag.Diagnostics) { return m.toSpec(ctx) },
		Fill: func(_ context.Context, m *model, got ready) diag.Diagnostics {
			m.fillModel(got)
			return nil
		},
		Open: openStore,
		// The condition has its own time, to which the last question and the way to the machine come.
		Timeouts: map[string]time.Duration{"create": maxTimeout + time.Minute, "update": maxTimeout + time.Minute, "delete": maxTimeout + time.Minute},
	})
}

func openStore(ctx context.Context, at crud.Opening, m *model) (crud.Store[ready], error) {
	known, _ := m.toSpec(ctx)
	s := &store{asker: readiness.Here{}, known: known}
	if from := m.From.ValueString(); from != "" {
		h, err := at.Fleet.Host(ctx, from)
		if err != nil {
			return nil, err
		}
		s.asker = readiness.There{Host: h}
	}
	return s, nil
}

// store is an answer that was given once: nothing keeps it but the state.
type store struct {
	asker readiness.Asker
	known ready
}

// Get returns what the state has, and asks once after an import, which has no answer yet.
func (s *store) Get(ctx context.Context) (ready, error) {
	if s.known.answer != "" || s.known.atDestroy {
		return s.known, nil
	}
	answer, err := s.asker.Ask(ctx, s.known.Condition)
	return ready{Condition: s.known.Condition, answer: answer}, err
}

// Create waits, unless a destroy does.
func (s *store) Create(ctx context.Context, want ready) (ready, error) {
	want.answer = ""
	if want.atDestroy {
		return want, nil
	}
	var err error
	want.answer, err = s.waitReady(ctx, want)
	return want, err
}

// givenUp is the answer where nobody waited for one.
const givenUp = "given up"

// Update waits anew, but not where it is to hold nothing back any more: that is how to give up waiting.
func (s *store) Update(ctx context.Context, was, want ready) (ready, error) {
	if was.atDestroy {
		want.answer = givenUp
		return want, nil
	}
	return s.Create(ctx, want)
}

// Delete has nothing to remove, and waits where it shall: not when all that might stay until then goes as well.
func (s *store) Delete(ctx context.Context) error {
	if !s.known.atDestroy || cli.DestroysAll() {
		return nil
	}
	if _, err := s.waitReady(ctx, s.known); err != nil {
		return fmt.Errorf("%w; what goes after it stays: to give up waiting, apply with when = \"create\" first, or take it out of the state (terraform state rm)", err)
	}
	return nil
}

func (s *store) waitReady(ctx context.Context, want ready) (answer string, err error) {
	return readiness.Wait(ctx, s.asker, want.Condition, func(reason string) {
		tflog.Info(ctx, "not ready yet", map[string]any{"target": want.Target(), "reason": reason})
	})
}
