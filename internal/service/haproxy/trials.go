package haproxy

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

const (
	// trialGather is how long a trial waits for others to go with it.
	trialGather = 30 * time.Millisecond
	// trialPatience is how long a trial that failed waits for what it may lack: Terraform plans what does not depend on each
	// other side by side, so it is a matter of milliseconds.
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

type place[E any] struct {
	checking sync.Mutex // held while a check runs

	mu       sync.Mutex
	accepted []entry[E]
	waiting  []*trial[E]
	version  int // counts what was accepted
}

type entry[E any] struct {
	who  string
	edit E
}

type trial[E any] struct {
	entry[E]
	done bool
	err  error
	// version is what it was checked on top of.
	version int
}

// Try returns what check says against an edit to a place, together with all that was accepted there. Trying the edit of one
// resource (who) again replaces what it said before.
func (t *Trials[E]) Try(ctx context.Context, where, who string, edit E, check func(edits []E) error) error {
	t.mu.Lock()
	if t.places == nil {
		t.places = map[string]*place[E]{}
	}
	if t.places[where] == nil {
		t.places[where] = &place[E]{}
	}
	p := t.places[where]
	t.mu.Unlock()
	began := time.Now()
	for {
		version, err := p.tryEdit(entry[E]{who, edit}, check)
		for err != nil && p.countAccepted() == version {
			if time.Since(began) > trialPatience || ctx.Err() != nil {
				return err
			}
			time.Sleep(trialGather)
		}
		if err == nil {
			return nil
		}
	}
}

func (p *place[E]) countAccepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.version
}

// tryEdit checks an edit with those that come at the same time, and one by one where that fails.
func (p *place[E]) tryEdit(e entry[E], check func(edits []E) error) (version int, err error) {
	mine := &trial[E]{entry: e}
	p.mu.Lock()
	p.waiting = append(p.waiting, mine)
	p.mu.Unlock()
	time.Sleep(trialGather)
	p.checking.Lock()
	defer p.checking.Unlock()
	p.mu.Lock()
	batch := p.waiting
	if !mine.done {
		p.waiting = nil
	}
	p.mu.Unlock()
	if !mine.done && !p.acceptBatch(batch, check) {
		for _, one := range batch {
			p.acceptBatch([]*trial[E]{one}, check)
		}
	}
	return mine.version, mine.err
}

// acceptBatch checks a batch on top of what was accepted.
func (p *place[E]) acceptBatch(batch []*trial[E], check func(edits []E) error) bool {
	next := slices.DeleteFunc(slices.Clone(p.accepted), func(e entry[E]) bool {
		return slices.ContainsFunc(batch, func(b *trial[E]) bool { return b.who == e.who })
	})
	for _, b := range batch {
		next = append(next, b.entry)
	}
	var edits []E
	for _, e := range next {
		edits = append(edits, e.edit)
	}
	err := check(edits)
	for _, b := range batch {
		b.done, b.err, b.version = true, err, p.countAccepted()
	}
	if err == nil {
		p.mu.Lock()
		p.accepted, p.version = next, p.version+1
		p.mu.Unlock()
	}
	return err == nil
}
