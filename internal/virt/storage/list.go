package storage

import (
	"cmp"
	"context"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// ListPools lists the storage pools of a hypervisor, whosever they are and of whichever kind, by name.
func ListPools(ctx context.Context, c *hypervisor.Client) ([]string, error) {
	pools, err := c.Pools(ctx)
	var names []string
	for _, p := range pools {
		names = append(names, p.Name())
	}
	slices.Sort(names)
	return names, err
}

// ListVolumes lists the volumes in all started pools of a hypervisor, whosever they are: with images those that others are overlays of, and
// else all others. Marks are none.
func ListVolumes(ctx context.Context, c *hypervisor.Client, images bool) (all []Place, err error) {
	pools, err := c.Pools(ctx)
	if err != nil {
		return nil, err
	}
	backing := map[string]bool{}
	var found []*hypervisor.Volume
	for _, p := range pools {
		if !p.Active {
			continue
		}
		volumes, err := c.Volumes(ctx, p.Name())
		if err != nil {
			return nil, err
		}
		for _, v := range volumes {
			backing[v.Backing()] = true
		}
		found = append(found, volumes...)
	}
	for _, v := range found {
		if _, _, isMark := parseMarkName(v.Name()); !isMark && backing[v.Path()] == images {
			all = append(all, Place{Pool: v.Pool, Name: v.Name()})
		}
	}
	slices.SortFunc(all, func(a, b Place) int { return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Name, b.Name)) })
	return all, nil
}
