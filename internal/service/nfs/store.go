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

// NewPart returns the part of the machine's exports that one is, with its directory: mark is its owner's, and importID what `terraform import` takes for it.
func NewPart(exported, importID string, mark owner.Mark) part.Part[Export] {
	put := func(t transaction.Tree, want Export) error { return Set(t, want, mark) }
	return part.Part[Export]{
		Daemon: Daemon{}, Owner: fmt.Sprintf("NFS export %q", exported), Place: Place(exported), ImportID: importID,
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return Mark(t, exported) },
		Find: func(t transaction.Tree) (Export, error) { return Find(t, exported) },
		Add:  put, Set: put,
		Drop:     func(t transaction.Tree) error { return Drop(t, exported) },
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
