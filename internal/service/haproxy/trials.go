package haproxy

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

const (
	// trialGather is how long a check waits for more to go with it: Terraform plans what does not depend on each other side by side.
	trialGather = 30 * time.Millisecond
	// trialPatience is how long a trial that failed waits for what it may lack, which is planned beside it.
	trialPatience = 2 * time.Second
)

// Trials has what the resources of one plan would write to one machine checked together, each on top of what was accepted
// before it. The zero value is ready to use.
type Trials[E any] struct {
	mu     sync.Mutex
	places map[string]*place[E]
}

// Edits are the trials of what resources make of a machine's configuration.
type Edits = Trials[func(transaction.Tree) error]

// place is what is tried on one machine.
type place[E any] struct {
	mu       sync.Mutex
	accepted []*trial[E]
	waiting  []*trial[E]
	checking bool
	// changed is closed when more is accepted.
	changed chan struct{}
}

// trial is the edit of one resource (who).
type trial[E any] struct {
	who   string
	edit  E
	check func(edits []E) error
	// err is what the check said, once done is closed. It may say something else once outdated is.
	err            error
	done, outdated chan struct{}
}

// Try returns what check says against an edit to a place, together with all that was accepted there. Trying the edit of one
// resource (who) again replaces what it said before.
func (t *Trials[E]) Try(ctx context.Context, where, who string, edit E, check func(edits []E) error) error {
	t.mu.Lock()
	if t.places == nil {
		t.places = map[string]*place[E]{}
	}
	if t.places[where] == nil {
		t.places[where] = &place[E]{changed: make(chan struct{})}
	}
	p := t.places[where]
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, trialPatience)
	defer cancel()
	for {
		one := &trial[E]{who: who, edit: edit, check: check, done: make(chan struct{})}
		p.addTrial(one)
		if <-one.done; one.err == nil {
			return nil
		}
		select {
		case <-one.outdated:
		case <-ctx.Done():
			return one.err
		}
	}
}

// addTrial has a trial checked with those that come at the same time.
func (p *place[E]) addTrial(one *trial[E]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, one)
	if !p.checking {
		p.checking = true
		go p.checkTrials()
	}
}

// checkTrials checks what waits, all of it at once, and one by one where that fails, until nothing comes any more.
func (p *place[E]) checkTrials() {
	for batch := p.gatherTrials(); len(batch) > 0; batch = p.gatherTrials() {
		if !p.acceptTrials(batch) && len(batch) > 1 {
			for i := range batch {
				p.acceptTrials(batch[i : i+1])
			}
		}
		for _, one := range batch {
			close(one.done)
		}
	}
}

// gatherTrials returns those that wait after a moment; without any, the checks are at an end.
func (p *place[E]) gatherTrials() []*trial[E] {
	<-time.After(trialGather)
	p.mu.Lock()
	defer p.mu.Unlock()
	batch := p.waiting
	p.waiting, p.checking = nil, len(batch) > 0
	return batch
}

// acceptTrials checks a batch on top of what was accepted, and says whether it is accepted too.
func (p *place[E]) acceptTrials(batch []*trial[E]) bool {
	next := slices.DeleteFunc(slices.Clone(p.accepted), func(old *trial[E]) bool {
		return slices.ContainsFunc(batch, func(one *trial[E]) bool { return one.who == old.who })
	})
	next = append(next, batch...)
	edits := make([]E, len(next))
	for i, one := range next {
		edits[i] = one.edit
	}
	err := batch[0].check(edits)
	for _, one := range batch {
		one.err, one.outdated = err, p.changed
	}
	if err == nil {
		p.accepted = next
		close(p.changed)
		p.changed = make(chan struct{})
	}
	return err == nil
}
