package machine

import (
	"context"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// PlaceSuffix is behind the name of a machine in that of the domain which keeps its place among those that take turns: no machine can be called
// so.
const PlaceSuffix = "@turn"

// ListNames lists the machines of a hypervisor, whosever they are, by name. What only keeps a place among those that take turns, and what is
// being made, is none.
func ListNames(ctx context.Context, c *hypervisor.Client) ([]string, error) {
	domains, err := c.Domains(ctx)
	var names []string
	for _, d := range domains {
		if Read(d.Config).Mark.Creating == "" && !strings.HasSuffix(d.Name, PlaceSuffix) {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return names, err
}
