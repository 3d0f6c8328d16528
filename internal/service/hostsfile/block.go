// Package hostsfile is a block of lines in a machine's /etc/hosts: names for addresses, between two comments that say whose it is.
package hostsfile

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Block is the names for each address, the canonical one first.
type Block struct {
	Name    string
	Entries map[netip.Addr][]string
}

// HostName is what may stand in a hosts file (hosts(5)): no blank, and no # that would begin a comment.
var HostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)

var blockName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

// Validate finds what no hosts file would take.
func (b Block) Validate() []service.Problem {
	var problems []service.Problem
	if !blockName.MatchString(b.Name) {
		problems = append(problems, service.Problemf([]any{"name"}, "Invalid name", "write 1 to 63 letters, digits, dots, dashes or underscores, not %q", b.Name))
	}
	for _, a := range slices.SortedFunc(maps.Keys(b.Entries), netip.Addr.Compare) {
		at := []any{"entries", service.Key(a.String())}
		if len(b.Entries[a]) == 0 {
			problems = append(problems, service.Problemf(at, "No name", "name at least one host for %s, or leave the address out", a))
		}
		for i, name := range b.Entries[a] {
			switch {
			case !HostName.MatchString(name) || len(name) > 253:
				problems = append(problems, service.Problemf(at, "Invalid host name", "%q is no host name: write letters, digits, dots and dashes", name))
			case slices.Index(b.Entries[a], name) != i:
				problems = append(problems, service.Problemf(at, "Duplicate host name", "%q is listed twice", name))
			}
		}
	}
	return problems
}

const (
	beginWords = "# BEGIN virtcluster "
	endWords   = "# END virtcluster "
)

// Find reads the block of a name out of a hosts file; false where it has none.
func Find(text, name string) (b Block, m owner.Mark, found bool) {
	b = Block{Name: name, Entries: map[netip.Addr][]string{}}
	inside := false
	for line := range strings.Lines(text) {
		switch {
		case isBegin(line, name):
			inside, found, m = true, true, owner.Parse(line)
		case inside && isEnd(line, name):
			inside = false
		case inside:
			line, _, _ = strings.Cut(line, "#")
			words := strings.Fields(line)
			if len(words) < 2 {
				continue
			}
			if a, err := netip.ParseAddr(words[0]); err == nil {
				b.Entries[a] = append(b.Entries[a], words[1:]...)
			}
		}
	}
	return b, m, found
}

// Put returns a hosts file with the block in it: in the place of the one of its name, or at the end.
func (b Block) Put(text string, m owner.Mark) string {
	var block strings.Builder
	fmt.Fprintf(&block, "%s%s %s\n", beginWords, b.Name, m)
	for _, a := range slices.SortedFunc(maps.Keys(b.Entries), netip.Addr.Compare) {
		fmt.Fprintf(&block, "%s %s\n", a, strings.Join(b.Entries[a], " "))
	}
	fmt.Fprintf(&block, "%s%s\n", endWords, b.Name)
	before, after, found := cut(text, b.Name)
	if !found && before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	return before + block.String() + after
}

// Drop returns a hosts file without the block of a name.
func Drop(text, name string) string {
	before, after, _ := cut(text, name)
	return before + after
}

// cut parts a hosts file around the block of a name; where there is none, before is all of it. A block whose end is missing ends
// where its lines do: what a person wrote behind it stays.
func cut(text, name string) (before, after string, found bool) {
	lines := slices.Collect(strings.Lines(text))
	begin := slices.IndexFunc(lines, func(l string) bool { return isBegin(l, name) })
	if begin < 0 {
		return text, "", false
	}
	end := slices.IndexFunc(lines[begin:], func(l string) bool { return isEnd(l, name) })
	if end < 0 {
		end = 0
	}
	return strings.Join(lines[:begin], ""), strings.Join(lines[begin+end+1:], ""), true
}

func isBegin(line, name string) bool { return named(line, beginWords, name) }
func isEnd(line, name string) bool   { return named(line, endWords, name) }

func named(line, words, name string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), words)
	first, _, _ := strings.Cut(rest, " ")
	return ok && first == name
}
