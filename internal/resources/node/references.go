package node

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// keepReferences keeps the prior reference to a network or a pool, a name or an id, where the new one means the same: an import
// writes names.
func (p *planner) keepReferences(ctx context.Context, planned, prior *version) {
	if p.at.Fleet == nil {
		return
	}
	c, err := p.at.Fleet.Hypervisor(ctx, planned.Hypervisor.ValueString())
	if err != nil {
		return // the checks say so
	}
	keep := func(into *types.String, was types.String, same func(is, was string) bool) {
		if convert.Known(*into) && convert.Known(was) && same(into.ValueString(), was.ValueString()) {
			*into = was
		}
	}
	network := func(is, was string) bool { return p.cache.SameNetwork(ctx, c, is, was) }
	pool := func(is, was string) bool { return p.cache.SamePool(ctx, c, is, was) }
	// A short name and one of its versions mean the same where the machine has that version: an import finds the short one.
	keep(&planned.Machine, prior.Machine, func(is, was string) bool {
		return is != was && machine.HasChipset(ctx, c, prior.ID.ValueString(), is)
	})
	if planned.Root != nil && prior.Root != nil {
		keep(&planned.Root.Pool, prior.Root.Pool, pool)
	}
	for key, d := range planned.Disks {
		keep(&d.Pool, prior.Disks[key].Pool, pool)
		planned.Disks[key] = d
	}
	for at := range planned.Interfaces {
		i := &planned.Interfaces[at]
		// By position, as a plan may keep only what was in the same place.
		if at < len(prior.Interfaces) && prior.Interfaces[at].MAC.Equal(i.MAC) {
			keep(&i.Network, prior.Interfaces[at].Network, network)
		}
	}
}
