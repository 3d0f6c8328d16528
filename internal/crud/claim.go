package crud

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// claimKey is where a resource's private state keeps its claim.
const claimKey = "owner"

// private is what the framework lets a resource keep beside its attributes.
type private interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// loadClaim reads the claim that a state keeps; nil where it keeps none.
func loadClaim(ctx context.Context, p private, diags *diag.Diagnostics) *owner.Claim {
	text, d := p.GetKey(ctx, claimKey)
	diags.Append(d...)
	if len(text) == 0 {
		return nil
	}
	c := restore(text, diags)
	return &c
}

// restoreClaim reads the claim that a state keeps; one that adopts where it keeps none, after an import.
func restoreClaim(ctx context.Context, p private, diags *diag.Diagnostics) owner.Claim {
	text, d := p.GetKey(ctx, claimKey)
	diags.Append(d...)
	return restore(text, diags)
}

func restore(text []byte, diags *diag.Diagnostics) owner.Claim {
	c, err := owner.Restore(text)
	if err != nil {
		diags.AddError("Damaged state", err.Error())
	}
	return c
}

// saveClaim has the state keep the claim of a store that has one.
func saveClaim(ctx context.Context, store any, p private, diags *diag.Diagnostics) {
	if owned, ok := store.(Owned); ok {
		diags.Append(p.SetKey(ctx, claimKey, owned.Claim().Record())...)
	}
}

// RestoreClaim reads the claim of a resource that reads and writes in its own way.
func RestoreClaim(ctx context.Context, p PrivateState, diags *diag.Diagnostics) owner.Claim {
	return restoreClaim(ctx, p, diags)
}

// SaveClaim has the state of such a resource keep its claim.
func SaveClaim(ctx context.Context, c owner.Claim, p PrivateState, diags *diag.Diagnostics) {
	diags.Append(p.SetKey(ctx, claimKey, c.Record())...)
}

// MarkOf is the mark of such a resource's claim; where its state keeps none, as that of a tainted one, only the workspace is known.
func MarkOf(ctx context.Context, p PrivateState, diags *diag.Diagnostics) owner.Mark {
	if c := loadClaim(ctx, p, diags); c != nil {
		return c.Mark()
	}
	return owner.Mark{Workspace: owner.Workspace()}
}
