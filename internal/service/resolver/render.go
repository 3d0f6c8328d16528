package resolver

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// headLines begins what is written, with whose it is and the backend as it was configured.
func (r Resolver) headLines(mark owner.Mark) string {
	return fmt.Sprintf("# virtcluster backend=%s %s\n", r.Backend, mark)
}

func joinAddresses(addresses []netip.Addr, between string) string {
	var texts []string
	for _, a := range addresses {
		texts = append(texts, a.String())
	}
	return strings.Join(texts, between)
}

// renderResolved is a file of resolved.conf(5).
func (r Resolver) renderResolved(mark owner.Mark) string {
	domains := append([]string{}, r.Search...)
	for _, d := range r.Domains {
		domains = append(domains, "~"+d)
	}
	if len(r.Domains) == 0 {
		domains = append(domains, "~.") // before those of single devices
	}
	return r.headLines(mark) + "[Resolve]\nDNS=" + joinAddresses(r.Nameservers, " ") + "\nDomains=" + strings.Join(domains, " ") + "\n"
}

// renderNetworkManager is a file of NetworkManager.conf(5): what it says counts instead of what the connections say.
func (r Resolver) renderNetworkManager(mark owner.Mark) string {
	text := r.headLines(mark) + "[global-dns]\n"
	if len(r.Search) > 0 {
		text += "searches=" + strings.Join(r.Search, ",") + "\n"
	}
	return text + "\n[global-dns-domain-*]\nservers=" + joinAddresses(r.Nameservers, ",") + "\n"
}

// renderDNSMasq is a file of dnsmasq.conf(5), for the one that NetworkManager runs.
func (r Resolver) renderDNSMasq(mark owner.Mark) string {
	text := r.headLines(mark)
	for _, d := range r.Domains {
		for _, a := range r.Nameservers {
			text += "server=/" + d + "/" + a.String() + "\n"
		}
	}
	if len(r.Search) > 0 {
		text += "# search " + strings.Join(r.Search, " ") + "\n"
	}
	return text
}

// commented begins a line of a person's that does not count.
const commented = "#virtcluster: "

// What is noted behind the head of the file as it was before, so that it can be so again.
const (
	noFile = "# there was no file before\n"
	noEnd  = "# the line before had no end\n"
)

// ownEnd ends what is written, so that a name server that somebody adds at the end of the file is told from it.
const ownEnd = "# end of what virtcluster wrote\n"

// putInto writes the resolver into a resolv.conf(5), one that is there or not: what a person wrote of name servers becomes comments.
func (r Resolver) putInto(text string, there bool, mark owner.Mark) string {
	p := takeApart(text)
	switch {
	case p.own:
	case !there:
		p.notes = noFile
	case p.others != "" && !strings.HasSuffix(p.others, "\n"):
		p.others, p.notes = p.others+"\n", noEnd
	}
	var b strings.Builder
	for line := range strings.Lines(p.others) {
		if words := strings.Fields(line); len(words) > 0 && (words[0] == "nameserver" || words[0] == "search" || words[0] == "domain") {
			b.WriteString(commented)
		}
		b.WriteString(line)
	}
	b.WriteString(r.headLines(mark) + p.notes)
	if len(r.Search) > 0 {
		b.WriteString("search " + strings.Join(r.Search, " ") + "\n")
	}
	for _, a := range r.Nameservers {
		b.WriteString("nameserver " + a.String() + "\n")
	}
	return b.String() + ownEnd
}

// dropFrom undoes put; there is no file again where there was none. What somebody else has written into it since stays.
func dropFrom(text string) (before string, there bool) {
	p := takeApart(text)
	switch {
	case p.notes == noFile && p.others == "":
		return "", false
	case p.notes == noEnd:
		return strings.TrimSuffix(p.others, "\n"), true
	}
	return p.others, true
}

// parts are those of a resolv.conf that put has written: others' lines as they were, and what is noted of them, which is nothing of their end
// where somebody wrote on since. own says whether there is anything of the provider's.
type parts struct {
	others, notes string
	own           bool
}

// takeApart takes a resolv.conf apart: what comes after the head is this provider's, up to its end, or, where somebody took that out, up to
// the first line that is neither a note, a name server nor a domain.
func takeApart(text string) parts {
	var p parts
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch own := len(words) > 0 && (words[0] == "nameserver" || words[0] == "search"); {
		case strings.HasPrefix(line, "# virtcluster backend="):
			p.own, inside = true, true
		case inside && line == ownEnd:
			inside = false
		case inside && own:
		case inside && (line == noFile || line == noEnd):
			p.notes = line
		default:
			if inside = false; p.notes == noEnd {
				p.notes = ""
			}
			b.WriteString(strings.TrimPrefix(line, commented))
		}
	}
	p.others = b.String()
	return p
}

// parseWritten reads what was written, by any of the above.
func parseWritten(text string) Resolver {
	var r Resolver
	_, own, found := strings.Cut(text, "# virtcluster backend=")
	if !found {
		own = text
	}
	add := func(words []string) {
		for _, word := range words {
			if a, err := netip.ParseAddr(word); err == nil {
				r.Nameservers = append(r.Nameservers, a)
			}
		}
	}
	seen := map[string]bool{}
	for i, line := range strings.Split(own, "\n") {
		words := strings.Fields(line)
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch {
		case i == 0 && found && len(words) > 0:
			r.Backend = words[0]
		case key == "DNS":
			add(strings.Fields(value))
		case key == "Domains":
			for _, d := range strings.Fields(value) {
				if split, ok := strings.CutPrefix(d, "~"); ok && split != "." {
					r.Domains = append(r.Domains, split)
				} else if !ok {
					r.Search = append(r.Search, d)
				}
			}
		case key == "searches":
			r.Search = strings.Split(value, ",")
		case key == "servers":
			add(strings.Split(value, ","))
		case key == "server":
			parts := strings.Split(value, "/")
			if len(parts) == 3 && !seen["domain "+parts[1]] {
				seen["domain "+parts[1]] = true
				r.Domains = append(r.Domains, parts[1])
			}
			if len(parts) == 3 && !seen[parts[2]] {
				seen[parts[2]] = true
				add(parts[2:])
			}
		case len(words) > 1 && words[0] == "nameserver":
			add(words[1:2])
		case len(words) > 1 && words[0] == "search":
			r.Search = words[1:]
		case len(words) > 2 && words[0] == "#" && words[1] == "search":
			r.Search = words[2:]
		}
	}
	return r
}
