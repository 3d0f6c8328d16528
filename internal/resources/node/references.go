package node

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// keepReferences keeps the prior reference to a network or a pool, a name or an id, where the new one means the same: an import
// writes names.
func (p *planner) keepReferences(ctx context.Context, planned, prior *version) {
	if p.checker.Client == nil {
		return // the checks say why
	}
	c := p.checker.Client
	network := func(is, was string) bool { return p.cache.SameNetwork(ctx, c, is, was) }
	pool := func(is, was string) bool { return p.cache.SamePool(ctx, c, is, was) }
	// A short name and one of its versions mean the same where the machine has that version: an import finds the short one.
	keepPrior(&planned.Machine, prior.Machine, func(is, was string) bool {
		return is != was && machine.HasChipset(ctx, c, prior.ID.ValueString(), is)
	})
	if planned.Root != nil && prior.Root != nil {
		keepPrior(&planned.Root.Pool, prior.Root.Pool, pool)
	}
	for key, d := range planned.Disks {
		keepPrior(&d.Pool, prior.Disks[key].Pool, pool)
		planned.Disks[key] = d
	}
	for at := range planned.Interfaces {
		i := &planned.Interfaces[at]
		// By position, as a plan may keep only what was in the same place.
		if at < len(prior.Interfaces) && prior.Interfaces[at].MAC.Equal(i.MAC) {
			keepPrior(&i.Network, prior.Interfaces[at].Network, network)
		}
	}
}
