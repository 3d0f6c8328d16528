package haproxy

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// ConfigPath is HAProxy's configuration on every distribution.
const ConfigPath = "/etc/haproxy/haproxy.cfg"

// proxy is a frontend or a backend.
type proxy interface {
	Body() []string
	notes() notes
}

// FindFrontend reads a frontend, a person's one too: that is how it is imported.
func FindFrontend(t transaction.Tree, name string) (Frontend, error) {
	body, n, err := find(t, "frontend", name)
	if err != nil {
		return Frontend{}, err
	}
	f := ParseFrontend(name, body)
	f.Empty = n.empty()
	return f, nil
}

// FindBackend reads a backend, a person's one too.
func FindBackend(t transaction.Tree, name string) (Backend, error) {
	body, n, err := find(t, "backend", name)
	if err != nil {
		return Backend{}, err
	}
	b := ParseBackend(name, body)
	b.Empty, b.DrainTimeout = n.empty(), n[drainTimeoutNote]
	return b, nil
}

// AddFrontend puts an owner's frontend where HAProxy takes one of that name. Whether the owner may have it is not asked here.
func AddFrontend(t transaction.Tree, f Frontend, by owner.Mark) error {
	return add(t, "frontend", f.Name, f, by)
}

// AddBackend puts an owner's backend where HAProxy takes one of that name.
func AddBackend(t transaction.Tree, b Backend, by owner.Mark) error {
	return add(t, "backend", b.Name, b, by)
}

// SetFrontend puts an owner's frontend in any case.
func SetFrontend(t transaction.Tree, f Frontend, by owner.Mark) error {
	return set(t, "frontend", f.Name, f, by)
}

// SetBackend puts an owner's backend in any case.
func SetBackend(t transaction.Tree, b Backend, by owner.Mark) error {
	return set(t, "backend", b.Name, b, by)
}

// ProxyMark reads whose the frontend or the backend (kind) of a name is; false where there is none. A person's is nobody's.
func ProxyMark(t transaction.Tree, kind, name string) (owner.Mark, bool) {
	s, ok := parseDocument(t[ConfigPath].Content).proxy(kind, name)
	return s.owner, ok && s.kind == kind
}

// BaseMark reads whose the base is; false where there is none.
func BaseMark(t transaction.Tree) (owner.Mark, bool) {
	s, ok := parseDocument(t[ConfigPath].Content).marked("defaults")
	return s.owner, ok
}

// DropFrontend takes a frontend out; an absent one is no error.
func DropFrontend(t transaction.Tree, name string) error { return drop(t, "frontend", name) }

// DropBackend takes a backend out; an absent one is no error.
func DropBackend(t transaction.Tree, name string) error { return drop(t, "backend", name) }

func find(t transaction.Tree, kind, name string) ([]string, notes, error) {
	d := parseDocument(t[ConfigPath].Content)
	s, ok := d.proxy(kind, name)
	if !ok || s.kind != kind {
		return nil, nil, fmt.Errorf("%s %q is not in %s: %w", kind, name, ConfigPath, transaction.ErrAbsent)
	}
	if s.mark != "" {
		return d.text(s), s.notes, nil
	}
	err := unmanageable(d.text(s))
	if s.conditional {
		err = errors.New("it, or a line of it, stands between .if and .endif, so that what it is depends on more than itself: take the condition away first")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s %q of %s cannot be managed as it is: %w", kind, name, ConfigPath, err)
	}
	return d.text(s), s.notes, nil
}

func add(t transaction.Tree, kind, name string, p proxy, by owner.Mark) error {
	if err := NameTaken(t, kind, name); err != nil {
		return err
	}
	return set(t, kind, name, p, by)
}

// NameTaken says why HAProxy takes no frontend or backend (kind) of a name, whoever wants it: a listen section has it, or
// another file. A section of that kind in the main file has an owner, and is that one's to give.
func NameTaken(t transaction.Tree, kind, name string) error {
	if s, exists := parseDocument(t[ConfigPath].Content).proxy(kind, name); exists && s.kind != kind {
		return fmt.Errorf("%s has a section \"listen %s\" already, which is a %s of that name too: choose another name, or remove the section", ConfigPath, name, kind)
	}
	return foreignFile(t, kind, name)
}

// foreignFile says which file beside the main one has a section of a name, where HAProxy would refuse a second.
func foreignFile(t transaction.Tree, kind, name string) error {
	for _, file := range sortedKeys(t) {
		if s, ok := parseDocument(t[file].Content).proxy(kind, name); ok && file != ConfigPath {
			return fmt.Errorf("%s has a section \"%s %s\" already: choose another name, or move the section to %s and import it", file, s.kind, name, ConfigPath)
		}
	}
	return nil
}

func set(t transaction.Tree, kind, name string, p proxy, by owner.Mark) error {
	d := parseDocument(t[ConfigPath].Content)
	key := kind + " " + name
	if s, ok := d.proxy(kind, name); ok && s.kind == kind {
		d.put(key, by, p.notes(), key, p.Body(), &s)
	} else {
		d.put(key, by, p.notes(), key, p.Body(), nil)
	}
	d.save(t)
	return nil
}

func drop(t transaction.Tree, kind, name string) error {
	d := parseDocument(t[ConfigPath].Content)
	if s, ok := d.proxy(kind, name); ok && s.kind == kind {
		d.drop(s)
		d.save(t)
	}
	return nil
}

func (d *document) save(t transaction.Tree) { t.Put(ConfigPath, d.bytes(), 0o644, "", "") }

// FindBase reads the base. A person's global and defaults sections are none: the provider's stand beside them.
func FindBase(t transaction.Tree) (Base, error) {
	b, ok := parseDocument(t[ConfigPath].Content).base()
	if !ok {
		return b, fmt.Errorf("the provider's global and defaults sections are not in %s: %w", ConfigPath, transaction.ErrAbsent)
	}
	return b, nil
}

// SetBase puts an owner's base. A password whose version is the one in the file stays as it is in the file.
func SetBase(t transaction.Tree, b Base, by owner.Mark) error {
	f, ok := t[ConfigPath]
	if !ok {
		f = host.File{Path: ConfigPath}
	}
	d := parseDocument(f.Content)
	if now, ok := d.base(); ok && now.Stats != nil && b.Stats != nil && b.Stats.PasswordVersion > 0 &&
		b.Stats.PasswordVersion == now.Stats.PasswordVersion && b.Stats.User == now.Stats.User {
		kept := *b.Stats
		kept.Password = now.Stats.Password
		b.Stats = &kept
	}
	mode := d.fileMode(f)
	d.putBase(b, by, mode)
	f.Content, f.Mode = d.bytes(), mode
	if b.Stats != nil && b.Stats.User != "" {
		f.Mode = secretMode(f)
	}
	t[ConfigPath] = f
	deriveUnit(t)
	return nil
}

// DropBase takes the base out and gives back what it replaced; an absent one is no error.
func DropBase(t transaction.Tree) error {
	f, ok := t[ConfigPath]
	if !ok {
		deriveUnit(t)
		return nil
	}
	d := parseDocument(f.Content)
	f.Mode = d.fileMode(f)
	d.dropBase()
	f.Content = d.bytes()
	t[ConfigPath] = f
	deriveUnit(t)
	return nil
}

// Strip takes out every section under the provider's comment that has no owner, which nobody else takes out, and gives back
// what they replaced. A section with an owner is that one's to take out, and stays.
func Strip(t transaction.Tree) error {
	if by, ok := BaseMark(t); !ok || by == (owner.Mark{}) {
		if err := DropBase(t); err != nil {
			return err
		}
	}
	f, ok := t[ConfigPath]
	if !ok {
		return nil
	}
	d := parseDocument(f.Content)
	all := d.sections()
	slices.Reverse(all)
	for _, s := range all {
		if s.mark != "" && s.owner == (owner.Mark{}) {
			d.drop(s)
		}
	}
	d.save(t)
	return nil
}

// Owners lists the sections that stand under the provider's comment, with their owners: `backend "api" (owner …)`.
func Owners(t transaction.Tree) []string {
	var found []string
	for _, s := range parseDocument(t[ConfigPath].Content).sections() {
		if s.mark == "" || s.mark == "global" || s.mark == "health" || s.mark == "stats" {
			continue // a person's, or a part of the base, which its defaults stand for
		}
		what := "HAProxy base configuration"
		if s.mark != "defaults" {
			what = fmt.Sprintf("HAProxy %s %q", s.kind, s.name)
		}
		found = append(found, fmt.Sprintf("%s (owner %s)", what, cmp.Or(s.owner.ID, "unknown")))
	}
	return found
}

func (d *document) fileMode(f host.File) fs.FileMode {
	if original := d.originalMode(); original != 0 {
		return original
	}
	return f.Perm()
}

// HasBackend says whether a configuration provides a backend, by a section of the provider's or a person's.
func HasBackend(t transaction.Tree, name string) bool {
	for _, f := range t {
		if _, ok := parseDocument(f.Content).proxy("backend", name); ok {
			return true
		}
	}
	return false
}

// ForeignListener names a section that listens where a bind does and that is a person's or, as mine says, another state's;
// except are sections that do not count, being the ones that are changed.
func ForeignListener(t transaction.Tree, b Bind, mine func(owner.Mark) bool, except ...string) (string, bool) {
	for _, file := range sortedKeys(t) {
		d := parseDocument(t[file].Content)
		for _, s := range d.sections() {
			if s.kind != "frontend" && s.kind != "listen" || s.mark != "" && mine(s.owner) || slices.Contains(except, s.kind+" "+s.name) {
				continue
			}
			for _, line := range d.text(s) {
				if where, ok := cut(line, "bind"); !ok || !listensAt(where, b) {
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
	for _, s := range d.sections() {
		if s.kind != "frontend" || s.mark == "" {
			continue
		}
		f := ParseFrontend(s.name, d.text(s))
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
			if err := SetBackend(t, Backend{Name: name, Mode: f.Mode}, owner.Mark{}); err != nil {
				return err
			}
		}
	}
	return nil
}
