package transaction

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// restoreLimit bounds putting the old configuration back, which runs even when the caller was cancelled.
const restoreLimit = time.Minute

// recover returns the live tree to edit, after ending what an interrupted commit began: its swap may be on disk in part,
// so the files from before are put back, unless a person changed one of them since. The machine's lock is held. unfit is
// why the daemon cannot be told to serve the tree, in which case nothing may be written.
func (s *site) recover(ctx context.Context) (tree Tree, unfit, err error) {
	s.warnings = nil
	tree, left, original, running, err := s.loadAndAsk(ctx, s.journalPath(), s.originalPath())
	if err != nil {
		return nil, nil, err
	}
	s.original, s.running = original, running
	if left == nil {
		return tree, nil, nil
	}
	old, theirs := left.undo(tree)
	if len(theirs) > 0 {
		s.warn(fmt.Sprintf("A change of %s on %s was interrupted, and %s was edited by hand since: that is kept as it is. What the interrupted change replaced is in %s there until the next one succeeds",
			s.daemon.Name(), s.host, strings.Join(theirs, ", "), s.journalPath()))
	}
	if err := s.replace(ctx, tree, old, nil); err != nil {
		return nil, nil, fmt.Errorf("undo an interrupted change of %s on %s by %s: %w", s.daemon.Name(), s.host, s.journalPath(), err)
	}
	if running {
		if _, err := s.reactivate(ctx, tree, old); err != nil {
			return old, &UnfitError{Daemon: s.daemon.Name(), Host: s.host.String(), Journal: s.journalPath(), Err: err}, nil
		}
	}
	return old, nil, s.endCommit(ctx)
}

// reactivate makes the daemon serve old, which is on disk again after bad was. refused is what the daemon answered to the
// order, nil where it took it: one that refuses the order and serves old nevertheless never left it, which is no error.
func (s *site) reactivate(ctx context.Context, bad, old Tree) (refused, err error) {
	err = s.daemon.Activate(ctx, s.host, bad, old)
	if err != nil && !errors.Is(err, host.ErrCut) && !errors.Is(err, host.ErrLockLost) && ctx.Err() == nil {
		refused = err
	}
	if err != nil && s.verify(ctx, old) == nil {
		return refused, nil
	}
	return refused, err
}

// rollBack makes old live again where bad is on disk, in whole or in part. The journal goes last, so that whoever comes
// next tries again when this fails. A daemon that did not run before need not run now. unfit is why the daemon, which runs,
// does not load old either.
func (s *site) rollBack(ctx context.Context, bad, old Tree) (unfit, err error) {
	if err := s.replace(ctx, bad, old, nil); err != nil {
		return nil, err
	}
	refused, err := s.reactivate(ctx, bad, old)
	if s.running {
		unfit = refused
	}
	if err != nil && s.running {
		return unfit, fmt.Errorf("activate: %w", err)
	}
	if err := s.endCommit(ctx); err != nil || !s.running {
		return unfit, err
	}
	return unfit, s.verify(ctx, old)
}
