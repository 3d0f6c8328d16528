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
func (q *queue) onlyRemovals(group []*request, err, unfit error) []*request {
	q.cannotReload = true
	var able []*request
	for _, r := range group {
		if !r.edit.Removes {
			r.err = q.maskSecrets(err)
			continue
		}
		able = append(able, r)
	}
	switch {
	case able == nil || !q.running && !isGone(q.missing):
	case isGone(q.missing):
		q.addWarning(fmt.Sprintf("What was destroyed is gone from the files of %s on %s, where it is not installed any more", q.daemon.Name(), q.host))
	default:
		q.addWarning(fmt.Sprintf("What was destroyed is gone from the files of %s on %s, but it cannot be told so, and may go on serving it until it is restarted: %s",
			q.daemon.Name(), q.host, unfit))
	}
	return able
}

// findAccepted returns the requests that the checker accepts together and fails the others, each with the error
// that is its own. An edit that leans on another one of the group gets a second try once that one is in.
func (q *queue) findAccepted(ctx context.Context, tree Tree, group []*request) []*request {
	accepted := q.acceptHalves(ctx, tree, nil, group)
	for progress := len(accepted) > 0; progress && len(accepted) < len(group); {
		progress = false
		for _, r := range group {
			if r.err == nil {
				continue
			}
			if more := q.acceptHalves(ctx, tree, accepted, []*request{r}); len(more) > len(accepted) {
				accepted, r.err, progress = more, nil, true
			}
		}
	}
	return accepted
}

// acceptHalves adds to accepted those of a group that the checker takes on top of it, in halves when it refuses
// the whole.
func (q *queue) acceptHalves(ctx context.Context, tree Tree, accepted, group []*request) []*request {
	var able []*request
	next := q.applyEdits(tree, accepted)
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
	next.restoreOriginal(tree, q.original)
	err := q.checkTree(ctx, tree, next)
	if err == nil {
		return append(accepted[:len(accepted):len(accepted)], able...)
	}
	if len(able) == 1 || !errors.As(err, new(*RefusedError)) {
		for _, r := range able {
			r.err = q.maskSecrets(err)
		}
		return accepted
	}
	accepted = q.acceptHalves(ctx, tree, accepted, able[:len(able)/2])
	return q.acceptHalves(ctx, tree, accepted, able[len(able)/2:])
}

// serveRequests makes the accepted requests live: all at once, or in halves when the daemon does not take the
// whole. It returns the tree that is served in the end. A daemon that is stopped is started, unless all that is wanted is
// to take something out of its configuration. An Exclusive one is nobody else's to start, and is told
// of each change: what is gone has to end.
func (q *queue) serveRequests(ctx context.Context, tree Tree, group []*request) Tree {
	if len(group) == 0 {
		return tree
	}
	next := q.applyEdits(tree, group)
	_, exclusive := q.daemon.(Exclusive)
	write, remove := tree.Changes(next)
	start := exclusive && len(write)+len(remove) > 0 || slices.ContainsFunc(group, func(r *request) bool { return !r.edit.Removes && r.edit.Cut == nil })
	err := q.commitTree(ctx, tree, next, !q.cannotReload && (q.running || start))
	if err == nil {
		return next
	}
	var rolled *RolledBackError
	if errors.As(err, &rolled) && rolled.Unfit != nil {
		able := q.onlyRemovals(group, err, rolled.Unfit)
		return q.serveRequests(ctx, tree, q.findAccepted(ctx, tree, able))
	}
	if len(group) == 1 || !errors.As(err, &rolled) || rolled.Restore != nil {
		for _, r := range group {
			r.err = q.maskSecrets(err)
		}
		return tree
	}
	half := len(group) / 2
	// A half was checked only as part of the whole.
	tree = q.serveRequests(ctx, tree, q.findAccepted(ctx, tree, group[:half]))
	return q.serveRequests(ctx, tree, q.findAccepted(ctx, tree, group[half:]))
}

// applyEdits returns the tree with a group's edits; each was applied to it before, in this order, without an error.
func (q *queue) applyEdits(tree Tree, group []*request) Tree {
	next := tree.Clone()
	for _, r := range group {
		trial := next.Clone()
		if err := r.edit.Apply(trial); err == nil {
			next = trial
		}
	}
	next.restoreOriginal(tree, q.original)
	return next
}
