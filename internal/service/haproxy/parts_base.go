package haproxy

import (
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// BaseMark reads whose the base is; false where there is none.
func BaseMark(t transaction.Tree) (owner.Mark, bool) {
	s, ok := parseDocument(t[ConfigPath].Content).findMarked("defaults")
	return s.owner, ok
}

// FindBase reads the base. A person's global and defaults sections are none: the provider's stand beside them.
func FindBase(t transaction.Tree) (Base, error) {
	b, ok := parseDocument(t[ConfigPath].Content).readBase()
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
	f.Content = d.toBytes()
	t[ConfigPath] = f
	deriveUnit(t)
	return nil
}
