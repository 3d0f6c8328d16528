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

	mu    sync.Mutex
	lines map[string]*line
}

// line is the traffic to one daemon on one machine.
type line struct {
	site

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

// line finds the daemon's line; daemons and hosts are told apart by name.
func (e *Engine) line(h host.Host, d Daemon) *line {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lines == nil {
		e.lines = map[string]*line{}
	}
	key := d.Name() + " on " + h.String()
	l, ok := e.lines[key]
	if !ok {
		dir := stateDir
		if e.StateDir != "" {
			dir = e.StateDir
		}
		l = &line{site: site{host: h, daemon: d, dir: dir + "/" + d.Name()}}
		e.lines[key] = l
	}
	return l
}
