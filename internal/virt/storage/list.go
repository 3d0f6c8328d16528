package storage

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
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

// ListVolumes lists the volumes in all started pools of files of a hypervisor, whosever they are: with images those that others are overlays of, and
// else all others. Marks are none.
func ListVolumes(ctx context.Context, c *hypervisor.Client, images bool) (all []Place, err error) {
	pools, err := c.Pools(ctx)
	if err != nil {
		return nil, err
	}
	backing := map[string]bool{}
	var found []*hypervisor.Volume
	for _, p := range pools {
		if whyUnlisted(p) != "" {
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

// ListUnlistedPools lists the pools whose volumes ListVolumes has not, and why.
func ListUnlistedPools(ctx context.Context, c *hypervisor.Client) (all []service.Unmodelled, err error) {
	pools, err := c.Pools(ctx)
	for _, p := range pools {
		if why := whyUnlisted(p); why != "" {
			all = append(all, service.Unmodelled{Place: fmt.Sprintf("storage pool %q", p.Name()), What: why})
		}
	}
	return all, err
}

// whyUnlisted says why the volumes of a pool are not listed; "" where they are.
func whyUnlisted(p *hypervisor.Pool) string {
	switch {
	case !p.Files():
		return fmt.Sprintf("Its volumes are not looked at: they are no files, as the pool is of type %q. A machine that has one as a disk names it by its path.", p.Type())
	case !p.Active:
		return fmt.Sprintf("Its volumes are not looked at, as it is stopped: start it (virsh pool-start %s), and look again.", p.Name())
	}
	return ""
}
