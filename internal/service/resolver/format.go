package resolver

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

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
	own := text
	if _, after, found := strings.Cut(text, headStart); found {
		var head string
		head, own, _ = strings.Cut(after, "\n")
		r.Backend, _, _ = strings.Cut(head, " ")
	}
	r.ActiveBackend = f.backend
	for line := range strings.Lines(own) {
		f.read(&r, strings.TrimSpace(line))
	}
	return r
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
