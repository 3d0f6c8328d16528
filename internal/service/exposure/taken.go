package exposure

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addressuse"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// putsAddress says whether an exposure is to put its address on a device that no other one keeps there already.
func putsAddress(t transaction.Tree, want Exposure) bool {
	return want.ConfigureAddress && want.Address.IsValid() && !KeepsAddress(t, want.Address)
}

// refuseTaken refuses an address to be put on a device that somebody has. Others that expose something at it are no such, and what this
// state has besides is in the plan, where it may change.
func refuseTaken(use addressuse.Use, want Exposure, claim owner.Claim) error {
	return service.At([]any{"address"}, use.Refuse(addressuse.Claim{
		Address: want.Address,
		Suits: func(h addressuse.Holder) bool {
			return h.Kind == addressuse.Exposure || h.IsHere() || h.Mark.ID != "" && claim.Owns(h.Mark)
		},
	}))
}

// checkTaken returns, while planning, why an address is refused that somebody has on a machine that answers.
func checkTaken(ctx context.Context, e *transaction.Engine, h host.Host, claim owner.Claim, tree transaction.Tree, want Exposure) error {
	if !putsAddress(tree, want) {
		return nil
	}
	_, use, err := transaction.Ask(ctx, e, h, Daemon{}, func(ctx context.Context, h host.Host, _ transaction.Tree) (addressuse.Use, error) {
		return addressuse.Look(ctx, h)
	})
	if err == nil && use.Machine == "" { // what is exposed is not live, so nothing was asked
		use, err = addressuse.Look(ctx, h)
	}
	if err != nil {
		return nil //nolint:nilerr // the apply says so
	}
	return refuseTaken(use, want, claim)
}

// takeAddress refuses what somebody has. No other state takes an address on the machine until done is called.
func (s *Store) takeAddress(ctx context.Context, tree transaction.Tree, want Exposure) (done func(), err error) {
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
