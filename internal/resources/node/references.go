package node

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// keepReferences keeps the prior way to refer to a network or a pool, by its name or by its id, where the new one means
// the same: an import finds names.
func (p *planner) keepReferences(ctx context.Context, planned, prior *version) {
	network := func(c *hypervisor.Client, ref string) (string, error) { return p.facts.NetworkName(ctx, c, ref) }
	pool := func(c *hypervisor.Client, ref string) (string, error) {
		found, err := p.facts.Pool(ctx, c, ref)
		if err != nil {
			return "", err
		}
		return found.Name(), nil
	}
	keep := func(into *types.String, was types.String, name func(*hypervisor.Client, string) (string, error)) {
		is := into.ValueString()
		if !convert.Known(*into) || !convert.Known(was) || into.Equal(was) || hypervisor.IsUUID(is) == hypervisor.IsUUID(was.ValueString()) {
			return
		}
		c, err := p.client(ctx, &planned.model)
		if err != nil {
			return // the checks say so
		}
		a, err := name(c, is)
		b, err2 := name(c, was.ValueString())
		if err == nil && err2 == nil && a == b {
			*into = was
		}
	}
	if p.at.Fleet == nil {
		return
	}
	if planned.Root != nil && prior.Root != nil {
		keep(&planned.Root.Pool, prior.Root.Pool, pool)
	}
	for key, d := range planned.parts.Disks {
		keep(&d.Pool, prior.parts.Disks[key].Pool, pool)
		planned.parts.Disks[key] = d
	}
	for at := range planned.parts.Interfaces {
		i := &planned.parts.Interfaces[at]
		// By position, as a plan may keep only what was in the same place.
		if at < len(prior.parts.Interfaces) && prior.parts.Interfaces[at].MAC.Equal(i.MAC) {
			keep(&i.Network, prior.parts.Interfaces[at].Network, network)
		}
	}
}
