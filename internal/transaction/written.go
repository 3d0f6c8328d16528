package transaction

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// Written is what was written into a daemon's configuration since the first commit, by the provider and by others: what a machine lacks that
// has nothing but the daemon's package.
type Written struct {
	Files   Tree
	Removed []string
}

// IsEmpty says whether nothing was written.
func (w Written) IsEmpty() bool { return len(w.Files)+len(w.Removed) == 0 }

// Apply writes it into the configuration of another machine: the Apply of an Edit.
func (w Written) Apply(t Tree) error {
	maps.Copy(t, w.Files)
	for _, path := range w.Removed {
		delete(t, path)
	}
	return nil
}

// Written returns what was written into the daemon's configuration on the machine; nothing where nothing was ever committed.
func (e *Engine) Written(ctx context.Context, h host.Host, d Daemon) (Written, error) {
	original, err := e.readOriginal(ctx, h, d)
	if errors.Is(err, fs.ErrNotExist) {
		return Written{}, nil
	}
	if err != nil {
		return Written{}, err
	}
	tree, err := e.Snapshot(ctx, h, d)
	if err != nil {
		return Written{}, err
	}
	write, remove := original.Changes(tree)
	w := Written{Files: Tree{}, Removed: remove}
	for _, path := range write {
		w.Files[path] = tree[path]
	}
	return w, nil
}

// readOriginal reads the files as they were before the first commit: none where nobody but the provider writes them. An error that is
// fs.ErrNotExist says that there was no commit.
func (e *Engine) readOriginal(ctx context.Context, h host.Host, d Daemon) (Tree, error) {
	if _, exclusive := d.(Exclusive); exclusive {
		return Tree{}, nil
	}
	path := e.findQueue(h, d).originalPath()
	text, err := h.Read(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read %s on %s: %w", path, h, err)
	}
	original, err := parseOriginal(text)
	if err != nil {
		return nil, fmt.Errorf("read %s on %s: %w", path, h, err)
	}
	return original, nil
}
