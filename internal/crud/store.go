// Package crud is the only place where framework requests become calls on a store: not-found, diagnostics,
// identity, import and timeouts are written once, here.
package crud

import (
	"context"
	"errors"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// ErrAbsent is a proven "does not exist": the only error that drops a resource from state. Stores return it
// wrapped or bare; transaction.ErrAbsent means the same.
var ErrAbsent = errors.New("does not exist")

// Absent tells a proven absence from every other error.
func Absent(err error) bool {
	return errors.Is(err, ErrAbsent) || errors.Is(err, transaction.ErrAbsent)
}

// Store is where one object lives, opened for its key. S is the object in plain Go values.
type Store[S any] interface {
	// Get reads the object back from the real system.
	Get(ctx context.Context) (S, error)
	// Create makes it. What an interrupted apply of this provider left behind is taken over; anything else
	// that is there already is an error that names the way to import it.
	Create(ctx context.Context, want S) error
	// Update turns prior into want in place.
	Update(ctx context.Context, prior, want S) error
	// Delete removes it; an absent object is no error.
	Delete(ctx context.Context) error
}

// Warner is a Store that has something to say about a change that succeeded: each problem is a warning.
type Warner interface{ Warnings() []service.Problem }

// Part is a Store for one resource's part of a daemon's configuration on one machine: a zone, a frontend.
type Part[S any] struct {
	Engine *transaction.Engine
	Host   host.Host
	Daemon transaction.Daemon
	// Owner names the part in messages: `HAProxy backend "api"`.
	Owner string
	// Find reads the part; transaction.ErrAbsent when it is not there.
	Find func(t transaction.Tree) (S, error)
	// Add puts a part that must not be there yet, unless this provider wrote it. Set puts it in any case.
	Add, Set func(t transaction.Tree, want S) error
	// Drop takes it out; absent is no error.
	Drop func(t transaction.Tree) error
	// Secrets of want, for errors and logs; may be nil.
	Secrets func(want S) []string
}

// OpenPart makes a Part's connection: every service resource starts here.
func OpenPart[S any](ctx context.Context, f *fleet.Fleet, serviceNode string, p Part[S]) (*Part[S], error) {
	h, err := f.Host(ctx, serviceNode)
	if err != nil {
		return nil, err
	}
	p.Engine, p.Host = &f.Engine, h
	return &p, nil
}

// Get implements Store.
func (p *Part[S]) Get(ctx context.Context) (S, error) {
	t, err := p.Engine.Snapshot(ctx, p.Host, p.Daemon)
	if err != nil {
		var none S
		return none, err
	}
	return p.Find(t)
}

// Create implements Store.
func (p *Part[S]) Create(ctx context.Context, want S) error {
	return p.commit(ctx, want, p.Add)
}

// Update implements Store.
func (p *Part[S]) Update(ctx context.Context, _, want S) error {
	return p.commit(ctx, want, p.Set)
}

// Delete implements Store.
func (p *Part[S]) Delete(ctx context.Context) error {
	return p.Engine.Commit(ctx, p.Host, p.Daemon, transaction.Edit{Owner: p.Owner, Apply: p.Drop})
}

func (p *Part[S]) commit(ctx context.Context, want S, put func(transaction.Tree, S) error) error {
	edit := transaction.Edit{Owner: p.Owner, Apply: func(t transaction.Tree) error { return put(t, want) }}
	if p.Secrets != nil {
		edit.Secrets = p.Secrets(want)
	}
	return p.Engine.Commit(ctx, p.Host, p.Daemon, edit)
}
