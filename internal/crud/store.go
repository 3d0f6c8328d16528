// Package crud is the only place where framework requests become calls on a store: not-found, diagnostics,
// identity, import and timeouts are written once, here.
package crud

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// ErrAbsent is a proven "does not exist": the only error that drops a resource from state. Stores return it
// wrapped or bare; transaction.ErrAbsent means the same (part.IsAbsent).
var ErrAbsent = service.ErrAbsent

// Store is where one object lives, opened for its key. S is the object in plain Go values.
type Store[S any] interface {
	// Get reads the object back from the real system.
	Get(ctx context.Context) (S, error)
	// Create makes it and returns what was made. What a killed run of this workspace left behind is taken over; anything else
	// that is there already is an *owner.ForeignError. An error that is an *Unfinished made something, as does any error of an
	// Owned one whose claim is written by then.
	Create(ctx context.Context, want S) (S, error)
	// Update turns was into want in place and returns what is there then. What became somebody else's is an *owner.ForeignError.
	Update(ctx context.Context, was, want S) (S, error)
	// Delete removes it; an absent object is no error. What became somebody else's stays, with an *owner.ForeignError.
	Delete(ctx context.Context) error
}

// StoreContext is what a store is opened with.
type StoreContext struct {
	ProviderData
	// Claim is what the resource may call its own.
	Claim owner.Claim
	// Successor names, of an object that takes turns, what a create makes, and what the same apply makes in place of what a delete removes;
	// "" where it is removed for good. It is "" elsewhere.
	Successor string
	// Brief is set where what takes long to read may be left out: the sums of an image.
	Brief bool
	// Announce tells the plan's ledger, in the middle of a type's own plan, what the planned object uses by now: others look for what its
	// plan completed while they ask their machines. It is nil elsewhere.
	Announce func()
}

// OpenPart opens a part of a daemon's configuration on a service node: every resource of one starts here.
func OpenPart[S any](ctx context.Context, at StoreContext, serviceNode string, p part.Part[S]) (*part.Part[S], error) {
	h, err := at.Fleet.Host(ctx, serviceNode)
	if err != nil {
		return nil, err
	}
	return part.Open(&at.Fleet.Engine, h, at.Claim, p), nil
}

// Snapshot returns a daemon's configuration on a machine, for a type that lists what is in it.
func Snapshot(ctx context.Context, at StoreContext, machine string, d transaction.Daemon) (transaction.Tree, error) {
	h, err := at.Fleet.Host(ctx, machine)
	if err != nil {
		return nil, err
	}
	return at.Fleet.Engine.Snapshot(ctx, h, d)
}

// Owned is a Store of something that carries its owner's mark.
type Owned interface {
	// Claim is what the state keeps after a call on it. It is written once the mark stands on the machine, and not finished while
	// that says that the thing is being made.
	Claim() owner.Claim
	// FinishMark takes that word from the mark, and has the claim finished. Nothing is checked or told to load for it.
	FinishMark(ctx context.Context) error
}

// Previewer is a Store that tells while planning what its Create would refuse. The error is an *owner.ForeignError where
// something of another's is in the place; any other is left to the apply.
type Previewer interface {
	MayCreate(ctx context.Context) error
}

// Looker is a Store that tells, before an object is made and while that is planned, why its machine cannot have it: an error at an attribute.
// Any other error says that the machine cannot be asked now.
type Looker[S any] interface {
	LookAtMachine(ctx context.Context, want S) error
}

// Keeper is a Store that tells while planning why its Delete would leave the object to others that need it: nil where it would not.
// What cannot be asked now is left to the apply.
type Keeper interface {
	MayDelete(ctx context.Context) error
}

// Trier is a Store that has the daemon's own checker look, while planning, at what a change would make: the error is a
// *transaction.RefusedError where it would not have that; any other is left to the apply.
type Trier[S any] interface {
	Try(ctx context.Context, want S) error
}

// Unfinished is the error of a change that made something and then failed.
type Unfinished = service.Unfinished

// Warner is a Store that has something to say about a change that succeeded: each problem is a warning.
type Warner interface{ Warnings() []service.Problem }
