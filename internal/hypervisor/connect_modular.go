package hypervisor

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// refusals remembers since when a modular daemon refuses, so that one that never comes back is waited for once and
// not by every call.
type refusals struct {
	mu  sync.Mutex
	run map[string]struct{ first, last time.Time } // by the daemon's socket
}

// noteRefusal is when the present run of refusals began. A refusal long after the last one begins another.
func (r *refusals) noteRefusal(socket string, now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run == nil {
		r.run = map[string]struct{ first, last time.Time }{}
	}
	run := r.run[socket]
	if now.Sub(run.last) > restartPatience {
		run.first = now
	}
	run.last = now
	r.run[socket] = run
	return run.first
}

// daemonSocket is the socket of a modular daemon in libvirt's words.
var daemonSocket = regexp.MustCompile(`virt[a-z]+d-sock\b`)

// refusingSocket names the socket of the daemon behind virtqemud or virtproxyd that refuses to be connected to, as one does
// that is being restarted; "" for any other error. One that is not installed has no socket, and is not meant.
func refusingSocket(err error) string {
	e, ok := errors.AsType[libvirt.Error](err)
	if !ok || libvirt.ErrorNumber(e.Code) != libvirt.ErrSystemError || !strings.Contains(e.Message, "refused") {
		return ""
	}
	return daemonSocket.FindString(e.Message)
}

// awaitDaemon says whether a call is to be made again, after a pause, because the daemon that it is for restarts. The
// call did not reach it.
func (c *Client) awaitDaemon(ctx context.Context, err error) bool {
	socket := refusingSocket(err)
	if socket == "" || time.Since(c.refusals.noteRefusal(socket, time.Now())) > restartPatience {
		return false
	}
	tflog.Warn(ctx, "waiting for a daemon of the hypervisor to come back", map[string]any{"uri": c.uri, "reason": err.Error()})
	select {
	case <-ctx.Done():
		return false
	case <-time.After(300 * time.Millisecond):
		return true
	}
}
