package nfsexport

import (
	"context"
	"errors"
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/nfs"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// store is an export with its directory.
type store struct{ *part.Part[nfs.Export] }

func openStore(ctx context.Context, at crud.Opening, m *model) (crud.Store[nfs.Export], error) {
	exported := m.Path.ValueString()
	put := func(t transaction.Tree, want nfs.Export) error { return nfs.Set(t, want, at.Claim.Mark()) }
	part, err := crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), part.Part[nfs.Export]{
		Daemon: nfs.Daemon{}, Owner: fmt.Sprintf("NFS export %q", exported), Place: nfs.Place(exported), ImportID: formatID(m),
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return nfs.Mark(t, exported) },
		Find: func(t transaction.Tree) (nfs.Export, error) { return nfs.Find(t, exported) },
		Add:  put, Set: put,
		Drop: func(t transaction.Tree) error { return nfs.Drop(t, exported) },
	})
	return &store{part}, err
}

// Get reads the export, and what its directory is.
func (s *store) Get(ctx context.Context) (nfs.Export, error) {
	got, err := s.Part.Get(ctx)
	if err != nil {
		return got, err
	}
	return nfs.Look(ctx, s.Host, got)
}

// Create makes the directory what it shall be, and exports it.
func (s *store) Create(ctx context.Context, want nfs.Export) (nfs.Export, error) {
	if err := s.MayCreate(ctx); err != nil && !errors.Is(err, transaction.ErrAbsent) {
		return want, err // before a directory is made for somebody else's export
	}
	return s.putExport(ctx, want, s.Part.Create)
}

// Update does the same to what is exported.
func (s *store) Update(ctx context.Context, was, want nfs.Export) (nfs.Export, error) {
	return s.putExport(ctx, want, func(ctx context.Context, want nfs.Export) (nfs.Export, error) { return s.Part.Update(ctx, was, want) })
}

// putExport makes a directory that is missing, exports it, and gives it owner, group and permissions last, when nothing refuses the export any
// more.
func (s *store) putExport(ctx context.Context, want nfs.Export, write func(context.Context, nfs.Export) (nfs.Export, error)) (nfs.Export, error) {
	undo, err := nfs.Prepare(ctx, s.Host, want)
	if err == nil {
		var got nfs.Export
		if got, err = write(ctx, want); err == nil {
			return s.giveDirectory(ctx, got, want)
		}
	} else {
		err = service.At([]any{"path"}, err)
	}
	if !errors.As(err, new(*crud.Unfinished)) {
		undo(context.WithoutCancel(ctx))
	}
	return want, err
}

// giveDirectory makes the directory of what is exported now what it shall be.
func (s *store) giveDirectory(ctx context.Context, got, want nfs.Export) (nfs.Export, error) {
	if err := nfs.Give(ctx, s.Host, want); err != nil {
		return got, &crud.Unfinished{Err: err}
	}
	return service.ReadBack(ctx, func(ctx context.Context) (nfs.Export, error) { return nfs.Look(ctx, s.Host, got) }, nil)
}
