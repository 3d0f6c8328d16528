package exposureattr

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addressuse"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// putsAddress says whether an exposure is to put its address on a device that no other one keeps there already.
func putsAddress(t transaction.Tree, want exposure.Exposure) bool {
	return want.ConfigureAddress && want.Address.IsValid() && !exposure.KeepsAddress(t, want.Address)
}

// refuseTaken refuses an address to be put on a device that somebody has. Others that expose something at it are no such, and what this
// state has besides is in the plan, where it may change.
func refuseTaken(use addressuse.Use, want exposure.Exposure, claim owner.Claim) error {
	return service.At([]any{"address"}, use.Refuse(addressuse.Claim{
		Address: want.Address,
		Suits: func(h addressuse.Holder) bool {
			return h.Kind == addressuse.Exposure || h.IsHere() || h.Mark.ID != "" && claim.Owns(h.Mark)
		},
	}))
}

// checkTaken refuses, while planning, what somebody has on a machine that answers.
func checkTaken(ctx context.Context, at crud.Opening, h host.Host, tree transaction.Tree, want exposure.Exposure) (diags diag.Diagnostics) {
	if !putsAddress(tree, want) {
		return nil
	}
	_, use, err := transaction.Ask(ctx, &at.Fleet.Engine, h, exposure.Daemon{}, func(ctx context.Context, h host.Host, _ transaction.Tree) (addressuse.Use, error) {
		return addressuse.Look(ctx, h)
	})
	if err == nil && use.Machine == "" { // what is exposed is not live, so nothing was asked
		use, err = addressuse.Look(ctx, h)
	}
	if err != nil {
		return nil // the apply says so
	}
	if err := refuseTaken(use, want, at.Claim); err != nil {
		diags.Append(crud.Diagnostic("Taken already", err))
	}
	return diags
}

// takeAddress refuses what somebody has. No other state takes an address on the machine until done is called.
func (s *store) takeAddress(ctx context.Context, tree transaction.Tree, want exposure.Exposure) (done func(), err error) {
	if !putsAddress(tree, want) {
		return func() {}, nil
	}
	if done, err = s.turns.Join(ctx, s.Host, addressuse.Lock); err != nil {
		return nil, err
	}
	use, err := addressuse.Look(ctx, s.Host)
	if err == nil {
		err = refuseTaken(use, want, s.claim)
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}
