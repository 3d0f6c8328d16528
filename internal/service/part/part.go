// Package part is one resource's part of a daemon's configuration on one machine: a zone, a frontend. Whose a part is is decided here, for
// all daemons; how a daemon's package reads and writes it is all that they say.
package part

import (
	"bytes"
	"context"
	"errors"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Part is a crud.Store of one part, and makes the daemon serve what is wanted of it.
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
	// Whole says whether all is there of what belongs to the part and no attribute says; nil is for a part that consists of its attributes.
	// What somebody took out shows as a part that is not served, and the next apply puts it back.
	Whole func(t transaction.Tree) bool
	// Serves says whether what serves the part is up, of a daemon that is several programs; it is asked where one of them is stopped, which may be
	// another state's. Nil is for a daemon that is one.
	Serves func(ctx context.Context, h host.Host) (bool, error)
	// Add puts a part that must not be there yet, or may be taken over. Set puts it in any case. Both write the claim's mark.
	Add, Set func(t transaction.Tree, want S) error
	// Drop takes it out; absent is no error.
	Drop func(t transaction.Tree) error
	// Stays says why a part that is destroyed stays as it is: nothing of it was written by anyone but a person, whose files are put back in the
	// end. "" is for what Drop takes out; may be nil.
	Stays func(t transaction.Tree) string
	// Secrets of want, for errors and logs; may be nil.
	Secrets func(want S) []string
	// Look returns why the machine cannot have what is wanted, as an error at its attribute. It is asked before a create, and while one is
	// planned; may be nil.
	Look func(ctx context.Context, h host.Host, want S) error
	// Complete adds to what the configuration says what only the machine knows; may be nil.
	Complete func(ctx context.Context, h host.Host, got S) (S, error)
	// Change does what belongs to a create or an update beside the configuration: some of it before it calls write, which writes that, and
	// some after it. Remove does the same for a delete. Both may be nil.
	Change func(ctx context.Context, h host.Host, want S, write func(context.Context, S) (S, error)) (S, error)
	Remove func(ctx context.Context, h host.Host, remove func(context.Context) error) error

	claim    owner.Claim
	stopped  bool // or not whole
	warnings []service.Problem
}

// Open returns a part on a machine, for what may call it its own.
func Open[S any](engine *transaction.Engine, h host.Host, claim owner.Claim, p Part[S]) *Part[S] {
	p.Engine, p.Host, p.claim = engine, h, claim
	return &p
}

// IsAbsent tells a proven absence from every other error, of a daemon's configuration or of anything else.
func IsAbsent(err error) bool {
	return errors.Is(err, service.ErrAbsent) || errors.Is(err, transaction.ErrAbsent)
}

// Claim implements crud.Owned.
func (p *Part[S]) Claim() owner.Claim { return p.claim }

// FinishMark implements crud.Owned.
func (p *Part[S]) FinishMark(ctx context.Context) error {
	err := p.Engine.Commit(ctx, p.Host, p.Daemon, NewMarkEdit(p.Owner, p.claim))
	if err == nil {
		p.claim = p.claim.Finished()
	}
	return err
}

// NewMarkEdit returns the edit of a daemon's configuration that finishes the marks of a claim, wherever they stand; what names the part.
func NewMarkEdit(what string, claim owner.Claim) transaction.Edit {
	return transaction.Edit{Owner: what, Cut: owner.CutCreating, Apply: func(t transaction.Tree) error {
		for path, f := range t {
			if finished := claim.FinishText(f.Content); !bytes.Equal(finished, f.Content) {
				f.Content = finished
				t[path] = f
			}
		}
		return nil
	}}
}

// Get implements crud.Store. A part that carries another's mark is not this one: it is an *owner.ForeignError.
func (p *Part[S]) Get(ctx context.Context) (S, error) {
	var none S
	t, err := p.Engine.Snapshot(ctx, p.Host, p.Daemon)
	if err != nil {
		return none, err
	}
	running, err := p.Engine.Running(ctx, p.Host, p.Daemon)
	if err == nil && !running && p.Serves != nil {
		running, err = p.Serves(ctx, p.Host)
	}
	if err != nil {
		return none, err
	}
	p.stopped = !running || p.Whole != nil && !p.Whole(t)
	got, err := p.Find(t)
	if err != nil {
		return none, err
	}
	if err := p.checkOwner(t, p.claim.Owns); err != nil {
		return none, err
	}
	if p.Mark != nil {
		found, _ := p.Mark(t)
		p.claim = p.claim.Found(found)
	}
	if p.Complete != nil {
		return p.Complete(ctx, p.Host, got)
	}
	return got, nil
}

// MayCreate implements crud.Previewer.
func (p *Part[S]) MayCreate(ctx context.Context) error {
	t, err := p.Engine.Snapshot(ctx, p.Host, p.Daemon)
	if err != nil {
		return err
	}
	return p.checkOwner(t, p.claim.MayTake)
}

// Try implements crud.Trier: the part is checked in what the machine has now. A machine that has nothing of the daemon's yet is not asked.
func (p *Part[S]) Try(ctx context.Context, want S) error {
	t, err := p.Engine.Snapshot(ctx, p.Host, p.Daemon)
	if err != nil || len(t) == 0 {
		return err
	}
	next := t.Clone()
	if err := p.Set(next, want); err != nil {
		return err
	}
	return transaction.Try(ctx, p.Host, p.Daemon, next)
}

// LookAtMachine implements crud.Looker.
func (p *Part[S]) LookAtMachine(ctx context.Context, want S) error {
	if p.Look == nil {
		return nil
	}
	return p.Look(ctx, p.Host, want)
}

// Create implements crud.Store.
func (p *Part[S]) Create(ctx context.Context, want S) (S, error) {
	if p.Look != nil || p.Change != nil {
		// Before anything is looked at or done for the sake of what is another's.
		if err := p.MayCreate(ctx); err != nil {
			return want, err
		}
	}
	if err := p.LookAtMachine(ctx, want); err != nil {
		return want, err
	}
	return p.changePart(ctx, want, p.claim.MayTake, p.Add)
}

// Update implements crud.Store.
func (p *Part[S]) Update(ctx context.Context, _, want S) (S, error) {
	return p.changePart(ctx, want, p.claim.Owns, p.Set)
}

// Delete implements crud.Store.
func (p *Part[S]) Delete(ctx context.Context) error {
	if p.Remove != nil {
		return p.Remove(ctx, p.Host, p.commitRemoval)
	}
	return p.commitRemoval(ctx)
}

func (p *Part[S]) commitRemoval(ctx context.Context) error {
	why := ""
	err := p.Engine.Commit(ctx, p.Host, p.Daemon, transaction.Edit{Owner: p.Owner, Removes: true, Warn: p.addWarning, Apply: func(t transaction.Tree) error {
		if err := p.checkOwner(t, p.claim.Owns); err != nil {
			return err
		}
		if p.Stays != nil {
			if why = p.Stays(t); why != "" {
				return nil
			}
		}
		return p.Drop(t)
	}})
	if err == nil && why != "" {
		p.warnings = append(p.warnings, service.Warningf(nil, p.Owner+" stays", "%s", why))
	}
	return err
}

// Serving implements crud.Server.
func (p *Part[S]) Serving() bool { return !p.stopped }

// Warnings implements crud.Warner.
func (p *Part[S]) Warnings() []service.Problem { return p.warnings }

func (p *Part[S]) addWarning(text string) {
	p.warnings = append(p.warnings, DaemonWarning(text))
}

// DaemonWarning is what a transaction says of a daemon after a change that succeeded (transaction.Edit.Warn).
func DaemonWarning(text string) service.Problem {
	return service.Warningf(nil, "A daemon is not as its configuration says", "%s", text)
}

func (p *Part[S]) changePart(ctx context.Context, want S, allowed func(owner.Mark) bool, put func(transaction.Tree, S) error) (S, error) {
	write := func(ctx context.Context, want S) (S, error) { return p.commitChange(ctx, want, allowed, put) }
	if p.Change != nil {
		return p.Change(ctx, p.Host, want, write)
	}
	return write(ctx, want)
}

func (p *Part[S]) commitChange(ctx context.Context, want S, allowed func(owner.Mark) bool, put func(transaction.Tree, S) error) (S, error) {
	edit := transaction.Edit{Owner: p.Owner, Warn: p.addWarning, Apply: func(t transaction.Tree) error {
		if err := p.checkOwner(t, allowed); err != nil {
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
	return service.ReadBack(ctx, p.Get, nil)
}

// checkOwner returns an *owner.ForeignError where the tree has a part of the name that is not allowed to be touched.
func (p *Part[S]) checkOwner(t transaction.Tree, allowed func(owner.Mark) bool) error {
	if p.Mark == nil {
		return nil
	}
	found, there := p.Mark(t)
	if !there || allowed(found) {
		return nil
	}
	return p.claim.NewForeignError(p.Owner, p.Place+" on "+p.Host.String(), p.ImportID, found)
}

// Identity is what a part is called and whose it is, before anything is known of what it consists of.
type Identity struct {
	// Name is the object's on its machine; "" where a machine has one.
	Name string
	// ImportID is what `terraform import` takes for it.
	ImportID string
	// Mark is its owner's.
	Mark owner.Mark
	// Version is the provider's.
	Version string
}
