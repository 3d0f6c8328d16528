// Package resolver is how one machine resolves names, as plain values, and how that is written for what resolves them there:
// systemd-resolved, NetworkManager, or /etc/resolv.conf itself.
package resolver

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// What resolves a machine's names.
const (
	Auto           = "auto"
	File           = "resolv.conf"
	Resolved       = "systemd-resolved"
	NetworkManager = "networkmanager"
)

// most is how many name servers the C library asks of those in resolv.conf (resolv.conf(5), MAXNS).
const most = 3

// Resolver is how a machine shall resolve names, or does.
type Resolver struct {
	Nameservers []netip.Addr `attr:"nameservers"`
	// Search are appended to short names.
	Search []string `attr:"search"`
	// Domains are those that the name servers are asked about; without any they are asked about every name.
	Domains []string `attr:"domains"`
	// Backend is one of the above; ActiveBackend is the one in use, only read.
	Backend       string `attr:"backend"`
	ActiveBackend string `attr:"active_backend"`
}

// Validate finds what no machine would take.
func (r Resolver) Validate() []service.Problem {
	var problems []service.Problem
	for name, domains := range map[string][]string{"search": r.Search, "domains": r.Domains} {
		for i, domain := range domains {
			switch {
			case !hostnet.ValidDomain(domain):
				problems = append(problems, service.Problemf([]any{name, i}, "Invalid domain", "%q is no domain", domain))
			case slices.Index(domains, domain) != i:
				problems = append(problems, service.Problemf([]any{name, i}, "Duplicate domain", "%q is listed twice", domain))
			}
		}
	}
	for i, a := range r.Nameservers {
		switch {
		case a.IsUnspecified() || a.IsMulticast():
			problems = append(problems, service.Problemf([]any{"nameservers", i}, "Invalid name server", "%s is no address of a machine", a))
		case slices.Index(r.Nameservers, a) != i:
			problems = append(problems, service.Problemf([]any{"nameservers", i}, "Duplicate name server", "%s is listed twice", a))
		}
	}
	return append(problems, r.findUnfit(r.Backend)...)
}

// findUnfit finds what a backend cannot do.
func (r Resolver) findUnfit(backend string) []service.Problem {
	var problems []service.Problem
	if backend == File && len(r.Domains) > 0 {
		problems = append(problems, service.Problemf([]any{"domains"}, "Domains without a resolver", "/etc/resolv.conf knows no domains of their own: leave domains out, or install systemd-resolved"))
	}
	if backend == File && len(r.Nameservers) > most {
		problems = append(problems, service.Problemf([]any{"nameservers"}, "Too many name servers", "of those in /etc/resolv.conf the first %d are asked: list as many at most", most))
	}
	return problems
}

// Uses implements plan.User: a machine has one resolver.
func (r Resolver) Uses() []plan.Use {
	return []plan.Use{{Kind: plan.Resolver, Path: []any{"host"}}}
}

// Describe implements plan.Described.
func (r Resolver) Describe(string) string { return fmt.Sprintf("resolver that asks %q", r.Nameservers) }
