package nfs

import (
	"context"
	"errors"
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// NewPart returns the part of the machine's exports that one is, with its directory.
func NewPart(of part.Identity) part.Part[Export] {
	put := func(t transaction.Tree, want Export) error { return Set(t, want, of.Mark) }
	return part.Part[Export]{
		Daemon: Daemon{}, Owner: fmt.Sprintf("NFS export %q", of.Name), Place: Place(of.Name), ImportID: of.ImportID,
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return Mark(t, of.Name) },
		Find: func(t transaction.Tree) (Export, error) { return Find(t, of.Name) },
		Add:  put, Set: put,
		Drop:     func(t transaction.Tree) error { return Drop(t, of.Name) },
		Complete: readDirectory, Change: putExport,
	}
}

// putExport makes a directory that is missing, exports it, and gives it owner, group and permissions last, when nothing refuses the export any
// more.
func putExport(ctx context.Context, h host.Host, want Export, write func(context.Context, Export) (Export, error)) (Export, error) {
	undo, err := prepareDirectory(ctx, h, want)
	if err == nil {
		var got Export
		if got, err = write(ctx, want); err == nil {
			return finishDirectory(ctx, h, got, want)
		}
	} else {
		err = service.At([]any{"path"}, err)
	}
	if !errors.As(err, new(*service.Unfinished)) {
		undo(context.WithoutCancel(ctx))
	}
	return want, err
}

// finishDirectory makes the directory of what is exported now what it shall be.
func finishDirectory(ctx context.Context, h host.Host, got, want Export) (Export, error) {
	if err := giveDirectory(ctx, h, want); err != nil {
		return got, &service.Unfinished{Err: err}
	}
	got.Owner, got.Group, got.Permissions = want.Owner, want.Group, want.Permissions // got was read while the directory was as before
	return service.ReadBack(ctx, func(ctx context.Context) (Export, error) { return readDirectory(ctx, h, got) }, nil)
}
