package haproxy

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// ConfigPath is HAProxy's configuration on every distribution.
const ConfigPath = "/etc/haproxy/haproxy.cfg"

// proxy is a frontend or a backend.
type proxy interface{ Body() []string }

// FindFrontend reads a frontend, a person's one too: that is how it is imported.
func FindFrontend(t transaction.Tree, name string) (Frontend, error) {
	body, err := find(t, "frontend", name)
	if err != nil {
		return Frontend{}, err
	}
	return ParseFrontend(name, body), nil
}

// FindBackend reads a backend, a person's one too.
func FindBackend(t transaction.Tree, name string) (Backend, error) {
	body, err := find(t, "backend", name)
	if err != nil {
		return Backend{}, err
	}
	return ParseBackend(name, body), nil
}

// AddFrontend puts a frontend that must not be there yet, unless the provider wrote it.
func AddFrontend(t transaction.Tree, f Frontend, importID string) error {
	return add(t, "frontend", f.Name, f, importID)
}

// AddBackend puts a backend that must not be there yet, unless the provider wrote it.
func AddBackend(t transaction.Tree, b Backend, importID string) error {
	return add(t, "backend", b.Name, b, importID)
}

// SetFrontend puts a frontend in any case.
func SetFrontend(t transaction.Tree, f Frontend) error { return set(t, "frontend", f.Name, f) }

// SetBackend puts a backend in any case.
func SetBackend(t transaction.Tree, b Backend) error { return set(t, "backend", b.Name, b) }

// DropFrontend takes a frontend out; an absent one is no error.
func DropFrontend(t transaction.Tree, name string) error { return drop(t, "frontend", name) }

// DropBackend takes a backend out; an absent one is no error.
func DropBackend(t transaction.Tree, name string) error { return drop(t, "backend", name) }

func find(t transaction.Tree, kind, name string) ([]string, error) {
	d := parseDocument(t[ConfigPath].Content)
	s, ok := d.proxy(kind, name)
	if !ok || s.kind != kind {
		return nil, fmt.Errorf("%s %q is not in %s: %w", kind, name, ConfigPath, transaction.ErrAbsent)
	}
	return d.text(s), nil
}

func add(t transaction.Tree, kind, name string, p proxy, importID string) error {
	if err := Foreign(t, kind, name, importID); err != nil {
		return err
	}
	return set(t, kind, name, p)
}

// Foreign says why a frontend or a backend (kind) cannot be added: the configuration has one of that name
// that the provider did not write.
func Foreign(t transaction.Tree, kind, name, importID string) error {
	s, exists := parseDocument(t[ConfigPath].Content).proxy(kind, name)
	switch {
	case exists && s.kind != kind:
		return fmt.Errorf("%s has a section \"listen %s\" already, which is a %s of that name too: choose another name, or remove the section", ConfigPath, name, kind)
	case exists && s.mark == "":
		return fmt.Errorf("%s has a section \"%s %s\" already, which this provider did not write: import it as %q, choose another name, or remove the section",
			ConfigPath, kind, name, importID)
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

func set(t transaction.Tree, kind, name string, p proxy) error {
	d := parseDocument(t[ConfigPath].Content)
	key := kind + " " + name
	if s, ok := d.proxy(kind, name); ok && s.kind == kind {
		d.put(key, key, p.Body(), &s)
	} else {
		d.put(key, key, p.Body(), nil)
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

// SetBase puts the base. A password whose version is the one in the file stays as it is in the file.
func SetBase(t transaction.Tree, b Base) error {
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
	d.putBase(b, mode)
	f.Content, f.Mode = d.bytes(), mode
	if b.Stats != nil && b.Stats.User != "" {
		f.Mode = secretMode(f)
	}
	t[ConfigPath] = f
	return nil
}

// DropBase takes the base out and gives back what it replaced; an absent one is no error.
func DropBase(t transaction.Tree) error {
	f, ok := t[ConfigPath]
	if !ok {
		return nil
	}
	d := parseDocument(f.Content)
	f.Mode = d.fileMode(f)
	d.dropBase()
	f.Content = d.bytes()
	t[ConfigPath] = f
	return nil
}

// Strip takes out every section that the provider wrote and gives back what they replaced.
func Strip(t transaction.Tree) error {
	if err := DropBase(t); err != nil {
		return err
	}
	f, ok := t[ConfigPath]
	if !ok {
		return nil
	}
	d := parseDocument(f.Content)
	all := d.sections()
	slices.Reverse(all)
	for _, s := range all {
		if s.mark != "" {
			d.drop(s)
		}
	}
	d.save(t)
	return nil
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

// ForeignListener names a person's section that listens where a bind does; except is a section that does
// not count, being the one that is imported.
func ForeignListener(t transaction.Tree, b Bind, except string) (string, bool) {
	for _, f := range t {
		d := parseDocument(f.Content)
		for _, s := range d.sections() {
			if s.mark != "" || s.kind != "frontend" && s.kind != "listen" || s.kind+" "+s.name == except {
				continue
			}
			for _, other := range ParseFrontend(s.name, d.text(s)).Binds {
				if other.Endpoint() == b.Endpoint() {
					return s.kind + ` "` + s.name + `"`, true
				}
			}
		}
	}
	return "", false
}
