package crud

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
)

// Moves is how `moved` blocks make objects of a type: by the type of the other provider's resource, a function that writes into the model what
// names the object, as Split does for an import. All else is what an import does.
type Moves[M any] map[string]func(m *M, from peer.Thing)

// MoveState implements resource.ResourceWithMoveState.
func (r *typed[M, S]) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{StateMover: r.moveState}}
}

// moveState makes the state of another provider's resource one of an object that the next read reads as it does after an import. Nothing is
// asked: the provider is not configured while states are moved.
func (r *typed[M, S]) moveState(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
	what := fmt.Sprintf("Cannot move %s to virtcluster_%s", req.SourceTypeName, r.Name)
	if !peer.Is(req.SourceProviderAddress, req.SourceTypeName) {
		resp.Diagnostics.AddError(what, fmt.Sprintf("It is a resource of %s, and only those of %s can be moved here. Import the %s by an import block.", req.SourceProviderAddress, peer.Provider, r.Noun))
		return
	}
	move := r.Moves[req.SourceTypeName]
	if move == nil {
		resp.Diagnostics.AddError(what, fmt.Sprintf("A %s is not made of it. %s", r.Noun, peer.Advice(req.SourceTypeName)))
		return
	}
	from, err := peer.Read(req.SourceTypeName, req.SourceRawState.JSON)
	if err != nil {
		resp.Diagnostics.AddError(what, err.Error()+". Import the "+r.Noun+" by an import block instead.")
		return
	}
	resp.Diagnostics.Append(resp.TargetPrivate.SetKey(ctx, importedKey, []byte(movedHere))...)
	r.beginImport(ctx, &resp.TargetState, &resp.Diagnostics, from.ID(), func(m *M) error { move(m, from); return nil })
	resp.TargetIdentity = nil // the first read says on which hypervisor it is
}

// isMoved says whether a `moved` block has handed over what was not read yet.
func isMoved(ctx context.Context, p private, diags *diag.Diagnostics) bool {
	text, d := p.GetKey(ctx, importedKey)
	diags.Append(d...)
	return string(text) == movedHere
}

// isUnread says whether an import, or a `moved` block, has handed over what was not read yet.
func isUnread(ctx context.Context, p private, diags *diag.Diagnostics) bool {
	text, d := p.GetKey(ctx, importedKey)
	diags.Append(d...)
	return string(text) == justImported || string(text) == movedHere
}

// refuseUnread refuses to plan what was imported or moved and not read: all of it would differ from what is there, and be changed or made anew.
func (p *planning[M, S]) refuseUnread() {
	if p.isNew || !isUnread(p.ctx, p.req.Private, &p.resp.Diagnostics) {
		return
	}
	what := "an import"
	if isMoved(p.ctx, p.req.Private, &p.resp.Diagnostics) {
		what = "a moved block"
	}
	p.resp.Diagnostics.AddError(fmt.Sprintf("Cannot plan what %s hands over", what), fmt.Sprintf(
		"What is there of the %s has to be read first: plan without -refresh=false and `offline`, with a hypervisor or a machine that is known and can be asked.", p.Noun))
}

// findMoved finds and reads an object that a `moved` block handed over. The other provider's state does not say on which hypervisor it is: it
// is on that one of the provider's which has it, and the model says so then. Where none has it the error is no absence, as the
// provider may have been told of other hypervisors than the object is on.
func (r *typed[M, S]) findMoved(ctx context.Context, claim owner.Claim, m *M) (at Store[S], got S, err error) {
	if err := r.provided.Fleet.CheckNames(); err != nil {
		return nil, got, err
	}
	var where []string
	var kept M
	// Where none has it, nobody can say whether it is gone from one that is lost, or that has no place for it.
	var placeless error
	hypervisorOf := func(m *M) reflect.Value { return reflect.ValueOf(m).Elem().FieldByName("Hypervisor") }
	for _, name := range r.provided.Fleet.Names() {
		if r.provided.Fleet.IsImplied(name) {
			continue // nobody said that one is there
		}
		copied := *m
		if name != "" {
			hypervisorOf(&copied).Set(reflect.ValueOf(types.StringValue(name)))
		}
		store, found, failed := r.readObject(ctx, claim, &copied)
		if failed != nil {
			unseen, is := errors.AsType[*service.UnseenError](failed)
			switch {
			case part.IsAbsent(failed):
			case is && unseen.Placeless, errors.As(failed, new(*fleet.LostError)):
				placeless = errors.Join(placeless, failed)
			default:
				err = errors.Join(err, failed)
			}
			continue
		}
		at, got, kept = store, found, copied
		// A type may have found it on another one than was asked for.
		if there := hypervisorOf(&kept).Interface().(types.String).ValueString(); !slices.Contains(where, there) {
			where = append(where, there)
		}
	}
	if len(where) == 0 {
		err = errors.Join(err, placeless)
	}
	switch {
	case len(where) == 1 && err == nil:
		*m = kept
		return at, got, nil
	case len(where) == 1:
		err = fmt.Errorf("hypervisor %q has it, and so may one that could not be asked, whose it is then: have that one answer, or write lost = true for it in the provider's hypervisors where it is gone for good: %w", where[0], err)
	case len(where) > 1:
		err = fmt.Errorf("hypervisors %q have it, of which \"\" is the one of the provider's uri, and a moved block cannot say which is meant: "+
			"take it out of the state by a removed block with destroy = false, and import it", where)
	case err == nil:
		err = errors.New("its moved block hands over what no hypervisor of the provider has: write the uri, or the hypervisors, that it is on; " +
			"where it is gone, remove the moved block, and take it out of the state by `terraform state rm`")
	}
	return nil, got, err
}
