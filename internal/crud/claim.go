package crud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// A resource's private state keeps its claim, and what it was called when that was kept.
const (
	claimKey = "owner"
	placeKey = "place"
)

// private is what the framework lets a resource keep beside its attributes.
type private interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// loadClaim reads the claim that a state keeps; nil where it keeps none.
func (r *typed[M, S]) loadClaim(ctx context.Context, p private, diags *diag.Diagnostics) *owner.Claim {
	text, d := p.GetKey(ctx, claimKey)
	diags.Append(d...)
	if len(text) == 0 {
		return nil
	}
	c := r.parseClaim(text, diags)
	return &c
}

// beginClaim returns the claim of an object that is to be made: where it replaces one, whose claim private state has, a claim that succeeds that.
func (r *typed[M, S]) beginClaim(ctx context.Context, p private, m *M, get getter, diags *diag.Diagnostics) owner.Claim {
	replaced := r.loadClaim(ctx, p, diags)
	if replaced == nil {
		return r.provided.ownerRun().New()
	}
	text, d := p.GetKey(ctx, placeKey)
	diags.Append(d...)
	var was []string
	_ = json.Unmarshal(text, &was) // none where no place is kept: then none is the same
	return replaced.Succeed(r.isInPlace(ctx, was, m, get))
}

// isInPlace says whether an object is where one with these names is: all that it is made of, where its type lists that, and else what its key
// calls it in one spelling or another.
func (r *typed[M, S]) isInPlace(ctx context.Context, was []string, m *M, get getter) bool {
	isThere := func(name string) bool { return slices.Contains(was, name) }
	names := r.listPlace(ctx, m, get)
	if r.Names == nil {
		return slices.ContainsFunc(names, isThere)
	}
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !isThere(name) })
}

// listPlace lists the names by which isInPlace knows where an object is.
func (r *typed[M, S]) listPlace(ctx context.Context, m *M, get getter) []string {
	if r.Names != nil {
		return r.Names(ctx, m)
	}
	return r.listNames(ctx, m, get)
}

// restoreClaim reads the claim that a state keeps. Where it keeps none it is one that adopts after an import, and else one of what a run
// of this workspace made: a provider that is killed in an update leaves Terraform a resource without what is kept beside its attributes.
func (r *typed[M, S]) restoreClaim(ctx context.Context, p private, diags *diag.Diagnostics) owner.Claim {
	if kept := r.loadClaim(ctx, p, diags); kept != nil {
		return *kept
	}
	if isUnread(ctx, p, diags) {
		return r.provided.ownerRun().Adopt()
	}
	return r.provided.ownerRun().OfWorkspace()
}

// claimToDelete reads the claim that a state keeps; where it keeps none, one of what this workspace left behind, and known is
// false. That is so at the replacement of a tainted resource, as Terraform hands over nothing of what is kept beside its
// attributes, and at a destroy without a refresh of a state without claims: an import ends with a read, and
// every read has a claim kept. Whose the thing is cannot be known then, so nothing but a mark of this workspace proves it.
func (r *typed[M, S]) claimToDelete(ctx context.Context, p private, diags *diag.Diagnostics) (claim owner.Claim, known bool) {
	if kept := r.loadClaim(ctx, p, diags); kept != nil {
		return *kept, true
	}
	return r.provided.ownerRun().OfWorkspace(), false
}

// unproven is what a destroy says of a thing that may have been a resource's own, and stays as nothing proves it.
const unproven = ". The state has no record of whose it is, as that of a tainted resource: what carries no mark of this workspace stays"

func (r *typed[M, S]) parseClaim(text []byte, diags *diag.Diagnostics) owner.Claim {
	c, err := r.provided.ownerRun().Restore(text)
	if err != nil {
		diags.AddError("Damaged state", err.Error())
	}
	return c
}

// saveClaim has the state keep the claim of a store that has one, once it is one, with the place of the object.
func (r *typed[M, S]) saveClaim(ctx context.Context, store any, m *M, get getter, p private, diags *diag.Diagnostics) {
	if owned, ok := store.(Owned); ok && !owned.Claim().Anonymous() {
		owned.Claim().NoteInState()
		diags.Append(p.SetKey(ctx, claimKey, owned.Claim().Record())...)
		place, _ := json.Marshal(r.listPlace(ctx, m, get)) // texts always can be
		diags.Append(p.SetKey(ctx, placeKey, place)...)
	}
}

// noteInState notes that this run's state has, or had, what the claim owns that it keeps.
func (r *typed[M, S]) noteInState(ctx context.Context, p private, diags *diag.Diagnostics) {
	if kept := r.loadClaim(ctx, p, diags); kept != nil {
		kept.NoteInState()
	}
}

// finishLimit bounds how long it takes to finish a mark, even where the call had no time left.
const finishLimit = time.Minute

// finishMark finishes the mark of a thing that the state keeps from now on. What fails is a warning, and is tried again by the next
// read: until then another run of the workspace may take the thing for one that a killed run left behind. Where the call was given up the
// mark stays as it is: a program that was killed keeps nothing in its state, and its next run is to take the thing for left behind.
func (r *typed[M, S]) finishMark(ctx context.Context, store Store[S], m *M, diags *diag.Diagnostics) {
	owned, ok := store.(Owned)
	if !ok || owned.Claim().IsFinished() || owned.Claim().Anonymous() || errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishLimit)
	defer cancel()
	if err := owned.FinishMark(ctx); err != nil {
		diags.AddWarning(fmt.Sprintf("%s %q stays marked as unfinished", r.Noun, r.Label(m)),
			fmt.Sprintf("It is there, and the state has it, but its mark could not be changed: %v. The next plan tries again.", err))
	}
}

// awaitInState waits until this run's state turns out to have what is in the way of a create, as where a resource has another address in
// the configuration now, or is tainted. It says whether it has.
func (r *typed[M, S]) awaitInState(ctx context.Context, err error, limit time.Duration) bool {
	foreign, is := errors.AsType[*owner.ForeignError](err)
	return is && r.provided.ownerRun().IsUnknown(foreign.Owner) && r.provided.ownerRun().AwaitInState(ctx, foreign.Owner, limit)
}
