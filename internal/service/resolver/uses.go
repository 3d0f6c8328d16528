package resolver

import (
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// Uses implements plan.User: a machine has one resolver.
func (r Resolver) Uses() []plan.Use {
	return []plan.Use{{Kind: plan.Resolver, Path: []any{"host"}}}
}

// Describe implements plan.Described.
func (r Resolver) Describe(string) string { return fmt.Sprintf("resolver that asks %q", r.Nameservers) }
