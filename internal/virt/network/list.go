package network

import (
	"context"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// ListNames lists the networks of a hypervisor, whosever they are, by name.
func ListNames(ctx context.Context, c *hypervisor.Client) ([]string, error) {
	networks, err := c.Networks(ctx)
	var names []string
	for _, n := range networks {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return names, err
}
