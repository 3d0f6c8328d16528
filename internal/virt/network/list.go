package network

import (
	"context"
	"slices"
	"strings"

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

// Listed is a reservation as a list names it: its network, and what that knows its machine by.
type Listed struct {
	Network string
	hypervisor.DHCPHost
}

// ListReservations lists the reservations of all networks, whosever they are, but for those of machines with an interface there: these belong
// to their machines.
func ListReservations(ctx context.Context, c *hypervisor.Client) (all []Listed, err error) {
	networks, err := c.Networks(ctx)
	if err != nil {
		return nil, err
	}
	domains, err := c.Domains(ctx)
	if err != nil {
		return nil, err
	}
	machines := map[string]bool{}
	for _, d := range domains {
		for _, x := range listInterfaces(d.Config) {
			if x.MAC != nil {
				machines[strings.ToLower(x.MAC.Address)] = true
			}
		}
	}
	for _, n := range networks {
		for _, h := range hypervisor.DHCPHosts(n.Config) {
			if h.MAC == "" || !machines[h.MAC] {
				all = append(all, Listed{n.Name, h})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Listed) int { return strings.Compare(a.Network, b.Network) })
	return all, nil
}
