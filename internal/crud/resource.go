package crud

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
)

func (r *typed[M, S]) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m M
	if resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...); resp.Diagnostics.HasError() || r.refuseOffline("create", &m, &resp.Diagnostics) {
		return
	}
	ctx, cancel := r.beginChange(ctx, &m, req.Plan.GetAttribute, "create", &resp.Diagnostics)
	defer cancel()
	r.learnDatabases(ctx, resp.Private, &resp.Diagnostics)
	claim := r.provided.ownerRun().New() // the framework hands a create nothing that its plan kept: of what it replaces it knows nothing
	r.forgetSuccessor(ctx, resp.Private, &resp.Diagnostics)
	at := StoreContext{ProviderData: r.provided, Claim: claim, Successor: r.nameSuccessor(ctx, &m, req.Plan.GetAttribute)}
	store, spec, ok := r.openStore(ctx, "create", at, &m, req.Config, &resp.Diagnostics)
	if !ok {
		return
	}
	got, err := r.createObject(ctx, store, spec)
	if err != nil {
		resp.Diagnostics.Append(NewFailure("create", r.describeObject(&m), err))
	}
	if err == nil || errors.As(err, new(*Unfinished)) {
		r.finishMark(ctx, store, &m, &resp.Diagnostics)
	}
	r.keepResult(ctx, store, got, err, outcome[M]{&m, req.Plan.Raw, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics})
}

// createObject makes an object. What another resource of this run has in its place it takes over once that one is being removed, and
// what failed after the object was marked is an *Unfinished.
func (r *typed[M, S]) createObject(ctx context.Context, store Store[S], spec S) (S, error) {
	got, err := store.Create(ctx, spec)
	if r.awaitInState(ctx, err, owner.AwaitApply) {
		got, err = store.Create(ctx, spec)
	}
	owned, ok := store.(Owned)
	if err != nil && ok && owned.Claim().IsWritten() && !errors.As(err, new(*Unfinished)) {
		err = &Unfinished{Err: err}
	}
	return got, err
}

func (r *typed[M, S]) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m M
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	// A CLI without identities sends none, and the framework wants one even of what turns out to be gone.
	r.setIdentity(ctx, req.State, resp.Identity, &m, &resp.Diagnostics)
	ctx, cancel := r.boundOperation(ctx, req.State.GetAttribute, "read", &resp.Diagnostics)
	defer cancel()
	if r.provided.Fleet == nil || r.provided.Fleet.Offline() {
		return
	}
	resp.Diagnostics.Append(r.readRecalled(ctx, req.Private, &m)...)
	r.noteInState(ctx, req.Private, &resp.Diagnostics)
	r.learnDatabases(ctx, req.Private, &resp.Diagnostics)
	read, claim := r.readObject, r.restoreClaim(ctx, req.Private, &resp.Diagnostics)
	if isMoved(ctx, req.Private, &resp.Diagnostics) {
		read = r.findMoved
	}
	store, got, err := read(ctx, claim, &m)
	if lost, is := errors.AsType[*fleet.LostError](err); is {
		resp.Diagnostics.AddWarning("Cannot look at "+r.describeObject(&m), lost.Error()+": what is known of it stays.")
	}
	if errors.Is(err, fleet.ErrUnknown) {
		return // nothing may be asked yet, so what is known stays
	}
	foreign, taken := errors.AsType[*owner.ForeignError](err)
	unseen, _ := errors.AsType[*service.UnseenError](err)
	switch {
	case taken:
		// It stays in the state, as it was known: that it is gone is not proven, and a destroy must not plan to make it anew.
		resp.Diagnostics.AddWarning(r.describeObject(&m)+" is not this resource's any more",
			foreign.Error()+". It will not be changed nor removed; take this resource out of the state with `terraform state rm` before an import.")
		return
	case unseen != nil:
		resp.Diagnostics.AddWarning("Cannot look at "+r.describeObject(&m), unseen.Why)
		return
	case part.IsAbsent(err):
		resp.State.RemoveResource(ctx)
		return
	case err != nil:
		resp.Diagnostics.Append(NewFailure("read", r.describeObject(&m), err))
		return
	}
	if !isUnread(ctx, req.Private, &resp.Diagnostics) { // an import changes nothing
		r.finishMark(ctx, store, &m, &resp.Diagnostics)
	}
	r.keepResult(ctx, store, got, nil, outcome[M]{&m, req.State.Raw, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics})
}

// readObject opens the store of the object that the model's key names, and reads it.
func (r *typed[M, S]) readObject(ctx context.Context, claim owner.Claim, m *M) (store Store[S], got S, err error) {
	if store, err = r.Open(ctx, StoreContext{ProviderData: r.provided, Claim: claim}, m); err == nil {
		got, err = store.Get(ctx)
	}
	return store, got, err
}

func (r *typed[M, S]) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, prior M
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() || r.refuseOffline("update", &m, &resp.Diagnostics) {
		return
	}
	ctx, cancel := r.beginChange(ctx, &m, req.Plan.GetAttribute, "update", &resp.Diagnostics)
	defer cancel()
	resp.Diagnostics.Append(r.readRecalled(ctx, req.Private, &prior)...)
	r.noteInState(ctx, req.Private, &resp.Diagnostics)
	r.learnDatabases(ctx, req.Private, &resp.Diagnostics)
	resp.Diagnostics.Append(r.readRecalled(ctx, req.Private, &m)...)
	was, diags := r.Spec(ctx, &prior)
	resp.Diagnostics.Append(diags...)
	at := StoreContext{ProviderData: r.provided, Claim: r.restoreClaim(ctx, req.Private, &resp.Diagnostics)}
	store, spec, ok := r.openStore(ctx, "update", at, &m, req.Config, &resp.Diagnostics)
	if !ok {
		return
	}
	got, err := store.Update(ctx, was, spec)
	if err != nil {
		resp.Diagnostics.Append(NewFailure("update", r.describeObject(&m), err))
	}
	r.keepResult(ctx, store, got, err, outcome[M]{&m, req.Plan.Raw, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics})
}

func (r *typed[M, S]) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m M
	if resp.Diagnostics.Append(req.State.Get(ctx, &m)...); resp.Diagnostics.HasError() || r.refuseOffline("delete", &m, &resp.Diagnostics) {
		return
	}
	ctx, cancel := r.beginChange(ctx, &m, req.State.GetAttribute, "delete", &resp.Diagnostics)
	defer cancel()
	claim, known := r.claimToDelete(ctx, req.Private, &resp.Diagnostics)
	r.noteInState(ctx, req.Private, &resp.Diagnostics)
	r.learnDatabases(ctx, req.Private, &resp.Diagnostics)
	at := StoreContext{ProviderData: r.provided, Claim: claim, Successor: readSuccessor(ctx, req.Private, &resp.Diagnostics)}
	store, err := r.Open(ctx, at, &m)
	if err == nil {
		err = store.Delete(ctx)
		resp.Diagnostics.Append(listWarnings(store)...)
	}
	if lost, is := errors.AsType[*fleet.LostError](err); is {
		r.abandonObject(ctx, at, &m, lost, &resp.Diagnostics)
		return
	}
	if foreign, taken := errors.AsType[*owner.ForeignError](err); taken {
		// What replaces this resource in the same run took it over: nothing is left behind that needs a word.
		detail := foreign.Error()
		if !known {
			detail += unproven
		}
		if !foreign.Described() {
			resp.Diagnostics.AddWarning(r.describeObject(&m)+" stays", detail)
		}
		return
	}
	if err != nil && !part.IsAbsent(err) {
		resp.Diagnostics.Append(NewFailure("delete", r.describeObject(&m), err))
	}
}

// abandonObject lets go of an object on a lost hypervisor, and removes what it has elsewhere.
func (r *typed[M, S]) abandonObject(ctx context.Context, at StoreContext, m *M, lost *fleet.LostError, diags *diag.Diagnostics) {
	if r.Abandon != nil {
		if err := r.Abandon(ctx, at, m); err != nil {
			diags.Append(NewFailure("delete", r.describeObject(m), err))
			return
		}
	}
	diags.AddWarning(r.describeObject(m)+" is let go of", lost.Error()+": what is left of it there is nobody's from now on.")
}

// refuseOffline refuses what would change something while the provider is offline, and says whether it did.
func (r *typed[M, S]) refuseOffline(verb string, m *M, diags *diag.Diagnostics) bool {
	return r.provided.RefuseOffline(verb, r.describeObject(m), diags)
}

// readRecalled reads what private state keeps for the model.
func (r *typed[M, S]) readRecalled(ctx context.Context, p private, m *M) diag.Diagnostics {
	if r.Recall == nil {
		return nil
	}
	return r.Recall(ctx, p, m)
}

// openStore converts the model, write-only values included, and opens its store.
func (r *typed[M, S]) openStore(ctx context.Context, verb string, at StoreContext, m *M, written tfsdk.Config, diags *diag.Diagnostics) (Store[S], S, bool) {
	full := *m
	if r.WriteOnly != nil {
		var config M
		diags.Append(written.Get(ctx, &config)...)
		r.WriteOnly(&full, &config)
	}
	spec, d := r.Spec(ctx, &full)
	diags.Append(d...)
	if diags.HasError() {
		return nil, spec, false
	}
	store, err := r.Open(ctx, at, m)
	if err != nil {
		diags.Append(NewFailure(verb, r.describeObject(m), err))
		return nil, spec, false
	}
	return store, spec, true
}
