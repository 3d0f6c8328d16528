package hostsfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
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

// FinishMark takes from the block's mark that it is being made.
func (s *Store) FinishMark(ctx context.Context) error {
	err := s.editFile(ctx, func(text []byte) ([]byte, error) {
		if text == nil {
			return nil, nil // somebody has removed the file
		}
		return s.claim.FinishText(text), nil
	})
	if err == nil {
		s.claim = s.claim.Finished()
	}
	return err
}

// Get reads the block; transaction.ErrAbsent where there is none.
func (s *Store) Get(ctx context.Context) (Block, error) {
	text, err := s.readFile(ctx)
	if err != nil {
		return Block{}, err
	}
	b, m, found := Find(text, s.Name)
	if !found {
		return b, fmt.Errorf("block %q in %s on %s: %w", s.Name, Path, s.Host, transaction.ErrAbsent)
	}
	if !s.claim.Owns(m) {
		return b, s.foreignError(m)
	}
	s.claim = s.claim.Found(m)
	return b, nil
}

// Plan says what would keep the block from being made, or from being changed: somebody else's of its name.
func (s *Store) Plan(ctx context.Context, create bool) error {
	text, err := s.readFile(ctx)
	if err != nil {
		return err
	}
	allowed := s.claim.Owns
	if create {
		allowed = s.claim.MayTake
	}
	if _, m, found := Find(text, s.Name); found && !allowed(m) {
		return service.At([]any{"name"}, s.foreignError(m))
	}
	return s.checkEnd(text)
}

// checkEnd refuses a block that has no end, and says where it is.
func (s *Store) checkEnd(text []byte) error {
	if err := checkEnd(text, s.Name); err != nil {
		return fmt.Errorf("%s on %s: %w", Path, s.Host, err)
	}
	return nil
}

// Create adds the block.
func (s *Store) Create(ctx context.Context, want Block) (Block, error) {
	return s.putBlock(ctx, want, s.claim.MayTake)
}

// Update replaces the block.
func (s *Store) Update(ctx context.Context, _, want Block) (Block, error) {
	return s.putBlock(ctx, want, s.claim.Owns)
}

func (s *Store) putBlock(ctx context.Context, want Block, allowed func(owner.Mark) bool) (Block, error) {
	err := s.editFile(ctx, func(text []byte) ([]byte, error) {
		if _, m, found := Find(text, s.Name); found && !allowed(m) {
			return nil, s.foreignError(m)
		}
		if err := s.checkEnd(text); err != nil {
			return nil, err
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
	return s.editFile(ctx, func(text []byte) ([]byte, error) {
		if _, m, found := Find(text, s.Name); found && !s.claim.Owns(m) {
			return nil, s.foreignError(m)
		}
		if err := s.checkEnd(text); err != nil {
			return nil, err
		}
		return Drop(text, s.Name), nil
	})
}

func (s *Store) foreignError(m owner.Mark) error {
	return s.claim.NewForeignError(fmt.Sprintf("block %q", s.Name), Path+" on "+s.Host.String(), s.ImportID, m)
}

// readFile returns the file's content, nil where there is none.
func (s *Store) readFile(ctx context.Context) ([]byte, error) {
	text, err := s.Host.Read(ctx, Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s on %s: %w", Path, s.Host, err)
	}
	return append([]byte{}, text...), nil // an empty file is not nil
}

// editFile changes the file, and tries again when somebody else changed it meanwhile. A file that is not there is nil, before and after.
func (s *Store) editFile(ctx context.Context, change func(text []byte) ([]byte, error)) error {
	unlock, err := s.Host.Lock(ctx, "hosts-file")
	if err != nil {
		return err
	}
	defer unlock()
	for range 5 {
		var text, changed []byte
		if text, err = s.readFile(ctx); err == nil {
			changed, err = change(text)
		}
		if err != nil || bytes.Equal(changed, text) && (changed == nil) == (text == nil) {
			return err
		}
		if err = host.Rewrite(ctx, s.Host, Path, text, changed); !errors.Is(err, host.ErrEdited) {
			return err
		}
	}
	return err
}
