// Package crud is the only place where framework requests become calls on a store: not-found, diagnostics,
// identity, import and timeouts are written once, here.
package crud

import (
	"context"
	"errors"
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// ErrAbsent is a proven "does not exist": the only error that drops a resource from state. Stores return it
// wrapped or bare; transaction.ErrAbsent means the same.
var ErrAbsent = service.ErrAbsent

// Absent tells a proven absence from every other error.
func Absent(err error) bool {
	return errors.Is(err, ErrAbsent) || errors.Is(err, transaction.ErrAbsent)
}

// Store is where one object lives, opened for its key. S is the object in plain Go values.
type Store[S any] interface {
	// Get reads the object back from the real system.
	Get(ctx context.Context) (S, error)
	// Create makes it and returns what was made. What a killed run of this workspace left behind is taken over; anything else
	// that is there already is an *owner.ForeignError. An error that is an *Unfinished made something.
	Create(ctx context.Context, want S) (S, error)
	// Update turns was into want in place and returns what is there then. What became somebody else's is an *owner.ForeignError.
	Update(ctx context.Context, was, want S) (S, error)
	// Delete removes it; an absent object is no error. What became somebody else's stays, with an *owner.ForeignError.
	Delete(ctx context.Context) error
}

// Opening is what a store is opened with.
type Opening struct {
	// Fleet is nil while the provider is not configured.
	Fleet *fleet.Fleet
	// Claim is what the resource may call its own.
	Claim owner.Claim
}

// Owned is a Store of something that carries its owner's mark. Claim is what the state keeps after a call on it.
type Owned interface{ Claim() owner.Claim }

// Previewer is a Store that tells while planning what its Create would refuse. The error is an *owner.ForeignError where
// something of another's is in the place; any other is left to the apply.
type Previewer interface {
	MayCreate(ctx context.Context) error
}

// Unfinished is the error of a change that made something and then failed.
type Unfinished = service.Unfinished

// ReadBack returns what a store has after a change that ended with err: for stores whose changes return nothing.
func ReadBack[S any](ctx context.Context, get func(context.Context) (S, error), err error) (S, error) {
	var none S
	if err != nil {
		return none, err
	}
	got, err := get(ctx)
	if err != nil {
		return none, &Unfinished{Err: fmt.Errorf("read back: %w", err)}
	}
	return got, nil
}

// Warner is a Store that has something to say about a change that succeeded: each problem is a warning.
type Warner interface{ Warnings() []service.Problem }

// Part is a Store for one resource's part of a daemon's configuration on one machine: a zone, a frontend. Whose a part is is
// decided here, for all daemons.
type Part[S any] struct {
	Engine *transaction.Engine
	Host   host.Host
	Daemon transaction.Daemon
	// Owner names the part in messages: `HAProxy backend "api"`.
	Owner string
	// Place is the file that holds it, and ImportID what `terraform import` takes for it.
	Place, ImportID string
	// Mark reads whose part of that name the tree has; false where it has none.
	Mark func(t transaction.Tree) (owner.Mark, bool)
	// Find reads the part; transaction.ErrAbsent when it is not there.
	Find func(t transaction.Tree) (S, error)
	// Add puts a part that must not be there yet, or may be taken over. Set puts it in any case. Both write the claim's mark.
	Add, Set func(t transaction.Tree, want S) error
	// Drop takes it out; absent is no error.
	Drop func(t transaction.Tree) error
	// Secrets of want, for errors and logs; may be nil.
	Secrets func(want S) []string

	claim    owner.Claim
	stopped  bool
	warnings []service.Problem
}

// OpenPart makes a Part's connection: every service resource starts here.
func OpenPart[S any](ctx context.Context, at Opening, serviceNode string, p Part[S]) (*Part[S], error) {
	h, err := at.Fleet.Host(ctx, serviceNode)
	if err != nil {
		return nil, err
	}
	p.Engine, p.Host, p.claim = &at.Fleet.Engine, h, at.Claim
	return &p, nil
}

// Claim implements Owned.
func (p *Part[S]) Claim() owner.Claim { return p.claim }

// Get implements Store. A part that carries another's mark is not this one: it is an *owner.ForeignError.
func (p *Part[S]) Get(ctx context.Context) (S, error) {
	var none S
	t, err := p.Engine.Snapshot(ctx, p.Host, p.Daemon)
	if err != nil {
		return none, err
	}
	running, err := p.Engine.Running(ctx, p.Host, p.Daemon)
	if err != nil {
		return none, err
	}
	p.stopped = !running
	got, err := p.Find(t)
	if err != nil {
		return none, err
	}
	if err := p.mine(t, p.claim.Owns); err != nil {
		return none, err
	}
	if p.Mark != nil {
		found, _ := p.Mark(t)
		p.claim = p.claim.Found(found)
	}
	return got, nil
}

// MayCreate implements Previewer.
func (p *Part[S]) MayCreate(ctx context.Context) error {
	t, err := p.Engine.Snapshot(ctx, p.Host, p.Daemon)
	if err != nil {
		return err
	}
	return p.mine(t, p.claim.MayTake)
}

// Create implements Store.
func (p *Part[S]) Create(ctx context.Context, want S) (S, error) {
	return p.commit(ctx, want, p.claim.MayTake, p.Add)
}

// Update implements Store.
func (p *Part[S]) Update(ctx context.Context, _, want S) (S, error) {
	return p.commit(ctx, want, p.claim.Owns, p.Set)
}

// Delete implements Store.
func (p *Part[S]) Delete(ctx context.Context) error {
	return p.Engine.Commit(ctx, p.Host, p.Daemon, transaction.Edit{Owner: p.Owner, Removes: true, Warn: p.warn, Apply: func(t transaction.Tree) error {
		if err := p.mine(t, p.claim.Owns); err != nil {
			return err
		}
		return p.Drop(t)
	}})
}

// Serving implements Server.
func (p *Part[S]) Serving() bool { return !p.stopped }

// Warnings implements Warner.
func (p *Part[S]) Warnings() []service.Problem { return p.warnings }

func (p *Part[S]) warn(text string) {
	p.warnings = append(p.warnings, service.Warningf(nil, "A daemon is not as its configuration says", "%s", text))
}

func (p *Part[S]) commit(ctx context.Context, want S, allowed func(owner.Mark) bool, put func(transaction.Tree, S) error) (S, error) {
	edit := transaction.Edit{Owner: p.Owner, Warn: p.warn, Apply: func(t transaction.Tree) error {
		if err := p.mine(t, allowed); err != nil {
			return err
		}
		return put(t, want)
	}}
	if p.Secrets != nil {
		edit.Secrets = p.Secrets(want)
	}
	if err := p.Engine.Commit(ctx, p.Host, p.Daemon, edit); err != nil {
		return want, err
	}
	p.claim = p.claim.Written()
	return ReadBack(ctx, p.Get, nil)
}

// mine returns an *owner.ForeignError where the tree has a part of the name that is not allowed to be touched.
func (p *Part[S]) mine(t transaction.Tree, allowed func(owner.Mark) bool) error {
	if p.Mark == nil {
		return nil
	}
	found, there := p.Mark(t)
	if !there || allowed(found) {
		return nil
	}
	return &owner.ForeignError{What: p.Owner, Place: p.Place + " on " + p.Host.String(), ImportID: p.ImportID, Owner: found}
}
