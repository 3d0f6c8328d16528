package transaction

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// onlyRemovals returns the requests that take something out, and fails the others with err: what is put in must be served, and
// a daemon that is unfit to be told serves nothing new. What is taken out is gone when it is mended and started again, and
// must not keep its resource, and with that the machine, from being given up.
func (l *line) onlyRemovals(group []*request, err, unfit error) []*request {
	l.untold = true
	var able []*request
	for _, r := range group {
		if !r.edit.Removes {
			r.err = masked(err, r.edit.Secrets)
			continue
		}
		able = append(able, r)
	}
	switch {
	case able == nil || !l.running && !isGone(l.missing):
	case isGone(l.missing):
		l.warn(fmt.Sprintf("What was destroyed is gone from the files of %s on %s, where it is not installed any more", l.daemon.Name(), l.host))
	default:
		l.warn(fmt.Sprintf("What was destroyed is gone from the files of %s on %s, but it cannot be told so, and may go on serving it until it is restarted: %s",
			l.daemon.Name(), l.host, unfit))
	}
	return able
}

// findAccepted returns the requests that the checker accepts together and fails the others, each with the error
// that is its own. An edit that leans on another one of the group gets a second try once that one is in.
func (l *line) findAccepted(ctx context.Context, tree Tree, group []*request) []*request {
	accepted := l.acceptHalves(ctx, tree, nil, group)
	for progress := len(accepted) > 0; progress && len(accepted) < len(group); {
		progress = false
		for _, r := range group {
			if r.err == nil {
				continue
			}
			if more := l.acceptHalves(ctx, tree, accepted, []*request{r}); len(more) > len(accepted) {
				accepted, r.err, progress = more, nil, true
			}
		}
	}
	return accepted
}

// acceptHalves adds to accepted those of a group that the checker takes on top of it, in halves when it refuses
// the whole.
func (l *line) acceptHalves(ctx context.Context, tree Tree, accepted, group []*request) []*request {
	var able []*request
	next := l.applyEdits(tree, accepted)
	for _, r := range group {
		trial := next.Clone()
		if err := r.edit.Apply(trial); err != nil {
			r.err = err
			continue
		}
		next, able = trial, append(able, r)
	}
	if len(able) == 0 {
		return accepted
	}
	next.restoreOriginal(tree, l.original)
	err := l.check(ctx, tree, next)
	if err == nil {
		return append(accepted[:len(accepted):len(accepted)], able...)
	}
	if len(able) == 1 || !errors.As(err, new(*RefusedError)) {
		for _, r := range able {
			r.err = masked(err, r.edit.Secrets)
		}
		return accepted
	}
	accepted = l.acceptHalves(ctx, tree, accepted, able[:len(able)/2])
	return l.acceptHalves(ctx, tree, accepted, able[len(able)/2:])
}

// serve makes the accepted requests live: all at once, or in halves when the daemon does not take the
// whole. It returns the tree that is served in the end. A daemon that is stopped is started, unless all that is wanted is
// to take something out of its configuration. An Exclusive one is nobody else's to start.
func (l *line) serve(ctx context.Context, tree Tree, group []*request) Tree {
	if len(group) == 0 {
		return tree
	}
	next := l.applyEdits(tree, group)
	_, exclusive := l.daemon.(Exclusive)
	start := exclusive || slices.ContainsFunc(group, func(r *request) bool { return !r.edit.Removes && r.edit.Cut == nil })
	err := l.commitTree(ctx, tree, next, !l.untold && (l.running || start))
	if err == nil {
		return next
	}
	var rolled *RolledBackError
	if errors.As(err, &rolled) && rolled.Unfit != nil {
		able := l.onlyRemovals(group, err, rolled.Unfit)
		return l.serve(ctx, tree, l.findAccepted(ctx, tree, able))
	}
	if len(group) == 1 || !errors.As(err, &rolled) || rolled.Restore != nil {
		for _, r := range group {
			r.err = masked(err, r.edit.Secrets)
		}
		return tree
	}
	half := len(group) / 2
	// A half was checked only as part of the whole.
	tree = l.serve(ctx, tree, l.findAccepted(ctx, tree, group[:half]))
	return l.serve(ctx, tree, l.findAccepted(ctx, tree, group[half:]))
}

// applyEdits returns the tree with a group's edits; each was applied to it before, in this order, without an error.
func (l *line) applyEdits(tree Tree, group []*request) Tree {
	next := tree.Clone()
	for _, r := range group {
		trial := next.Clone()
		if err := r.edit.Apply(trial); err == nil {
			next = trial
		}
	}
	next.restoreOriginal(tree, l.original)
	return next
}
