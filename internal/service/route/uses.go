package route

import (
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// Uses implements plan.User: a machine has one route to a network of each metric.
func (r Route) Uses() []plan.Use {
	return []plan.Use{{Kind: plan.Route, Scope: fmt.Sprintf("metric %d", r.Metric), Value: r.To.String(), Path: []any{"cidr"}, Known: []string{"metric"}}}
}

// Describe implements plan.Described: by the id, and where the route leads.
func (r Route) Describe(id string) string {
	words := "route " + id
	if r.Via.IsValid() {
		words += " via " + r.Via.String()
	}
	if r.Device != "" {
		words += " dev " + r.Device
	}
	return words
}
