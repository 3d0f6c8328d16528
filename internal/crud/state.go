package crud

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// outcome is where what a store returned is kept: the model of the plan or of the state until now, what that was, and the response's parts.
type outcome[M any] struct {
	m        *M
	before   tftypes.Value
	state    *tfsdk.State
	identity *tfsdk.ResourceIdentity
	private  private
	diags    *diag.Diagnostics
}

// keepResult makes state what a store returned. After an error that is no *Unfinished it keeps nothing: what there was is still so.
func (r *typed[M, S]) keepResult(ctx context.Context, store Store[S], got S, err error, o outcome[M]) {
	o.diags.Append(listWarnings(store)...)
	unfinished, made := errors.AsType[*Unfinished](err)
	if err != nil && !made {
		return
	}
	r.keepDatabases(ctx, o.private, o.diags)
	if err == nil || unfinished.Made {
		o.diags.Append(r.Fill(ctx, o.m, got)...)
	}
	if r.Remember != nil {
		o.diags.Append(r.Remember(ctx, o.private, o.m)...)
	}
	setServing(o.m, store)
	setID(o.m, r.ID(o.m))
	o.diags.Append(o.state.Set(ctx, o.m)...)
	r.saveClaim(ctx, store, o.m, o.state.GetAttribute, o.private, o.diags)
	if made && !unfinished.Made {
		o.diags.Append(forgetUnknown(o.state))
	}
	r.restoreEmpty(ctx, o.state, o.before, o.private, o.diags)
	r.setIdentity(ctx, *o.state, o.identity, o.m, o.diags)
}

// setID stores the id of an object, where it has one by now, in its model: a pointer to a structure with a field of that name.
func setID(m any, id string) {
	if id != "" {
		reflect.ValueOf(m).Elem().FieldByName("ID").Set(reflect.ValueOf(types.StringValue(id)))
	}
}

// forgetUnknown makes null of what a state does not know: nobody could read what was made.
func forgetUnknown(state *tfsdk.State) diag.Diagnostic {
	known, err := tftypes.Transform(state.Raw, func(_ *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if !v.IsKnown() {
			return tftypes.NewValue(v.Type(), nil), nil
		}
		return v, nil
	})
	if err != nil {
		return diag.NewErrorDiagnostic("Cannot keep what was made", err.Error())
	}
	state.Raw = known
	return nil
}

// IdentitySchema offers the key attributes as the resource identity (Terraform and OpenTofu from 1.12).
func (r *typed[M, S]) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = IdentitySchema(r.Key...)
}

// IdentitySchema is an identity of root string attributes.
func IdentitySchema(key ...string) identityschema.Schema {
	attributes := map[string]identityschema.Attribute{}
	for _, name := range key {
		// A bridge is on a hypervisor's machine or on another one.
		optional := name == hypervisorAttribute || name == "view" || name == hostAttribute && slices.Contains(key, hypervisorAttribute)
		attributes[name] = identityschema.StringAttribute{RequiredForImport: !optional, OptionalForImport: optional}
	}
	return identityschema.Schema{Attributes: attributes}
}

func (r *typed[M, S]) setIdentity(ctx context.Context, state tfsdk.State, identity *tfsdk.ResourceIdentity, m *M, diags *diag.Diagnostics) {
	diags.Append(Identify(ctx, state, identity, r.Key...)...)
	if r.ImportID != nil && identity != nil && !diags.HasError() {
		diags.Append(identity.SetAttribute(ctx, path.Root("id"), r.ImportID(m))...)
	}
}

// Identify copies the key attributes from state to the identity; a CLI without identities has none.
func Identify(ctx context.Context, state tfsdk.State, identity *tfsdk.ResourceIdentity, key ...string) diag.Diagnostics {
	var diags diag.Diagnostics
	if identity == nil {
		return diags
	}
	for _, name := range key {
		var v types.String
		diags.Append(state.GetAttribute(ctx, path.Root(name), &v)...)
		diags.Append(identity.SetAttribute(ctx, path.Root(name), v)...)
	}
	return diags
}

// importedKey is where private state says that a resource was imported and not read yet, as justImported, or handed over by a `moved` block,
// as movedHere. They are JSON, as all that is kept there.
const (
	importedKey  = "imported"
	justImported = "true"
	movedHere    = `"moved"`
)

// restoreEmpty has the state say empty where null would be another way of saying the same; before is the plan or the state until now.
func (r *typed[M, S]) restoreEmpty(ctx context.Context, state *tfsdk.State, before tftypes.Value, private private, diags *diag.Diagnostics) {
	imported := isUnread(ctx, private, diags)
	if state.Raw.IsNull() || diags.HasError() {
		return
	}
	if err := restoreEmpty(ctx, state, before, imported); err != nil {
		diags.AddError("Cannot read "+r.Noun, err.Error())
	}
	if imported {
		diags.Append(private.SetKey(ctx, importedKey, []byte("false"))...)
	}
}

// ImportState takes the id, or the identity from an import block.
func (r *typed[M, S]) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	if r.provided.RefuseOffline("import", fmt.Sprintf("%s %q", r.Noun, req.ID), &resp.Diagnostics) {
		return
	}
	if resp.Private != nil {
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, importedKey, []byte(justImported))...)
	}
	id := req.ID
	if id == "" && req.Identity != nil {
		for _, name := range r.Key {
			var v types.String
			resp.Diagnostics.Append(req.Identity.GetAttribute(ctx, path.Root(name), &v)...)
			v = convert.Text(host.ShortenReferences(v.ValueString())) // with all of the fingerprint, perhaps; an empty text is none
			resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(name), v)...)
			id = v.ValueString()
		}
		if !slices.Equal(r.Key, []string{"id"}) || resp.Diagnostics.HasError() {
			return
		}
	}
	r.beginImport(ctx, &resp.State, &resp.Diagnostics, id, func(m *M) error {
		if err := r.Split(m, host.ShortenReferences(id)); err != nil {
			return err
		}
		setID(m, r.ID(m))
		return nil
	})
}

// beginImport makes a state of what names an object and nothing else. What it is made of is told by name, whose error is one of the import.
func (r *typed[M, S]) beginImport(ctx context.Context, state *tfsdk.State, diags *diag.Diagnostics, id string, name func(m *M) error) {
	var m M
	// The state is null so far, and a null cannot be read into a model.
	diags.Append(state.SetAttribute(ctx, path.Root("id"), id)...)
	diags.Append(state.Get(ctx, &m)...)
	if diags.HasError() {
		return
	}
	if err := name(&m); err != nil {
		diags.AddError(fmt.Sprintf("Cannot import %s %q", r.Noun, id), err.Error())
		return
	}
	diags.Append(state.Set(ctx, &m)...)
}
