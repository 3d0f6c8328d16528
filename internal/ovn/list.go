package ovn

import (
	"context"
	"slices"
	"strings"
)

// ListNetworks lists the names of the networks of a database, whosever they are, in order. What a router leads out by is the router's.
func ListNetworks(ctx context.Context, n *Northbound) ([]string, error) {
	routers, err := ListRouters(ctx, n)
	if err != nil {
		return nil, err
	}
	names, err := listNames(ctx, n, func(s *Switch) string { return s.Name })
	return slices.DeleteFunc(names, func(name string) bool {
		router, is := strings.CutSuffix(name, routerThing{}.outsideName())
		return is && slices.Contains(routers, router)
	}), err
}

// ListRouters lists the names of the routers of a database.
func ListRouters(ctx context.Context, n *Northbound) ([]string, error) {
	return listNames(ctx, n, func(r *RouterRow) string { return r.Name })
}

// ListLoadBalancers lists the names of the load balancers of a database.
func ListLoadBalancers(ctx context.Context, n *Northbound) ([]string, error) {
	return listNames(ctx, n, func(b *Balancer) string { return b.Name })
}

// ListSecurityGroups lists the names of the port groups of a database, which security groups are.
func ListSecurityGroups(ctx context.Context, n *Northbound) ([]string, error) {
	return listNames(ctx, n, func(g *PortGroup) string { return g.Name })
}

// listNames lists the names of rows, each once: OVN lets several have one, and what is meant by that cannot be told.
func listNames[T any](ctx context.Context, n *Northbound, nameOf func(*T) string) ([]string, error) {
	rows, err := Rows(ctx, n.North, func(row *T) bool { return nameOf(row) != "" })
	var names []string
	for i := range rows {
		names = append(names, nameOf(&rows[i]))
	}
	slices.Sort(names)
	return slices.Compact(names), err
}
