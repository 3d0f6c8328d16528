package nfs

import (
	"context"
	"errors"
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Store is a crud.Store of an export with its directory.
type Store struct{ *part.Part[Export] }

// NewPart returns the part of the machine's exports that one is: mark is its owner's, and importID what `terraform import` takes for it.
func NewPart(exported, importID string, mark owner.Mark) part.Part[Export] {
	put := func(t transaction.Tree, want Export) error { return Set(t, want, mark) }
	return part.Part[Export]{
		Daemon: Daemon{}, Owner: fmt.Sprintf("NFS export %q", exported), Place: Place(exported), ImportID: importID,
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return Mark(t, exported) },
		Find: func(t transaction.Tree) (Export, error) { return Find(t, exported) },
		Add:  put, Set: put,
		Drop: func(t transaction.Tree) error { return Drop(t, exported) },
	}
}

// Get reads the export, and what its directory is.
func (s *Store) Get(ctx context.Context) (Export, error) {
	got, err := s.Part.Get(ctx)
	if err != nil {
		return got, err
	}
	return Look(ctx, s.Host, got)
}

// Create makes the directory what it shall be, and exports it.
func (s *Store) Create(ctx context.Context, want Export) (Export, error) {
	if err := s.MayCreate(ctx); err != nil && !errors.Is(err, transaction.ErrAbsent) {
		return want, err // before a directory is made for somebody else's export
	}
	return s.putExport(ctx, want, s.Part.Create)
}

// Update does the same to what is exported.
func (s *Store) Update(ctx context.Context, was, want Export) (Export, error) {
	return s.putExport(ctx, want, func(ctx context.Context, want Export) (Export, error) { return s.Part.Update(ctx, was, want) })
}

// putExport makes a directory that is missing, exports it, and gives it owner, group and permissions last, when nothing refuses the export any
// more.
func (s *Store) putExport(ctx context.Context, want Export, write func(context.Context, Export) (Export, error)) (Export, error) {
	undo, err := Prepare(ctx, s.Host, want)
	if err == nil {
		var got Export
		if got, err = write(ctx, want); err == nil {
			return s.giveDirectory(ctx, got, want)
		}
	} else {
		err = service.At([]any{"path"}, err)
	}
	if !errors.As(err, new(*service.Unfinished)) {
		undo(context.WithoutCancel(ctx))
	}
	return want, err
}

// giveDirectory makes the directory of what is exported now what it shall be.
func (s *Store) giveDirectory(ctx context.Context, got, want Export) (Export, error) {
	if err := Give(ctx, s.Host, want); err != nil {
		return got, &service.Unfinished{Err: err}
	}
	return service.ReadBack(ctx, func(ctx context.Context) (Export, error) { return Look(ctx, s.Host, got) }, nil)
}
