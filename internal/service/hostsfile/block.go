// Package hostsfile is a block of lines in a machine's /etc/hosts: names for addresses, between two comments that say whose it is.
package hostsfile

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
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

// What a block notes of the file as it was before, as the block's first lines. The file is so again when the last block is gone, unless
// somebody else has written into it since.
const (
	noFile = "# there was no file before\n"
	noEnd  = "# the line before had no end\n"
)

// Find reads the block of a name out of a hosts file; false where it has none.
func Find(text []byte, name string) (b Block, m owner.Mark, found bool) {
	b = Block{Name: name, Entries: map[netip.Addr][]string{}}
	inside := false
	for line := range strings.Lines(string(text)) {
		switch {
		case isBegin(line, name):
			inside, found, m = true, true, owner.Parse(line)
		case inside && (isEnd(line, name) || strings.HasPrefix(strings.TrimSpace(line), beginWords)):
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

// ListNames lists the blocks of a hosts file, whosever they are, in their order.
func ListNames(text []byte) (names []string) {
	for line := range strings.Lines(string(text)) {
		if rest, begins := strings.CutPrefix(line, beginWords); begins {
			if name, _, _ := strings.Cut(strings.TrimSpace(rest), " "); blockName.MatchString(name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// ListOthers lists the lines of a hosts file that are in no block, but for the names that a machine has for itself and for multicast.
func ListOthers(text []byte) []service.Unmodelled {
	rest := string(text)
	for _, name := range ListNames(text) {
		before, _, after, _ := cutBlock([]byte(rest), name)
		cut := strings.Count(rest, "\n") - strings.Count(before+after, "\n")
		rest = before + strings.Repeat("\n", cut) + after
	}
	return slices.DeleteFunc(service.ListLines(Path, []byte(rest), "#"), func(u service.Unmodelled) bool {
		a, err := netip.ParseAddr(strings.Fields(u.What)[0])
		return err == nil && (a.IsLoopback() || a.IsMulticast() || a == ownNetwork)
	})
}

// ownNetwork is what Debian's hosts file calls ip6-localnet.
var ownNetwork = netip.MustParseAddr("fe00::")

// Put returns a hosts file with the block in it: in the place of the one of its name, or at the end. No file is nil.
func (b Block) Put(text []byte, m owner.Mark) []byte {
	before, notes, after, found := cutBlock(text, b.Name)
	switch {
	case found:
	case text == nil:
		notes = noFile
	case before != "" && !strings.HasSuffix(before, "\n"):
		before, notes = before+"\n", noEnd
	}
	var block strings.Builder
	fmt.Fprintf(&block, "%s%s %s\n%s", beginWords, b.Name, m, notes)
	for _, a := range slices.SortedFunc(maps.Keys(b.Entries), netip.Addr.Compare) {
		fmt.Fprintf(&block, "%s %s\n", a, strings.Join(b.Entries[a], " "))
	}
	fmt.Fprintf(&block, "%s%s\n", endWords, b.Name)
	return []byte(before + block.String() + after)
}

// Drop returns a hosts file without the block of a name, nil for none. What the block notes passes on to the one behind it.
func Drop(text []byte, name string) []byte {
	before, notes, after, found := cutBlock(text, name)
	if !found {
		return text
	}
	next, rest, _ := strings.Cut(after, "\n")
	switch {
	case strings.HasPrefix(next, beginWords):
		after = next + "\n" + notes + rest
	case after != "": // somebody else's
	case notes == noEnd:
		before = strings.TrimSuffix(before, "\n")
	case notes == noFile && before == "":
		return nil
	}
	return []byte(before + after)
}

// checkEnd refuses to change a block whose last line somebody removed: nothing tells its lines from those that a person wrote behind it.
func checkEnd(text []byte, name string) error {
	inside := false
	for line := range strings.Lines(string(text)) {
		switch {
		case isBegin(line, name):
			inside = true
		case isEnd(line, name):
			inside = false
		}
	}
	if !inside {
		return nil
	}
	return fmt.Errorf("block %q has lost its last line, and where it ends cannot be told: write \"%s%s\" below its last line", name, endWords, name)
}

// cutBlock parts a hosts file around the block of a name, which has an end (checkEnd), and returns what that notes; where there is none, before is
// all of it.
func cutBlock(text []byte, name string) (before, notes, after string, found bool) {
	lines := slices.Collect(strings.Lines(string(text)))
	begin := slices.IndexFunc(lines, func(l string) bool { return isBegin(l, name) })
	if begin < 0 {
		return string(text), "", "", false
	}
	end := slices.IndexFunc(lines[begin:], func(l string) bool { return isEnd(l, name) })
	end = max(end, 0)
	for _, line := range lines[begin : begin+end] {
		if line == noFile || line == noEnd {
			notes = line
		}
	}
	return strings.Join(lines[:begin], ""), notes, strings.Join(lines[begin+end+1:], ""), true
}

func isBegin(line, name string) bool { return namesBlock(line, beginWords, name) }
func isEnd(line, name string) bool   { return namesBlock(line, endWords, name) }

func namesBlock(line, words, name string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), words)
	first, _, _ := strings.Cut(rest, " ")
	return ok && first == name
}

// Uses implements plan.User: a machine's hosts file has one block of a name.
func (b Block) Uses() []plan.Use {
	return []plan.Use{{Kind: plan.HostsBlock, Value: b.Name, Path: []any{"name"}}}
}

// Describe implements plan.Described: by the id, and what the block says.
func (b Block) Describe(id string) string {
	entries, err := json.Marshal(b.Entries)
	if err != nil {
		return fmt.Sprintf("hosts file %q", id)
	}
	return fmt.Sprintf("hosts file %q, entries %s", id, entries)
}

// manageScript prints the file that says last whether cloud-init manages /etc/hosts, and what that says.
//
//go:embed manage.sh
var manageScript string

// rewritesHosts says whether a value of manage_etc_hosts has cloud-init write the whole file from a template at each start. By "localhost" it
// changes the line of the machine's own name, and leaves the others as they are.
func rewritesHosts(value string) bool {
	value, _, _ = strings.Cut(value, "#")
	value = strings.ToLower(strings.Trim(strings.TrimSpace(value), `"'`))
	return slices.Contains([]string{"true", "yes", "on", "1", "template"}, value)
}

// Warn says that cloud-init writes the file anew at each start of the machine. What cannot be asked now is not warned of.
func (s *Store) Warn(ctx context.Context) []service.Problem {
	out, err := s.Host.Run(ctx, host.RepeatableScript("ask whether cloud-init manages "+Path, manageScript, ""))
	if err != nil {
		return nil
	}
	file, value, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if !rewritesHosts(value) {
		return nil
	}
	return []service.Problem{service.Warningf([]any{"host"}, "cloud-init writes "+Path+" anew",
		"%s", fmt.Sprintf("manage_etc_hosts in %s of %s has cloud-init write the file from its template at each start, and the block is gone then until the next apply: have it say manage_etc_hosts: false, or write that into /etc/cloud/cloud.cfg.d/99-hosts.cfg where the machine's user data does not say otherwise", file, s.Host))}
}
