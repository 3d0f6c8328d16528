package transaction

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
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
	old, theirs, err := s.undoJournal(ctx, tree, left)
	if err != nil {
		return nil, nil, fmt.Errorf("undo an interrupted change of %s on %s by %s: %w", s.daemon.Name(), s.host, s.journalPath(), err)
	}
	failpoint.Hit("recover/undone")
	if running {
		if _, err := s.reactivate(ctx, tree, old); err != nil {
			return old, &UnfitError{Daemon: s.daemon.Name(), Host: s.host.String(), Journal: s.journalPath(), Edited: theirs, Err: err}, nil
		}
	}
	if len(theirs) == 0 {
		return old, nil, s.endCommit(ctx)
	}
	return old, nil, s.keepEdited(ctx, theirs)
}

// undoJournal puts back what an interrupted swap replaced, unless a person changed one of its files since: then old is what is there,
// and theirs are the files.
func (s *site) undoJournal(ctx context.Context, tree Tree, left *journal) (old Tree, theirs []string, err error) {
	old, theirs = left.undo(tree)
	return old, theirs, s.replace(ctx, tree, old, nil)
}

// keepEdited ends an interrupted change whose files a person has edited since, and says where to find what it replaced.
func (s *site) keepEdited(ctx context.Context, theirs []string) error {
	s.warn(fmt.Sprintf("A change of %s on %s was interrupted, and %s was edited by hand since: that is kept as it is. What the interrupted change replaced is in %s there",
		s.daemon.Name(), s.host, strings.Join(theirs, ", "), s.interruptedPath()))
	return s.leaveJournal(ctx)
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
// next tries again when this fails. A daemon that did not run before need not run now. What a person edited meanwhile stays. unfit is
// why the daemon, which runs, does not load old either.
func (s *site) rollBack(ctx context.Context, bad, old Tree) (unfit, err error) {
	var theirs []string
	err = s.replace(ctx, bad, old, nil)
	if errors.Is(err, errEdited) { // the swap ended half-way, or a person was there
		bad, old, theirs, err = s.rollBackByJournal(ctx, bad, old)
	}
	if err != nil {
		return nil, err
	}
	failpoint.Hit("rollback/replaced")
	refused, err := s.reactivate(ctx, bad, old)
	failpoint.Hit("rollback/reactivated")
	if s.running {
		unfit = refused
	}
	if err != nil && s.running {
		return unfit, fmt.Errorf("activate: %w", err)
	}
	end := s.endCommit
	if len(theirs) > 0 {
		end = func(ctx context.Context) error { return s.keepEdited(ctx, theirs) }
	}
	if err := end(ctx); err != nil || !s.running {
		return unfit, err
	}
	return unfit, s.verify(ctx, old)
}

// rollBackByJournal reads what is there, and undoes of it what the journal says that the swap from old to bad did.
func (s *site) rollBackByJournal(ctx context.Context, bad, old Tree) (there, back Tree, theirs []string, err error) {
	there, left, _, err := s.load(ctx, s.journalPath())
	if err != nil {
		return bad, old, nil, err
	}
	if left == nil { // the swap ended before it began
		return there, there, nil, nil
	}
	back, theirs, err = s.undoJournal(ctx, there, left)
	return there, back, theirs, err
}
