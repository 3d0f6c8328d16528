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

// site is one daemon on one machine, and dir what commits keep beside its configuration:
//
//	stage/*/       the configuration that the checker is asked about
//	journal.json   the files that a running commit replaced: there only between its swap and its end
//	original.json  the files as they were before the first commit
//	interrupted.json  what the last commit replaced that was interrupted before its files were edited by hand
//
// Beside these it has what the turn under way knows, which belongs to the leader.
type site struct {
	host   host.Host
	daemon Daemon
	dir    string

	// staged spares asking the machine again.
	staged staged
	// original are the files as they were before the first commit, nil where there was none.
	original Tree
	// running says whether the daemon is up.
	running bool
	// untold says that the daemon runs and cannot be told to load anything.
	untold bool
	// missing is why the daemon, which does not run, cannot be started at all, nil where it can.
	missing error
	// probed says that the daemon took an order in this process, or said that it would.
	probed bool
	// learned is what the last proof told beside it, nil where that is nothing.
	learned any
	// cut is the Cut of the turn's edits; nil where they have none.
	cut func(content []byte) []byte
	// warnings are what those who wait for the turn must know.
	warnings []string
}

func (s *site) journalPath() string  { return s.dir + "/journal.json" }
func (s *site) originalPath() string { return s.dir + "/original.json" }

// interruptedPath is where the journal of an interrupted commit goes when it is not undone.
func (s *site) interruptedPath() string { return s.dir + "/interrupted.json" }

func (s *site) warn(text string) { s.warnings = append(s.warnings, text) }

// load reads the live files, and what commits keep where it is asked for: the journal of one that did not come to its end
// (nil is none) and the original.
func (s *site) load(ctx context.Context, kept ...string) (Tree, *journal, Tree, error) {
	files, err := host.ReadGlobs(ctx, s.host, slices.Concat(s.daemon.Globs(), kept))
	tree := Tree(files)
	if f, ok := s.daemon.(Follower); ok && err == nil {
		err = s.follow(ctx, f, tree)
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read the configuration of %s on %s: %w", s.daemon.Name(), s.host, err)
	}
	var left *journal
	var original Tree
	if f, ok := tree[s.journalPath()]; ok {
		if left, err = parseJournal(f.Content); err != nil {
			return nil, nil, nil, fmt.Errorf("read %s on %s: %w", s.journalPath(), s.host, err)
		}
	}
	if f, ok := tree[s.originalPath()]; ok {
		if original, err = parseOriginal(f.Content); err != nil {
			return nil, nil, nil, fmt.Errorf("read %s on %s: %w", s.originalPath(), s.host, err)
		}
	}
	delete(tree, s.journalPath())
	delete(tree, s.originalPath())
	return tree, left, original, nil
}

// follow adds the files to a tree that those in it name, and that these name in turn.
func (s *site) follow(ctx context.Context, f Follower, tree Tree) error {
	asked := map[string]bool{}
	for {
		more := slices.DeleteFunc(f.Follow(tree), func(path string) bool { return asked[path] })
		if len(more) == 0 {
			return nil
		}
		files, err := host.ReadGlobs(ctx, s.host, more)
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
func (s *site) loadAndAsk(ctx context.Context, kept ...string) (tree Tree, left *journal, original Tree, running bool, err error) {
	g, asking := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		if running, err = s.daemon.Running(asking, s.host); err != nil {
			return fmt.Errorf("ask whether %s runs on %s: %w", s.daemon.Name(), s.host, err)
		}
		return nil
	})
	tree, left, original, err = s.load(ctx, kept...)
	if asked := g.Wait(); err == nil {
		err = asked
	}
	return tree, left, original, running, err
}

// read returns the configuration and whether the daemon is up. Where a commit did not come to its end, the configuration
// is the one before it, which is what was proven to be served last.
func (s *site) read(ctx context.Context) (tree Tree, running, interrupted bool, err error) {
	tree, left, _, running, err := s.loadAndAsk(ctx, s.journalPath())
	if err != nil {
		return nil, false, false, err
	}
	if left != nil {
		tree, _ = left.undo(tree)
	}
	return tree, running, left != nil, nil
}

// probe returns an *UnfitError where the daemon, which runs, cannot be told to load anything, and a *MissingError where one that does not
// run cannot be started.
func (s *site) probe(ctx context.Context) error {
	if s.missing = nil; !s.running {
		s.missing = findMissing(ctx, s.host, s.daemon)
		return s.missing
	}
	p, ok := s.daemon.(Prober)
	if !ok || s.probed {
		return nil
	}
	if err := p.Probe(ctx, s.host); err != nil {
		return &UnfitError{Daemon: s.daemon.Name(), Host: s.host.String(), Err: err}
	}
	s.probed = true
	return nil
}

// check asks the daemon's checker, where there is one, about next, where that differs from tree in what a daemon reads.
func (s *site) check(ctx context.Context, tree, next Tree) error {
	if write, remove := tree.Changes(next); len(write)+len(remove) == 0 || tree.changesNotes(next, s.cut) || isGone(s.missing) {
		return nil
	}
	return s.askChecker(ctx, tree, next)
}

// askChecker asks the daemon's checker about next. What a swap from tree to next keeps is staged with it.
func (s *site) askChecker(ctx context.Context, tree, next Tree) error {
	keep, err := s.records(tree, next)
	if err != nil {
		return err
	}
	if err := s.stageFiles(ctx, slices.Concat(next.files(slices.Sorted(maps.Keys(next))), keep, tree.listSums(next)), true); err != nil {
		return err
	}
	return refusalOf(ctx, s.daemon, s.host, s.daemon.Check(ctx, s.host, s.staged.dir, next))
}

// commitTree puts next, which is checked, in the place of tree and makes the daemon serve it, or puts tree back. Where serve
// is not asked for the daemon, which is stopped, is left alone.
func (s *site) commitTree(ctx context.Context, tree, next Tree, serve bool) error {
	write, remove := tree.Changes(next)
	switch {
	case len(write)+len(remove) == 0 && serve:
		return s.ensureServed(ctx, tree, next)
	case len(write)+len(remove) == 0:
		return nil
	}
	keep, err := s.records(tree, next)
	if err != nil {
		return err
	}
	serve = serve && !tree.changesNotes(next, s.cut)
	err = s.replace(ctx, tree, next, keep)
	if errors.Is(err, errUnchanged) {
		return err
	}
	if err == nil && serve {
		err = s.activate(ctx, tree, next)
	}
	if err == nil && serve {
		err = s.verify(ctx, next)
	}
	if err == nil {
		s.warnOfKept(tree, next)
		s.running, s.probed = s.running || serve, s.probed || serve
		if _, exclusive := s.daemon.(Exclusive); exclusive {
			if len(next) == 0 {
				return s.removeState(ctx)
			}
			return s.endCommit(ctx)
		}
		if s.original == nil {
			s.original = tree
		}
		return s.endCommit(ctx)
	}
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreLimit)
	defer cancel()
	rolled := &RolledBackError{Daemon: s.daemon.Name(), Host: s.host.String(), Journal: s.journalPath(), Stopped: !s.running, Err: err}
	rolled.Unfit, rolled.Restore = s.rollBack(back, next, tree)
	return rolled
}

// warnOfKept says where a change put what a person wrote.
func (s *site) warnOfKept(tree, next Tree) {
	if k, ok := s.daemon.(Keeper); ok {
		for _, text := range k.Kept(tree, next) {
			s.warn(fmt.Sprintf("On %s, %s", s.host, text))
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

// activate makes the daemon serve next; what it remarks becomes a warning.
func (s *site) activate(ctx context.Context, tree, next Tree) error {
	return s.daemon.Activate(context.WithValue(ctx, remarkKey{}, s.warn), s.host, tree, next)
}

// verify proves that the daemon serves a tree.
func (s *site) verify(ctx context.Context, t Tree) (err error) {
	if w, ok := s.daemon.(Witness); ok {
		s.learned, err = w.Witness(ctx, s.host, t)
		return err
	}
	return s.daemon.Verify(ctx, s.host, t)
}

// ensureServed makes sure that the daemon serves what is on disk: it may have been stopped, or the files changed
// by hand to what they shall be, without a reload.
func (s *site) ensureServed(ctx context.Context, tree, next Tree) error {
	if err := s.verify(ctx, next); err == nil {
		s.running = true
		return nil
	}
	if err := s.activate(ctx, tree, next); err != nil {
		return fmt.Errorf("activate %s on %s: %w", s.daemon.Name(), s.host, err)
	}
	if err := s.verify(ctx, next); err != nil {
		return fmt.Errorf("verify %s on %s: %w", s.daemon.Name(), s.host, err)
	}
	s.running = true
	return nil
}

// deliverWarnings passes the turn's warnings to one of those who wait for it, rather to one whose edit succeeded.
func (s *site) deliverWarnings(group []*request) {
	to := group[0]
	for _, r := range group {
		if r.err == nil {
			to = r
			break
		}
	}
	for _, text := range s.warnings {
		tflog.Warn(to.ctx, text)
		if to.edit.Warn != nil {
			to.edit.Warn(text)
		}
	}
	s.warnings = nil
}
