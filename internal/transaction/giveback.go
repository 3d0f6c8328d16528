package transaction

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// Stripper is a Daemon that can take every part that the provider wrote out of a tree and put back what a
// take-over replaced, so that what a person wrote since is kept.
type Stripper interface{ Strip(t Tree) error }

// InUseError says that a daemon's configuration cannot be given back: parts in it still have their owners, other states or
// resources that are not destroyed.
type InUseError struct {
	Daemon, Host string
	// Parts name them, and whose they are.
	Parts []string
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("%s on %s goes on serving what is still there: %s", e.Daemon, e.Host, strings.Join(e.Parts, ", "))
}

// Owners is a Daemon that tells which parts of a tree carry the provider's mark, this state's or another's, as messages name
// them: `HAProxy backend "api", of another state (owner …)`.
type Owners interface{ Owners(t Tree) []string }

// checkOwners returns an *InUseError where parts of a daemon's tree have owners.
func checkOwners(h host.Host, d Daemon, t Tree) error {
	if o, ok := d.(Owners); ok {
		if parts := o.Owners(t); len(parts) > 0 {
			return &InUseError{Daemon: d.Name(), Host: h.String(), Parts: parts}
		}
	}
	return nil
}

// GiveBack ends the provider's hold on a daemon: the configuration becomes what it was before the first
// commit on the machine (what a person wrote since is kept where the Daemon is a Stripper), and what
// commits kept beside it is removed. While any part of it has an owner, nothing is changed and the error is an *InUseError. The
// warnings say what was not possible: a daemon that cannot be told to load the
// configuration, or that refuses it as it was found, has its files back all the same. A daemon that is stopped stays so. kept are the
// paths of files that are not as they were found, because of what others wrote since, which the daemon may serve; of a Sharer, whatever it
// serves still.
func (e *Engine) GiveBack(ctx context.Context, h host.Host, d Daemon) (warnings, kept []string, err error) {
	if s, ok := d.(Sharer); ok {
		tree, err := e.Snapshot(ctx, h, d)
		if err == nil {
			err = checkOwners(h, d, tree)
		}
		if err == nil {
			kept, err = s.ServesBesides(ctx, h)
		}
		return nil, kept, err
	}
	l := e.findQueue(h, d)
	if _, err := h.Read(ctx, l.originalPath()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil // nothing was ever committed
	} else if err != nil {
		return nil, nil, fmt.Errorf("read %s on %s: %w", l.originalPath(), h, err)
	}
	edit := Edit{Owner: "what was there before", Warn: func(text string) { warnings = append(warnings, text) }}
	r := &request{edit: edit, giveBack: true}
	err = l.commitRequest(ctx, r)
	return warnings, r.kept, err
}

// giveBack is GiveBack while the machine's lock is held, as the only one of its group.
func (q *queue) giveBack(ctx context.Context, t turn, r *request) error {
	if q.original == nil {
		return nil // somebody else gave it back since
	}
	if err := checkOwners(q.host, q.daemon, t.tree); err != nil {
		return err
	}
	next, err := q.withoutProvider(t.tree)
	if err != nil {
		return err
	}
	if write, remove := t.tree.Changes(next); len(write)+len(remove) > 0 {
		load, err := q.mayLoad(ctx, t.tree, next)
		if err != nil {
			return err
		}
		if err := q.returnFiles(ctx, t.tree, next, load && q.running); err != nil {
			return err
		}
		q.warnOfKept(t.tree, next)
	}
	r.kept, _ = q.original.Changes(next)
	return q.removeState(ctx)
}

// withoutProvider returns the configuration without the provider.
func (q *queue) withoutProvider(tree Tree) (Tree, error) {
	s, ok := q.daemon.(Stripper)
	if !ok {
		return q.original.Clone(), nil
	}
	next := tree.Clone()
	if err := s.Strip(next); err != nil {
		return nil, err
	}
	next.restoreOriginal(tree, q.original)
	return next, nil
}

// mayLoad says whether the checker takes what is given back. A configuration that is refused because it was so before
// the provider came, or because of what others wrote since, is given back without being loaded; one that is refused for
// another reason is an error.
func (q *queue) mayLoad(ctx context.Context, tree, next Tree) (bool, error) {
	err := q.checkTree(ctx, tree, next)
	if err == nil {
		return q.missing == nil, nil
	}
	if !errors.As(err, new(*RefusedError)) {
		return false, err
	}
	write, remove := q.original.Changes(next)
	if len(write)+len(remove) > 0 && !errors.As(q.askChecker(ctx, tree, tree), new(*RefusedError)) {
		return false, err
	}
	q.addWarning(fmt.Sprintf("The files of %s on %s are as they were before the provider came, but it does not take them, so it was not told to load them: %s",
		q.daemon.Name(), q.host, errors.Unwrap(err)))
	return false, nil
}

// returnFiles puts next in the place of tree, and has the daemon serve it where load says so. A daemon that does not is
// no reason to keep its files. The journal is there until the daemon was asked: who comes after a run that ended before that undoes it, and asks.
func (q *queue) returnFiles(ctx context.Context, tree, next Tree, load bool) error {
	keep, err := q.swapRecords(tree, next)
	if err != nil {
		return err
	}
	if err := q.replaceFiles(ctx, tree, next, keep); err != nil {
		return err
	}
	if !load {
		return nil
	}
	err = q.daemon.Activate(ctx, q.host, tree, next)
	if err == nil {
		err = q.verifyTree(ctx, tree, next)
	}
	if err != nil && (errors.Is(err, host.ErrCut) || ctx.Err() != nil) {
		return err
	}
	if err != nil {
		q.addWarning(fmt.Sprintf("The files of %s on %s are as they were before the provider came, but it cannot be told to serve them: %s; it may go on with what it had until it is restarted",
			q.daemon.Name(), q.host, err))
	}
	return nil
}
