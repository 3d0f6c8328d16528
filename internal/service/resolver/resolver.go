// Package resolver is how one machine resolves names, as plain values, and how that is written for what resolves them there:
// systemd-resolved, NetworkManager, or /etc/resolv.conf itself.
package resolver

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
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

// format is how one program is told whom to ask for names: by a file, behind a head that says whose it is.
type format struct {
	backend, path string
	// render is the text behind the head.
	render func(r Resolver) string
	// read adds to a resolver what a line of that says.
	read func(r *Resolver, line string)
}

// formats are all of them; a machine's resolver is in one of their files at a time.
var formats = []format{resolvedFormat, managerFormat, dnsmasqFormat, confFormat}

// formatOf is the one of a file; where there is none, that of the C library.
func formatOf(path string) format {
	if i := slices.IndexFunc(formats, func(f format) bool { return f.path == path }); i >= 0 {
		return formats[i]
	}
	return confFormat
}

// chooseFormat is the one in which the backend in use is told of a resolver.
func (r Resolver) chooseFormat() format {
	if r.ActiveBackend == NetworkManager && len(r.Domains) > 0 {
		return dnsmasqFormat
	}
	return formats[slices.IndexFunc(formats, func(f format) bool { return f.backend == r.ActiveBackend })]
}

// writeFile is a resolver as a file.
func (f format) writeFile(r Resolver, mark owner.Mark) string {
	return r.formatHead(mark) + f.render(r)
}

// parseFile reads what writeFile wrote, and what a person made of it since.
func (f format) parseFile(text string) (r Resolver) {
	if _, after, found := strings.Cut(text, headStart); found {
		head, _, _ := strings.Cut(after, "\n")
		r.Backend, _, _ = strings.Cut(head, " ")
	}
	r.ActiveBackend = f.backend
	for line := range strings.Lines(text) {
		f.read(&r, strings.TrimSpace(line))
	}
	return r
}

// findLacking returns the first line that a file lacks of those that its values are written as, "" for none: without one that empties what other
// files have, for instance, their name servers are asked too.
func (f format) findLacking(text string) string {
	var has []string
	for line := range strings.Lines(text) {
		has = append(has, strings.TrimSpace(line))
	}
	for line := range strings.Lines(f.render(f.parseFile(text))) {
		if line = strings.TrimSpace(line); !slices.Contains(has, line) {
			return line
		}
	}
	return ""
}

// headStart begins the line with whose a file is, and the backend as it was configured.
const headStart = "# virtcluster backend="

func (r Resolver) formatHead(mark owner.Mark) string {
	return fmt.Sprintf("%s%s %s\n", headStart, r.Backend, mark)
}

// parseMark reads whose a file is.
func parseMark(text string) owner.Mark {
	_, after, _ := strings.Cut(text, headStart)
	line, _, _ := strings.Cut(after, "\n")
	return owner.Parse(line)
}

// addNameservers adds those of some words that are addresses.
func (r *Resolver) addNameservers(words ...string) {
	for _, word := range words {
		if a, err := netip.ParseAddr(word); err == nil {
			r.Nameservers = append(r.Nameservers, a)
		}
	}
}

func joinAddresses(addresses []netip.Addr, between string) string {
	var texts []string
	for _, a := range addresses {
		texts = append(texts, a.String())
	}
	return strings.Join(texts, between)
}
