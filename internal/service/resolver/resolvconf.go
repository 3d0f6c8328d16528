package resolver

import (
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// resolvConf is the file that the C library reads (resolv.conf(5)).
const resolvConf = "/etc/resolv.conf"

// confFormat is the file itself, in which a person's lines stay (putInto).
var confFormat = format{
	backend: File, path: resolvConf,
	render: func(r Resolver) string {
		text := ""
		if len(r.Search) > 0 {
			text = "search " + strings.Join(r.Search, " ") + "\n"
		}
		for _, a := range r.Nameservers {
			text += "nameserver " + a.String() + "\n"
		}
		return text
	},
	read: func(r *Resolver, line string) {
		switch words := strings.Fields(line); {
		case len(words) > 1 && words[0] == "nameserver":
			r.addNameservers(words[1])
		case len(words) > 1 && words[0] == "search":
			r.Search = words[1:]
		}
	},
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
	return b.String() + r.formatHead(mark) + p.notes + confFormat.render(r) + ownEnd
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
