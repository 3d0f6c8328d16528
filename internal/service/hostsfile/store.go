package hostsfile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Path is the hosts file.
const Path = "/etc/hosts"

// Store is one block in one machine's hosts file.
type Store struct {
	Host host.Host
	Name string
	// ImportID is what `terraform import` takes for it.
	ImportID string
	claim    owner.Claim
}

// Open returns the store of a block, with what its resource may call its own.
func Open(h host.Host, name, importID string, claim owner.Claim) *Store {
	return &Store{Host: h, Name: name, ImportID: importID, claim: claim}
}

// Claim is what the state keeps of whose the block is.
func (s *Store) Claim() owner.Claim { return s.claim }

// Get reads the block; transaction.ErrAbsent where there is none.
func (s *Store) Get(ctx context.Context) (Block, error) {
	text, err := s.read(ctx)
	if err != nil {
		return Block{}, err
	}
	b, m, found := Find(text, s.Name)
	if !found {
		return b, fmt.Errorf("block %q in %s on %s: %w", s.Name, Path, s.Host, transaction.ErrAbsent)
	}
	if !s.claim.Owns(m) {
		return b, s.foreign(m)
	}
	s.claim = s.claim.Found(m)
	return b, nil
}

// Create adds the block.
func (s *Store) Create(ctx context.Context, want Block) (Block, error) {
	return s.put(ctx, want, s.claim.MayTake)
}

// Update replaces the block.
func (s *Store) Update(ctx context.Context, _, want Block) (Block, error) {
	return s.put(ctx, want, s.claim.Owns)
}

func (s *Store) put(ctx context.Context, want Block, allowed func(owner.Mark) bool) (Block, error) {
	err := s.edit(ctx, func(text string) (string, error) {
		if _, m, found := Find(text, s.Name); found && !allowed(m) {
			return "", s.foreign(m)
		}
		return want.Put(text, s.claim.Mark()), nil
	})
	if err != nil {
		return want, err
	}
	s.claim = s.claim.Written()
	return s.Get(ctx)
}

// Delete takes the block out.
func (s *Store) Delete(ctx context.Context) error {
	return s.edit(ctx, func(text string) (string, error) {
		if _, m, found := Find(text, s.Name); found && !s.claim.Owns(m) {
			return "", s.foreign(m)
		}
		return Drop(text, s.Name), nil
	})
}

func (s *Store) foreign(m owner.Mark) error {
	return &owner.ForeignError{What: fmt.Sprintf("block %q", s.Name), Place: Path + " on " + s.Host.String(), ImportID: s.ImportID, Owner: m}
}

func (s *Store) read(ctx context.Context) (string, error) {
	text, err := s.Host.Read(ctx, Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read %s on %s: %w", Path, s.Host, err)
	}
	return string(text), nil
}

// exitChanged is how writeScript says that the file is not what was read.
const exitChanged = 75

// writeScript replaces a file, unless it changed since it was read: mode, owner and labels stay, a symbolic link is followed, and
// a file that is a mount of its own, as in a container, is written in place. Arguments: path, SHA-256 of what was read.
const writeScript = `set -eu
path=$(readlink -f -- "$1")
[ -e "$path" ] || { : >"$path"; chmod 644 "$path"; }
[ "$(sha256sum <"$path" | cut -c1-64)" = "$2" ] || exit 75
new=$(mktemp "$path.XXXXXX")
trap 'rm -f "$new"' EXIT
cp -a -- "$path" "$new"
cat >"$new"
sync "$new"
mv -fT -- "$new" "$path" 2>/dev/null || cat "$new" >"$path"
`

// edit changes the file, and tries again when somebody else changed it meanwhile.
func (s *Store) edit(ctx context.Context, change func(text string) (string, error)) error {
	unlock, err := s.Host.Lock(ctx, "hosts-file")
	if err != nil {
		return err
	}
	defer unlock()
	for range 5 {
		var text, changed string
		if text, err = s.read(ctx); err == nil {
			changed, err = change(text)
		}
		if err != nil || changed == text {
			return err
		}
		sum := sha256.Sum256([]byte(text))
		cmd := host.Script("write "+Path, writeScript, Path, hex.EncodeToString(sum[:]))
		cmd.Stdin = []byte(changed)
		_, err = s.Host.Run(ctx, cmd)
		if exit, ok := errors.AsType[*host.ExitError](err); !ok || exit.Code != exitChanged {
			return err
		}
	}
	return fmt.Errorf("write %s on %s: somebody else changes it all the time", Path, s.Host)
}
