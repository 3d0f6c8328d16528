package machine

import (
	"context"
	"maps"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// FindFirstCards returns the MAC addresses of the first interfaces of all nodes of a name: as the plan has them, else as the hypervisors have
// them that may be asked.
func FindFirstCards(ctx context.Context, planned plan.View, all map[string]*hypervisor.Client, node string) ([]string, error) {
	var found []string
	for _, held := range planned.List(plan.NodeCard) {
		if held.Value == node {
			found = append(found, held.For)
		}
	}
	if len(found) > 0 {
		all = nil
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d, err := all[name].DomainByName(ctx, node)
		if err != nil && !hypervisor.IsNotFound(err) {
			return nil, err
		}
		if err != nil {
			continue
		}
		if m := Read(d.Config); len(m.Interfaces) > 0 {
			found = append(found, CanonicalMAC(m.Interfaces[0].MAC))
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
