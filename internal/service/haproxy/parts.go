package haproxy

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// ConfigPath is HAProxy's configuration on every distribution.
const ConfigPath = "/etc/haproxy/haproxy.cfg"

// proxy is a frontend or a backend.
type proxy interface {
	Body() []string
	sectionNotes() notes
}

// FindFrontend reads a frontend, a person's one too: that is how it is imported.
func FindFrontend(t transaction.Tree, name string) (Frontend, error) {
	body, _, err := findSection(t, "frontend", name)
	if err != nil {
		return Frontend{}, err
	}
	return ParseFrontend(name, body), nil
}

// FindBackend reads a backend, a person's one too.
func FindBackend(t transaction.Tree, name string) (Backend, error) {
	body, n, err := findSection(t, "backend", name)
	if err != nil {
		return Backend{}, err
	}
	b := ParseBackend(name, body)
	b.DrainTimeout = n[drainTimeoutNote]
	return b, nil
}

// AddFrontend puts an owner's frontend where HAProxy takes one of that name. Whether the owner may have it is not asked here.
func AddFrontend(t transaction.Tree, f Frontend, by owner.Mark) error {
	return addSection(t, "frontend", f.Name, f, by)
}

// AddBackend puts an owner's backend where HAProxy takes one of that name.
func AddBackend(t transaction.Tree, b Backend, by owner.Mark) error {
	return addSection(t, "backend", b.Name, b, by)
}

// SetFrontend puts an owner's frontend in any case.
func SetFrontend(t transaction.Tree, f Frontend, by owner.Mark) error {
	return setSection(t, "frontend", f.Name, f, by)
}

// SetBackend puts an owner's backend in any case.
func SetBackend(t transaction.Tree, b Backend, by owner.Mark) error {
	return setSection(t, "backend", b.Name, b, by)
}

// ProxyMark reads whose the frontend or the backend (kind) of a name is; false where there is none. A person's is nobody's.
func ProxyMark(t transaction.Tree, kind, name string) (owner.Mark, bool) {
	s, ok := parseDocument(t[ConfigPath].Content).findProxy(kind, name)
	return s.owner, ok && s.kind == kind
}

// ProxiesWithPrefix lists the names of frontends and backends that begin so, in their order and each once.
func ProxiesWithPrefix(t transaction.Tree, prefix string) []string {
	var names []string
	d := parseDocument(t[ConfigPath].Content)
	for _, s := range d.listSections() {
		if (s.kind == "frontend" || s.kind == "backend") && strings.HasPrefix(s.name, prefix) && !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	return names
}

// DropFrontend takes a frontend out; an absent one is no error.
func DropFrontend(t transaction.Tree, name string) error { return dropProxy(t, "frontend", name) }

// DropBackend takes a backend out; an absent one is no error.
func DropBackend(t transaction.Tree, name string) error { return dropProxy(t, "backend", name) }

func findSection(t transaction.Tree, kind, name string) ([]string, notes, error) {
	d := parseDocument(t[ConfigPath].Content)
	s, ok := d.findProxy(kind, name)
	if !ok || s.kind != kind {
		return nil, nil, fmt.Errorf("%s %q is not in %s: %w", kind, name, ConfigPath, transaction.ErrAbsent)
	}
	if s.mark != "" {
		return d.bodyOf(s), s.notes, nil
	}
	err := refuseUnmanageable(d.bodyOf(s))
	if s.conditional {
		err = errors.New("it, or a line of it, stands between .if and .endif, so that what it is depends on more than itself: take the condition away first")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s %q of %s cannot be managed as it is: %w", kind, name, ConfigPath, err)
	}
	return d.bodyOf(s), s.notes, nil
}

func addSection(t transaction.Tree, kind, name string, p proxy, by owner.Mark) error {
	if err := NameTaken(t, kind, name); err != nil {
		return err
	}
	return setSection(t, kind, name, p, by)
}

func setSection(t transaction.Tree, kind, name string, p proxy, by owner.Mark) error {
	d := parseDocument(t[ConfigPath].Content)
	key := kind + " " + name
	if s, ok := d.findProxy(kind, name); ok && s.kind == kind {
		d.putSection(key, by, p.sectionNotes(), key, p.Body(), &s)
	} else {
		d.putSection(key, by, p.sectionNotes(), key, p.Body(), nil)
	}
	d.saveTo(t)
	return nil
}

func dropProxy(t transaction.Tree, kind, name string) error {
	d := parseDocument(t[ConfigPath].Content)
	if s, ok := d.findProxy(kind, name); ok && s.kind == kind {
		d.dropSection(s)
		d.saveTo(t)
	}
	return nil
}

func (d *document) saveTo(t transaction.Tree) { t.Put(ConfigPath, d.toBytes(), 0o644, "", "") }

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
	all := d.listSections()
	slices.Reverse(all)
	for _, s := range all {
		if s.mark != "" && s.owner == (owner.Mark{}) {
			d.dropSection(s)
		}
	}
	d.saveTo(t)
	return nil
}

// Owners lists the sections that stand under the provider's comment, with their owners: `backend "api", of another state (owner …)`.
func Owners(t transaction.Tree) []string {
	var found []string
	for _, s := range parseDocument(t[ConfigPath].Content).listSections() {
		if s.mark == "" || s.mark == "global" || s.mark == "health" || s.mark == "stats" {
			continue // a person's, or a part of the base, which its defaults stand for
		}
		what := "HAProxy base configuration"
		if s.mark != "defaults" {
			what = fmt.Sprintf("HAProxy %s %q", s.kind, s.name)
		}
		whose := "whose owner is not known"
		if s.owner.ID != "" {
			whose = s.owner.Whose()
		}
		found = append(found, what+", "+whose)
	}
	return found
}

func (d *document) fileMode(f host.File) fs.FileMode {
	if original := d.originalMode(); original != 0 {
		return original
	}
	return f.Perm()
}
