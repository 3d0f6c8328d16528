package transaction

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// restoreLimit bounds putting the old configuration back, which runs even when the caller was cancelled. An emulated machine on a busy
// computer was seen to take more than one minute.
const restoreLimit = 3 * time.Minute

// recoverTree returns the live tree to edit, after ending what an interrupted commit began: its swap may be on disk in part,
// so the files from before are put back, unless a person changed one of them since. The machine's lock is held. unfit is
// why the daemon cannot be told to serve the tree, in which case nothing may be written.
func (t *target) recoverTree(ctx context.Context) (tree Tree, unfit, err error) {
	t.warnings = nil
	tree, left, original, running, err := t.loadAndAsk(ctx, t.journalPath(), t.originalPath())
	if err != nil {
		return nil, nil, err
	}
	t.original, t.running = original, running
	if left == nil {
		return tree, nil, nil
	}
	if tree, err = t.finishWrites(ctx, tree, left); err != nil {
		return nil, nil, err
	}
	old, theirs, err := t.undoJournal(ctx, tree, left)
	if err != nil {
		return nil, nil, fmt.Errorf("undo an interrupted change of %s on %s by %s: %w", t.daemon.Name(), t.host, t.journalPath(), err)
	}
	failpoint.Hit("recover/undone")
	if running {
		if _, err := t.reactivateTree(ctx, tree, old); err != nil {
			unfit := &UnfitError{Daemon: t.daemon.Name(), Host: t.host.String(), Journal: t.journalPath(), Edited: theirs, Err: err}
			if len(theirs) > 0 { // a removal swaps all the same, with a journal of its own
				unfit.Journal, err = t.interruptedPath(), t.copyJournal(ctx)
				return old, unfit, err
			}
			return old, unfit, nil
		}
	}
	if len(theirs) == 0 {
		return old, nil, t.endCommit(ctx)
	}
	return old, nil, t.keepEdited(ctx, theirs)
}

// finishScript writes the rest of files that were being written in place.
//
//go:embed finish.sh
var finishScript string

// finishWrites returns the tree after those files of an interrupted swap were written to their end that were being written in place when the machine
// lost its power: half of what the swap writes would count as what a person made of the file.
func (t *target) finishWrites(ctx context.Context, tree Tree, left *journal) (Tree, error) {
	_, theirs := left.undoSwap(tree)
	if len(theirs) == 0 {
		return tree, nil
	}
	cmd := host.Script("finish what was being written", host.PlaceFunctions+finishScript, theirs...)
	cmd.Lock = t.daemon.Name()
	if _, err := t.host.Run(ctx, cmd); err != nil {
		return nil, fmt.Errorf("finish an interrupted change of %s on %s: %w", t.daemon.Name(), t.host, err)
	}
	tree, _, _, err := t.loadFiles(ctx, t.journalPath(), t.originalPath())
	return tree, err
}

// undoJournal puts back what an interrupted swap replaced, unless a person changed one of its files since: then old is what is there,
// and theirs are the files.
func (t *target) undoJournal(ctx context.Context, tree Tree, left *journal) (old Tree, theirs []string, err error) {
	old, theirs = left.undoSwap(tree)
	return old, theirs, t.replaceFiles(ctx, tree, old, nil)
}

// keepEdited ends an interrupted change whose files a person has edited since, and says where to find what it replaced.
func (t *target) keepEdited(ctx context.Context, theirs []string) error {
	t.addWarning(fmt.Sprintf("A change of %s on %s was interrupted, and %s was edited by hand since: that is kept as it is. What the interrupted change replaced is in %s there",
		t.daemon.Name(), t.host, strings.Join(theirs, ", "), t.interruptedPath()))
	return t.leaveJournal(ctx)
}

// reactivateTree makes the daemon serve old, which is on disk again after bad was. refused is what the daemon answered to the
// order, nil where it took it: one that refuses the order and serves old nevertheless never left it, which is no error.
func (t *target) reactivateTree(ctx context.Context, bad, old Tree) (refused, err error) {
	err = t.daemon.Activate(ctx, t.host, bad, old)
	if err != nil && !errors.Is(err, host.ErrCut) && !errors.Is(err, host.ErrLockLost) && ctx.Err() == nil {
		refused = err
	}
	if err != nil && t.verifyTree(ctx, bad, old) == nil {
		return refused, nil
	}
	return refused, err
}

// rollBack makes old live again where bad is on disk, in whole or in part. The journal goes last, so that whoever comes
// next tries again when this fails. A daemon that did not run before need not run now. What a person edited meanwhile stays. unfit is
// why the daemon, which runs, does not load old either.
func (t *target) rollBack(ctx context.Context, bad, old Tree) (unfit, err error) {
	var theirs []string
	err = t.replaceFiles(ctx, bad, old, nil)
	if errors.Is(err, errEdited) { // the swap ended half-way, or a person was there
		bad, old, theirs, err = t.rollBackByJournal(ctx, bad, old)
	}
	if err != nil {
		return nil, err
	}
	failpoint.Hit("rollback/replaced")
	refused, err := t.reactivateTree(ctx, bad, old)
	failpoint.Hit("rollback/reactivated")
	if t.running {
		unfit = refused
	}
	if err != nil && t.running {
		return unfit, fmt.Errorf("activate: %w", err)
	}
	end := t.endCommit
	if len(theirs) > 0 {
		end = func(ctx context.Context) error { return t.keepEdited(ctx, theirs) }
	}
	if err := end(ctx); err != nil || !t.running {
		return unfit, err
	}
	return unfit, t.verifyTree(ctx, bad, old)
}

// rollBackByJournal reads what is there, and undoes of it what the journal says that the swap from old to bad did.
func (t *target) rollBackByJournal(ctx context.Context, bad, old Tree) (there, back Tree, theirs []string, err error) {
	there, left, _, err := t.loadFiles(ctx, t.journalPath())
	if err != nil {
		return bad, old, nil, err
	}
	if left == nil { // the swap ended before it began
		return there, there, nil, nil
	}
	back, theirs, err = t.undoJournal(ctx, there, left)
	return there, back, theirs, err
}
