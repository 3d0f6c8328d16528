package haproxy

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// ConfigPath is HAProxy's configuration on every distribution.
const ConfigPath = "/etc/haproxy/haproxy.cfg"

// Proxy is a frontend or a backend.
type Proxy interface {
	// Section is "frontend" or "backend", and its name.
	Section() (kind, name string)
	// Body are the section's lines, without header and indentation.
	Body() []string
	// sectionNote is what the comment above the section keeps for an import, as HAProxy has no words for it: "drain_timeout=45s".
	sectionNote() string
}

// newProxyPart returns the part of the configuration that a frontend or a backend (kind) is: mark is its owner's, and importID what
// `terraform import` takes for it.
func newProxyPart[P Proxy](kind string, of part.Identity, find func(t transaction.Tree, name string) (P, error)) part.Part[P] {
	return part.Part[P]{
		Daemon: Daemon{}, Owner: DescribeProxy(kind, of.Name), Place: ConfigPath, ImportID: of.ImportID,
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return ProxyMark(t, kind, of.Name) },
		Find: func(t transaction.Tree) (P, error) { return find(t, of.Name) },
		Add:  func(t transaction.Tree, want P) error { return AddProxy(t, want, of.Mark) },
		Set:  func(t transaction.Tree, want P) error { return SetProxy(t, want, of.Mark) },
		Drop: func(t transaction.Tree) error { return DropProxy(t, kind, of.Name) },
	}
}

// DescribeProxy is a frontend or a backend in messages.
func DescribeProxy(kind, name string) string { return fmt.Sprintf("HAProxy %s %q", kind, name) }

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
	body, drainTimeout, err := findSection(t, "backend", name)
	if err != nil {
		return Backend{}, err
	}
	b := ParseBackend(name, body)
	b.DrainTimeout = drainTimeout
	return b, nil
}

// AddProxy puts an owner's frontend or backend where HAProxy takes one of that name. Whether the owner may have it is not asked here.
func AddProxy(t transaction.Tree, p Proxy, by owner.Mark) error {
	if err := NameTaken(t, p); err != nil {
		return err
	}
	return SetProxy(t, p, by)
}

// SetProxy puts an owner's frontend or backend in any case.
func SetProxy(t transaction.Tree, p Proxy, by owner.Mark) error {
	d := parseDocument(t[ConfigPath].Content)
	kind, name := p.Section()
	var old *section
	if s, ok := d.findProxy(kind, name); ok && s.kind == kind {
		old = &s
	}
	d.putSection(kind+" "+name, by, p.sectionNote(), kind+" "+name, p.Body(), old)
	d.saveTo(t)
	return nil
}

// DropProxy takes a frontend or a backend (kind) out; an absent one is no error.
func DropProxy(t transaction.Tree, kind, name string) error {
	d := parseDocument(t[ConfigPath].Content)
	if s, ok := d.findProxy(kind, name); ok && s.kind == kind {
		d.dropSection(s)
		d.saveTo(t)
	}
	return nil
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

// ProxyNames lists the names of frontends or backends (kind) in their order, those of people too.
func ProxyNames(t transaction.Tree, kind string) (names []string) {
	for _, s := range parseDocument(t[ConfigPath].Content).listSections() {
		if s.kind == kind && !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	return names
}

func findSection(t transaction.Tree, kind, name string) (body []string, drainTimeout string, err error) {
	d := parseDocument(t[ConfigPath].Content)
	s, ok := d.findProxy(kind, name)
	if !ok || s.kind != kind {
		return nil, "", fmt.Errorf("%s %q is not in %s: %w", kind, name, ConfigPath, transaction.ErrAbsent)
	}
	if s.mark != "" {
		return d.bodyOf(s), s.drainTimeout, nil
	}
	err = refuseUnmanageable(d.bodyOf(s))
	switch {
	case s.derived:
		err = errors.New("it names its defaults section: write what it inherits on its own lines first")
	case s.conditional:
		err = errors.New("it, or a line of it, stands between .if and .endif, so that what it is depends on more than itself: take the condition away first")
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s %q of %s cannot be managed as it is: %w", kind, name, ConfigPath, err)
	}
	return d.bodyOf(s), s.drainTimeout, nil
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

// fileMode is the file's mode without a password of the provider's in it. Where somebody changed the mode since, it is as that one wants it.
func (d *document) fileMode(f host.File) fs.FileMode {
	if original := d.originalMode(); original != 0 && f.Perm() == secretMode(original) {
		return original
	}
	return f.Perm()
}

// BaseMark reads whose the base is; false where there is none.
func BaseMark(t transaction.Tree) (owner.Mark, bool) {
	s, ok := parseDocument(t[ConfigPath].Content).findMarked("defaults")
	return s.owner, ok
}

// FindBase reads the base. A person's global and defaults sections are none: the provider's stand beside them.
func FindBase(t transaction.Tree) (Base, error) {
	b, ok := parseDocument(t[ConfigPath].Content).readBase()
	if drop, there := t[UnitPath]; b.Maxconn != 0 && (!there || string(drop.Content) != renderUnit(b.Maxconn)) {
		b.Maxconn = 0 // there may be fewer files than so many connections need
	}
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
	if now, ok := d.readBase(); ok && now.Stats != nil && b.Stats != nil && b.Stats.PasswordVersion > 0 &&
		b.Stats.PasswordVersion == now.Stats.PasswordVersion && b.Stats.User == now.Stats.User {
		kept := *b.Stats
		kept.Password = now.Stats.Password
		b.Stats = &kept
	}
	mode := d.fileMode(f)
	d.putBase(b, by, mode)
	f.Content, f.Mode = d.toBytes(), mode
	if b.Stats != nil && b.Stats.User != "" {
		f.Mode = secretMode(mode)
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
	f.Content = d.toBytes()
	t[ConfigPath] = f
	deriveUnit(t)
	return nil
}
