package transaction

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// stateDir holds, for each daemon, what a commit keeps beside the live configuration.
const stateDir = "/var/lib/virtcluster"

// Engine runs the transactions of one provider process. The zero value is ready to use.
type Engine struct {
	// StateDir replaces /var/lib/virtcluster on the machines.
	StateDir string

	mu     sync.Mutex
	queues map[place]*queue
}

// place is a daemon on a machine. Two Hosts of one machine are two: they may differ in the host key that it has to show, and take turns by its lock.
type place struct {
	host   host.Host
	daemon string
}

// queue is the traffic to one daemon on one machine.
type queue struct {
	target

	mu      sync.Mutex
	waiting []*request
	leading bool
	abandon func() // ends the leader's wait for the lock, once nobody waits for the leader
	shared  *snapshot

	// What follows is the leader's: what the last group left on disk, served where the daemon runs, nil where that is not
	// sure; and how many edits there were when it ended, its own and those that waited.
	proven    Tree
	lastSize  int
	lastEnded time.Time
}

// findQueue finds the daemon's queue; daemons are told apart by name.
func (e *Engine) findQueue(h host.Host, d Daemon) *queue {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.queues == nil {
		e.queues = map[place]*queue{}
	}
	key := place{h, d.Name()}
	l, ok := e.queues[key]
	if !ok {
		dir := stateDir
		if e.StateDir != "" {
			dir = e.StateDir
		}
		l = &queue{target: target{host: h, daemon: d, dir: dir + "/" + d.Name()}}
		e.queues[key] = l
	}
	return l
}

// tryDir holds what is tried, beside nothing that a commit keeps or removes.
const tryDir = "/run/virtcluster-plan"

// discardScript removes what was tried in directory $1, and what killed plans left beside it in $2.
//
//go:embed discard.sh
var discardScript string

// Try asks the daemon's own checker about a configuration, and changes nothing: for a plan. A refusal is a *RefusedError; any
// other error means that the checker could not be asked.
func Try(ctx context.Context, h host.Host, d Daemon, next Tree) (err error) {
	dir := tryDir + "/" + rand.Text()
	defer func() {
		_, gone := h.Run(context.WithoutCancel(ctx), host.Script("remove what was tried", discardScript, dir, tryDir))
		err = errors.Join(err, gone)
	}()
	if err := host.WriteAll(ctx, h, dir, next.pickFiles(slices.Sorted(maps.Keys(next)))); err != nil {
		return fmt.Errorf("stage what is planned for %s on %s: %w", d.Name(), h, err)
	}
	return refusalOf(ctx, d, h, d.Check(ctx, h, dir, next))
}

// refusalOf tells a checker's refusal from a checker that could not be asked, or that is not there.
func refusalOf(ctx context.Context, d Daemon, h host.Host, err error) error {
	var exit *host.ExitError
	var refused *RefusedError
	if errors.As(err, &exit) || errors.As(err, &refused) {
		if missing := findMissing(ctx, h, d); isGone(missing) {
			return missing
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		refused.Daemon, refused.Host = d.Name(), h.String()
		return err
	case errors.As(err, &exit):
		return &RefusedError{Daemon: d.Name(), Host: h.String(), Err: err}
	}
	return fmt.Errorf("check the configuration of %s on %s: %w", d.Name(), h, err)
}
