package transaction

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	"golang.org/x/sync/errgroup"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// target is one daemon on one machine, and dir what commits keep beside its configuration:
//
//	stage/*/       the configuration that the checker is asked about
//	journal.json   the files that a running commit replaced: there only between its swap and its end
//	original.json  the files as they were before the first commit
//	interrupted.json  what the last commit replaced that was interrupted before its files were edited by hand
//
// Beside these it has what the turn under way knows, which belongs to the leader.
type target struct {
	host   host.Host
	daemon Daemon
	dir    string

	// staged spares asking the machine again.
	staged staged
	// original are the files as they were before the first commit, nil where there was none.
	original Tree
	// running says whether the daemon is up.
	running bool
	// cannotReload says that the daemon runs and cannot be told to load anything.
	cannotReload bool
	// missing is why the daemon, which does not run, cannot be started at all, nil where it can.
	missing error
	// probed says that the daemon took an order in this process, or said that it would.
	probed bool
	// learned is what the last proof told beside it, nil where that is nothing.
	learned any
	// cut is the Cut of the turn's edits; nil where they have none.
	cut func(content []byte) []byte
	// secrets are those of the turn's edits, which are in no error or warning.
	secrets []string
	// warnings are what those who wait for the turn must know.
	warnings []string
}

func (t *target) journalPath() string  { return t.dir + "/journal.json" }
func (t *target) originalPath() string { return t.dir + "/original.json" }

// interruptedPath is where the journal of an interrupted commit goes when it is not undone.
func (t *target) interruptedPath() string { return t.dir + "/interrupted.json" }

func (t *target) addWarning(text string) { t.warnings = append(t.warnings, text) }

// loadFiles reads the live files, and what commits keep where it is asked for: the journal of one that did not come to its end
// (nil is none) and the original.
func (t *target) loadFiles(ctx context.Context, kept ...string) (Tree, *journal, Tree, error) {
	files, err := host.ReadGlobs(ctx, t.host, slices.Concat(t.daemon.Globs(), kept))
	tree := Tree(files)
	if f, ok := t.daemon.(Follower); ok && err == nil {
		err = t.followFiles(ctx, f, tree)
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read the configuration of %s on %s: %w", t.daemon.Name(), t.host, err)
	}
	var left *journal
	var original Tree
	if f, ok := tree[t.journalPath()]; ok {
		if left, err = parseJournal(f.Content); err != nil {
			return nil, nil, nil, fmt.Errorf("read %s on %s: %w", t.journalPath(), t.host, err)
		}
	}
	if f, ok := tree[t.originalPath()]; ok {
		if original, err = parseOriginal(f.Content); err != nil {
			return nil, nil, nil, fmt.Errorf("read %s on %s: %w", t.originalPath(), t.host, err)
		}
	}
	delete(tree, t.journalPath())
	delete(tree, t.originalPath())
	return tree, left, original, nil
}

// followFiles adds the files to a tree that those in it name, and that these name in turn.
func (t *target) followFiles(ctx context.Context, f Follower, tree Tree) error {
	asked := map[string]bool{}
	for {
		more := slices.DeleteFunc(f.Follow(tree), func(path string) bool { return asked[path] })
		if len(more) == 0 {
			return nil
		}
		files, err := host.ReadGlobs(ctx, t.host, more)
		if err != nil {
			return err
		}
		for _, path := range more {
			asked[path] = true
		}
		maps.Copy(tree, files)
	}
}

// loadAndAsk is load, and asks meanwhile whether the daemon is up.
func (t *target) loadAndAsk(ctx context.Context, kept ...string) (tree Tree, left *journal, original Tree, running bool, err error) {
	g, asking := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		if running, err = t.daemon.Running(asking, t.host); err != nil {
			return fmt.Errorf("ask whether %s runs on %s: %w", t.daemon.Name(), t.host, err)
		}
		return nil
	})
	tree, left, original, err = t.loadFiles(ctx, kept...)
	if asked := g.Wait(); err == nil {
		err = asked
	}
	return tree, left, original, running, err
}

// reading is a daemon's configuration on a machine, and whether the daemon is up.
type reading struct {
	// tree is the configuration; where a commit did not come to its end, the one before that, which is what was proven to be served last.
	tree    Tree
	running bool
	// interrupted says that a commit did not come to its end, or is under way: what is live may be more than the tree. edited says that a
	// person changed its files since, which who ends it has to be told.
	interrupted, edited bool
}

// readTree reads the configuration.
func (t *target) readTree(ctx context.Context) (reading, error) {
	tree, left, _, running, err := t.loadAndAsk(ctx, t.journalPath())
	if err != nil {
		return reading{}, err
	}
	got := reading{tree: tree, running: running, interrupted: left != nil}
	if left != nil {
		var theirs []string
		got.tree, theirs = left.undoSwap(tree)
		got.edited = len(theirs) > 0
	}
	return got, nil
}

// probeDaemon returns an *UnfitError where the daemon, which runs, cannot be told to load anything, and a *MissingError where one that does not
// run cannot be started.
func (t *target) probeDaemon(ctx context.Context) error {
	if t.missing = nil; !t.running {
		t.missing = findMissing(ctx, t.host, t.daemon)
		return t.missing
	}
	p, ok := t.daemon.(Prober)
	if !ok || t.probed {
		return nil
	}
	if err := p.Probe(ctx, t.host); err != nil {
		return &UnfitError{Daemon: t.daemon.Name(), Host: t.host.String(), Err: err}
	}
	t.probed = true
	return nil
}

// checkTree asks the daemon's checker, where there is one, about next, where that differs from tree in what a daemon reads.
func (t *target) checkTree(ctx context.Context, tree, next Tree) error {
	if write, remove := tree.Changes(next); len(write)+len(remove) == 0 || tree.changesNotes(next, t.cut) || isGone(t.missing) {
		return nil
	}
	return t.askChecker(ctx, tree, next)
}

// askChecker asks the daemon's checker about next. What a swap from tree to next keeps is staged with it.
func (t *target) askChecker(ctx context.Context, tree, next Tree) error {
	keep, err := t.swapRecords(tree, next)
	if err != nil {
		return err
	}
	if err := t.stageFiles(ctx, slices.Concat(next.pickFiles(slices.Sorted(maps.Keys(next))), keep, tree.listSums(next)), true); err != nil {
		return err
	}
	return refusalOf(ctx, t.daemon, t.host, t.daemon.Check(ctx, t.host, t.staged.dir, next))
}

// commitTree puts next, which is checked, in the place of tree and makes the daemon serve it, or puts tree back. Where serve
// is not asked for the daemon, which is stopped, is left alone.
func (t *target) commitTree(ctx context.Context, tree, next Tree, serve bool) error {
	write, remove := tree.Changes(next)
	switch {
	case len(write)+len(remove) == 0 && serve:
		return t.ensureServed(ctx, tree, next)
	case len(write)+len(remove) == 0:
		return nil
	}
	keep, err := t.swapRecords(tree, next)
	if err != nil {
		return err
	}
	serve = serve && !tree.changesNotes(next, t.cut)
	err = t.replaceFiles(ctx, tree, next, keep)
	if errors.Is(err, errUnchanged) {
		return err
	}
	if err == nil && serve {
		err = t.activateTree(ctx, tree, next)
	}
	if err == nil && serve {
		err = t.verifyTree(ctx, tree, next)
	}
	if err == nil {
		t.warnOfKept(tree, next)
		t.running, t.probed = t.running || serve, t.probed || serve
		if _, exclusive := t.daemon.(Exclusive); exclusive {
			if len(next) == 0 {
				return t.removeState(ctx)
			}
			return t.endCommit(ctx)
		}
		if t.original == nil {
			t.original = tree
		}
		return t.endCommit(ctx)
	}
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreLimit)
	defer cancel()
	rolled := &RolledBackError{Daemon: t.daemon.Name(), Host: t.host.String(), Journal: t.journalPath(), Stopped: !t.running, Err: err}
	rolled.Unfit, rolled.Restore = t.rollBack(back, next, tree)
	return rolled
}

// warnOfKept says where a change put what a person wrote.
func (t *target) warnOfKept(tree, next Tree) {
	if k, ok := t.daemon.(Keeper); ok {
		for _, text := range k.Kept(tree, next) {
			t.addWarning(fmt.Sprintf("On %s, %s", t.host, text))
		}
	}
}

type remarkKey struct{}

// Remark passes on what the user must know of what a daemon's Activate did, with the context of that.
func Remark(ctx context.Context, text string) {
	if warn, ok := ctx.Value(remarkKey{}).(func(string)); ok {
		warn(text)
	}
}

// activateTree makes the daemon serve next; what it remarks becomes a warning.
func (t *target) activateTree(ctx context.Context, tree, next Tree) error {
	return t.daemon.Activate(context.WithValue(ctx, remarkKey{}, t.addWarning), t.host, tree, next)
}

// verifyTree proves that the daemon serves a tree after prev.
func (t *target) verifyTree(ctx context.Context, prev, tree Tree) (err error) {
	if s, ok := t.daemon.(Selective); ok {
		return s.VerifyChange(ctx, t.host, prev, tree)
	}
	if w, ok := t.daemon.(Witness); ok {
		t.learned, err = w.Witness(ctx, t.host, tree)
		return err
	}
	return t.daemon.Verify(ctx, t.host, tree)
}

// ensureServed makes sure that the daemon serves what is on disk: it may have been stopped, or the files changed
// by hand to what they shall be, without a reload.
func (t *target) ensureServed(ctx context.Context, tree, next Tree) error {
	if err := t.verifyTree(ctx, next, next); err == nil {
		t.running = true
		return nil
	}
	if err := t.activateTree(ctx, tree, next); err != nil {
		return fmt.Errorf("activate %s on %s: %w", t.daemon.Name(), t.host, err)
	}
	if err := t.verifyTree(ctx, next, next); err != nil {
		return fmt.Errorf("verify %s on %s: %w", t.daemon.Name(), t.host, err)
	}
	t.running = true
	return nil
}

// deliverWarnings passes the turn's warnings to one of those who wait for it, rather to one whose edit succeeded.
func (t *target) deliverWarnings(group []*request) {
	to := group[0]
	for _, r := range group {
		if r.err == nil {
			to = r
			break
		}
	}
	for _, text := range t.warnings {
		text = t.maskText(text)
		tflog.Warn(to.ctx, text)
		if to.edit.Warn != nil {
			to.edit.Warn(text)
		}
	}
	t.warnings = nil
}
