package transaction

import (
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
	queues map[string]*queue
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

// findQueue finds the daemon's queue; daemons and hosts are told apart by name.
func (e *Engine) findQueue(h host.Host, d Daemon) *queue {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.queues == nil {
		e.queues = map[string]*queue{}
	}
	key := d.Name() + " on " + h.String()
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
