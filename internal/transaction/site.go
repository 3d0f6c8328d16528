package transaction

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// restoreLimit bounds putting the old configuration back, which runs even when the caller was cancelled.
const restoreLimit = time.Minute

// site is one daemon on one machine, and dir what commits keep beside its configuration:
//
//	stage/*/       the configuration that the checker is asked about
//	journal.json   the files that a running commit replaced: there only between its swap and its end
//	original.json  the files as they were before the first commit
type site struct {
	host   host.Host
	daemon Daemon
	dir    string

	// staged and originalKept spare asking the machine again; the group under way owns them.
	staged       staged
	originalKept bool
	// learned is what the last proof of the group under way told beside it, nil where that is nothing.
	learned any
}

func (s *site) journalPath() string  { return s.dir + "/journal.json" }
func (s *site) originalPath() string { return s.dir + "/original.json" }

// load reads the live files, and the journal of a commit that did not come to its end; nil is none.
func (s *site) load(ctx context.Context) (Tree, *journal, error) {
	globs := append(append([]string{}, s.daemon.Globs()...), s.journalPath())
	files, err := host.ReadGlobs(ctx, s.host, globs)
	tree := Tree(files)
	if f, ok := s.daemon.(Follower); ok && err == nil {
		err = s.follow(ctx, f, tree)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the configuration of %s on %s: %w", s.daemon.Name(), s.host, err)
	}
	left, interrupted := tree[s.journalPath()]
	delete(tree, s.journalPath())
	if !interrupted {
		return tree, nil, nil
	}
	j, err := parseJournal(left.Content)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s on %s: %w", s.journalPath(), s.host, err)
	}
	return tree, j, nil
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

// served is what the daemon serves: nothing when it does not run, the old files where a commit replaced
// them and did not come to its end.
func (s *site) served(ctx context.Context) (Tree, error) {
	var running bool
	g, asking := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		if running, err = s.daemon.Running(asking, s.host); err != nil {
			return fmt.Errorf("ask whether %s runs on %s: %w", s.daemon.Name(), s.host, err)
		}
		return nil
	})
	tree, j, err := s.load(ctx)
	if running := g.Wait(); err == nil {
		err = running
	}
	if err != nil {
		return nil, err
	}
	if !running {
		return Tree{}, nil
	}
	if j != nil {
		return j.undo(tree), nil
	}
	return tree, nil
}

// ready returns the live tree to edit, after ending what an interrupted commit began: its swap may be on
// disk in part, so the files that served before are put back. The machine's lock is held.
func (s *site) ready(ctx context.Context) (Tree, error) {
	tree, j, err := s.load(ctx)
	if err != nil || j == nil {
		return tree, err
	}
	old := j.undo(tree)
	if err := s.putBack(ctx, tree, old); err != nil {
		return nil, fmt.Errorf("undo an interrupted change of %s on %s: %w", s.daemon.Name(), s.host, err)
	}
	return old, nil
}

// check asks the daemon's checker about next.
func (s *site) check(ctx context.Context, tree, next Tree) error {
	if write, remove := tree.Changes(next); len(write)+len(remove) == 0 {
		return nil
	}
	keep, err := s.records(tree, next)
	if err != nil {
		return err
	}
	if err := s.stageFiles(ctx, append(next.files(slices.Sorted(maps.Keys(next))), keep...), true); err != nil {
		return err
	}
	return refusalOf(s.daemon, s.host, s.daemon.Check(ctx, s.host, s.staged.dir, next))
}

// swap puts next, which is checked, in the place of tree and makes the daemon serve it, or puts tree back.
func (s *site) swap(ctx context.Context, tree, next Tree) error {
	write, remove := tree.Changes(next)
	if len(write)+len(remove) == 0 {
		return s.assert(ctx, tree, next)
	}
	keep, err := s.records(tree, next)
	if err != nil {
		return err
	}
	err = s.replace(ctx, tree, next, keep)
	if errors.Is(err, errUnchanged) {
		return err
	}
	if err == nil {
		err = s.daemon.Activate(ctx, s.host, tree, next)
	}
	if err == nil {
		err = s.verify(ctx, next)
	}
	if err == nil {
		s.originalKept = true
		return s.settle(ctx)
	}
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreLimit)
	defer cancel()
	restore := s.putBack(back, next, tree)
	if restore == nil {
		restore = s.verify(back, tree)
	}
	return &RolledBackError{Daemon: s.daemon.Name(), Host: s.host.String(), Err: err, Restore: restore}
}

// verify proves that the daemon serves a tree.
func (s *site) verify(ctx context.Context, t Tree) (err error) {
	if w, ok := s.daemon.(Witness); ok {
		s.learned, err = w.Witness(ctx, s.host, t)
		return err
	}
	return s.daemon.Verify(ctx, s.host, t)
}

// assert makes sure that the daemon serves what is on disk: it may have been stopped, or the files changed
// by hand to what they shall be, without a reload.
func (s *site) assert(ctx context.Context, tree, next Tree) error {
	if err := s.verify(ctx, next); err == nil {
		return nil
	}
	if err := s.daemon.Activate(ctx, s.host, tree, next); err != nil {
		return fmt.Errorf("activate %s on %s: %w", s.daemon.Name(), s.host, err)
	}
	if err := s.verify(ctx, next); err != nil {
		return fmt.Errorf("verify %s on %s: %w", s.daemon.Name(), s.host, err)
	}
	return nil
}

// putBack makes old live again where bad is on disk, in whole or in part. The journal goes last, so that
// whoever comes next tries again when this fails.
func (s *site) putBack(ctx context.Context, bad, old Tree) error {
	if err := s.replace(ctx, bad, old, nil); err != nil {
		return err
	}
	if err := s.daemon.Activate(ctx, s.host, bad, old); err != nil {
		return fmt.Errorf("activate: %w", err)
	}
	return s.settle(ctx)
}
