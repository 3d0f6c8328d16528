package haproxy

import (
	"fmt"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// NameTaken says why HAProxy takes no frontend or backend of such a name, whoever wants it: a listen section has it, or
// another file. A section of that kind in the main file has an owner, and is that one's to give.
func NameTaken(t transaction.Tree, p Proxy) error {
	kind, name := p.Section()
	if s, exists := parseDocument(t[ConfigPath].Content).findProxy(kind, name); exists && s.kind != kind {
		return fmt.Errorf("%s has a section \"listen %s\" already, which is a %s of that name too: choose another name, or remove the section", ConfigPath, name, kind)
	}
	return foreignFile(t, kind, name)
}

// foreignFile says which file beside the main one has a section of a name, where HAProxy would refuse a second.
func foreignFile(t transaction.Tree, kind, name string) error {
	for _, file := range sortedKeys(t) {
		if s, ok := parseDocument(t[file].Content).findProxy(kind, name); ok && file != ConfigPath {
			return fmt.Errorf("%s has a section \"%s %s\" already: choose another name, or move the section to %s and import it", file, s.kind, name, ConfigPath)
		}
	}
	return nil
}

// HasBackend says whether a configuration provides a backend, by a section of the provider's or a person's.
func HasBackend(t transaction.Tree, name string) bool {
	for _, f := range t {
		if _, ok := parseDocument(f.Content).findProxy("backend", name); ok {
			return true
		}
	}
	return false
}

// GlobalLine says whether a global section has a line of these words, outside of what is conditional.
func GlobalLine(t transaction.Tree, line string) bool {
	for _, f := range t {
		d := parseDocument(f.Content)
		for _, s := range d.listSections() {
			has := func(l string) bool { return OneLine(l) == line }
			if s.kind == "global" && !s.conditional && slices.ContainsFunc(d.lines[s.body:s.end], has) {
				return true
			}
		}
	}
	return false
}

// HasDefaultServer says whether a defaults section gives servers something: a weight, or a CA to verify by.
func HasDefaultServer(t transaction.Tree) bool {
	for _, f := range t {
		d := parseDocument(f.Content)
		for _, s := range d.listSections() {
			if s.kind == "defaults" && hasDefaultServer(d.bodyOf(s)) {
				return true
			}
		}
	}
	return false
}

func hasDefaultServer(lines []string) bool {
	return slices.ContainsFunc(lines, func(l string) bool { _, ok := cutKeyword(l, DefaultServer); return ok })
}

// ForeignListener names a section that listens where a bind does and that is a person's or, as mine says, another state's;
// except are sections that do not count, being the ones that are changed.
func ForeignListener(t transaction.Tree, b Bind, mine func(owner.Mark) bool, except ...string) (string, bool) {
	for _, file := range sortedKeys(t) {
		d := parseDocument(t[file].Content)
		for _, s := range d.listSections() {
			if s.kind != "frontend" && s.kind != "listen" || s.mark != "" && mine(s.owner) || slices.Contains(except, s.kind+" "+s.name) {
				continue
			}
			for _, line := range d.bodyOf(s) {
				if where, ok := cutKeyword(line, "bind"); !ok || !listensAt(where, b) {
					continue
				}
				whose := "which this provider did not write,"
				if s.mark != "" {
					whose = "which is another state's (owner " + s.owner.ID + "),"
				}
				return fmt.Sprintf("%s %q of %s, %s", s.kind, s.name, file, whose), true
			}
		}
	}
	return "", false
}

// AddMissingBackends adds, for each backend that the provider's frontends name and that is not there, one that HAProxy takes in
// its place: for a check of what is known so far.
func AddMissingBackends(t transaction.Tree) error {
	d := parseDocument(t[ConfigPath].Content)
	for _, s := range d.listSections() {
		if s.kind != "frontend" || s.mark == "" {
			continue
		}
		f := ParseFrontend(s.name, d.bodyOf(s))
		names := []string{f.DefaultBackend}
		for _, r := range f.Rules {
			names = append(names, r.Backend)
		}
		for _, line := range f.Extra {
			words, _ := rawWords(line)
			if len(words) > 1 && (words[0] == "use_backend" || words[0] == "default_backend") {
				names = append(names, words[1])
			}
		}
		for _, name := range names {
			if !namePattern.MatchString(name) || HasBackend(t, name) {
				continue
			}
			if err := SetProxy(t, Backend{Name: name, Mode: f.Mode}, owner.Mark{}); err != nil {
				return err
			}
		}
	}
	return nil
}
