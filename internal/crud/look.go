package crud

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// newState returns a state of the type with some attributes, which name an object, and nothing else.
func (r *typed[M, S]) newState(ctx context.Context, named map[string]attr.Value) (tfsdk.State, diag.Diagnostics) {
	s := r.Type.Schema(ctx)
	state := tfsdk.State{Schema: s, Raw: tftypes.NewValue(s.Type().TerraformType(ctx), nil)}
	var diags diag.Diagnostics
	for name, v := range named {
		diags.Append(state.SetAttribute(ctx, path.Root(name), v)...)
	}
	return state, diags
}

// lookUp completes a state that names an object by its key, as an import does: whosever the object is, and without a change to anything. The
// error is one of the store's Get; brief leaves out what takes long to read.
func (r *typed[M, S]) lookUp(ctx context.Context, state *tfsdk.State, brief bool) (store Store[S], diags diag.Diagnostics, err error) {
	var m M
	diags.Append(state.Get(ctx, &m)...)
	if diags.HasError() {
		return nil, diags, nil
	}
	ctx, cancel := r.boundOperation(ctx, state.GetAttribute, "read", &diags)
	defer cancel()
	store, err = r.Open(ctx, StoreContext{ProviderData: r.provided, Claim: r.provided.ownerRun().Adopt(), Brief: brief}, &m)
	if err != nil {
		return nil, diags, err
	}
	got, err := store.Get(ctx)
	if err != nil {
		return nil, diags, err
	}
	diags.Append(r.Fill(ctx, &m, got)...)
	setServing(&m, store)
	setID(&m, r.ID(&m))
	before := state.Raw
	diags.Append(state.Set(ctx, &m)...)
	if !diags.HasError() {
		err = restoreEmpty(ctx, state, before, true)
	}
	return store, diags, err
}

// hasSecret says whether an attribute is secret, or has a secret in it.
func hasSecret(of schema.Attribute) bool {
	var inner map[string]schema.Attribute
	switch a := of.(type) {
	case schema.SingleNestedAttribute:
		inner = a.Attributes
	case schema.ListNestedAttribute:
		inner = a.NestedObject.Attributes
	case schema.MapNestedAttribute:
		inner = a.NestedObject.Attributes
	}
	for _, a := range inner {
		if hasSecret(a) {
			return true
		}
	}
	return of.IsSensitive() || of.IsWriteOnly()
}
