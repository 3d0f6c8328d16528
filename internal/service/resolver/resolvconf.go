package resolver

import (
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
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
		case len(words) > 1 && words[0] == "search": // the last one counts, and of the two words as well
			r.Search = words[1:]
		case len(words) > 1 && words[0] == "domain":
			r.Search = words[1:2]
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

// dhclient is the client of ISC's, by its program's name.
const dhclient = "dhclient"

// hookFile is run by dhclient's script before it does anything (dhclient-script(8)). Its name is one that run-parts(8) takes.
const hookFile = "/etc/dhcp/dhclient-enter-hooks.d/virtcluster-resolver"

// renderHook is the hook that has dhclient's script leave /etc/resolv.conf as it is.
func (r Resolver) renderHook(mark owner.Mark) string {
	return r.formatHead(mark) + "# A lease does not change " + resolvConf + " while this file is here: its name servers are configured.\nmake_resolv_conf() { :; }\n"
}

// rewriters are what writes a plain /etc/resolv.conf anew with each lease.
type rewriters struct {
	// clients are DHCP clients that do so, by their programs' names.
	clients []string
	// takesHook says that dhclient's script runs what is beside hookFile; hook is what that says, "" where there is none.
	takesHook bool
	hook      string
}

// needsHook says whether dhclient would write the file, and a hook keeps it from that.
func (w rewriters) needsHook() bool { return w.takesHook && slices.Contains(w.clients, dhclient) }

// wayOut is what a person can do about each client that nothing of this provider's keeps from writing the file.
var wayOut = map[string]string{
	dhclient: "have its script leave the file alone, by a make_resolv_conf of its enter hooks that does nothing (dhclient-script(8)), or install systemd-resolved",
	"dhcpcd": "write \"nohook resolv.conf\" into /etc/dhcpcd.conf and restart it, or install systemd-resolved",
	"udhcpc": "set RESOLV_CONF=no in /etc/udhcpc/udhcpc.conf, where its script reads that, or install systemd-resolved",
}

// Warn names what writes a plain /etc/resolv.conf beside this provider.
func (kind) Warn(f found, want Resolver) []service.Problem {
	active := want.Backend
	if active == Auto || active == "" {
		active = f.writingBackend()
	}
	if active != File {
		return nil
	}
	var problems []service.Problem
	for _, client := range f.clients {
		if client == dhclient && f.takesHook {
			continue
		}
		problems = append(problems, service.Warningf([]any{"backend"}, "Something else writes /etc/resolv.conf",
			"%s writes it anew with each lease, and the machine asks other name servers then until the next apply: %s", client, wayOut[client]))
	}
	return problems
}
