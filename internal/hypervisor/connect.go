package hypervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/digitalocean/go-libvirt/socket/dialers"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
)

const (
	// connectTimeout bounds one attempt to connect where the provider's ssh.connect_timeout says nothing.
	connectTimeout = 10 * time.Second
	// restartPatience is how long a daemon that answered before may take to come back: a restarting
	// libvirtd with a hundred guests needs some seconds.
	restartPatience = 20 * time.Second
)

// attempt is one try to connect, shared by all who want a connection meanwhile.
type attempt struct {
	done chan struct{}
	live *libvirt.Libvirt
	err  error
}

// getConnection returns the live connection, and makes one where there is none. It fails with *UnreachableError.
func (c *Client) getConnection(ctx context.Context) (*libvirt.Libvirt, error) {
	c.mu.Lock()
	if c.live != nil && c.live.IsConnected() {
		defer c.mu.Unlock()
		return c.live, nil
	}
	if c.attempt == nil {
		c.attempt = &attempt{done: make(chan struct{})}
		// The attempt outlives a caller who gives up, because others may be waiting for it.
		go c.connectOnce(context.WithoutCancel(ctx), c.attempt)
	}
	a := c.attempt
	c.mu.Unlock()

	select {
	case <-a.done:
		return a.live, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("connect to hypervisor %s: %w", c.uri, context.Cause(ctx))
	}
}

// connectOnce makes the connection for all who wait on the attempt.
func (c *Client) connectOnce(ctx context.Context, a *attempt) {
	a.err = c.retryConnect(ctx, func() (err error) {
		a.live, err = c.openConnection(ctx)
		return err
	})
	c.mu.Lock()
	c.live, c.attempt = a.live, nil
	c.mu.Unlock()
	close(a.done)
}

// retryConnect makes an attempt to connect, and again for a while where the hypervisor was there before.
func (c *Client) retryConnect(ctx context.Context, attempt func() error) error {
	c.mu.Lock()
	patience := time.Duration(0)
	if c.connected {
		patience = restartPatience
	}
	c.mu.Unlock()
	err := attempt()
	for deadline := time.Now().Add(patience); err != nil && ctx.Err() == nil && time.Now().Before(deadline); {
		tflog.Warn(ctx, "waiting for the hypervisor to come back", map[string]any{"uri": c.uri, "reason": err.Error()})
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
			err = attempt()
		}
	}
	if ctx.Err() == nil {
		c.mu.Lock()
		c.connected = err == nil
		c.mu.Unlock()
	}
	return err
}

// openConnection makes a connection that nobody shares; streams use one each, so that a slow reader does not hold up
// the calls of others. Whoever opens it disconnects it.
func (c *Client) openConnection(ctx context.Context) (*libvirt.Libvirt, error) {
	ctx, cancel := context.WithTimeout(ctx, c.attemptTimeout())
	defer cancel()
	start := time.Now()
	raw, address, err := c.target.dialTarget(ctx, c.remote)
	if err != nil {
		return nil, c.newUnreachableError(ctx, address, err)
	}
	l, err := openDriver(ctx, raw, c.target.remoteURI)
	if err != nil {
		return nil, c.newUnreachableError(ctx, address, err)
	}
	tflog.Debug(ctx, "connected to hypervisor", map[string]any{"uri": c.uri, "address": address, "ms": time.Since(start).Milliseconds()})
	return l, nil
}

// attemptTimeout bounds one attempt to connect.
func (c *Client) attemptTimeout() time.Duration {
	timeout := cmp.Or(c.ssh.ConnectTimeout, connectTimeout)
	if c.remote != nil {
		timeout *= 2 // SSH bounds its own part by the same, and then says where on the way nobody answers
	}
	return timeout
}

// openDriver authenticates and opens the driver on a fresh connection, which it closes on failure.
func openDriver(ctx context.Context, raw net.Conn, remoteURI string) (*libvirt.Libvirt, error) {
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	l := libvirt.NewWithDialer(dialers.NewAlreadyConnected(raw))
	if err := l.ConnectToURI(libvirt.ConnectURI(remoteURI)); err != nil {
		_ = raw.Close() // the failure to connect is what matters
		return nil, fmt.Errorf("open %s: %w", remoteURI, err)
	}
	return l, nil
}

// deadlineOr prefers the deadline to the closed connection that it left behind.
func deadlineOr(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer in time: %w", err)
	}
	return err
}

// forgetConnection forgets a connection that broke, so that the next call makes a new one.
func (c *Client) forgetConnection(l *libvirt.Libvirt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live == l {
		c.live = nil
	}
}

// callOnce makes one call that must not be repeated blindly, such as a define. `what` names it in errors, verb
// first: `define network "kimgtnet0"`. Errors are *UnreachableError, *Error (libvirt's refusal),
// *BrokenError or the context's.
func callOnce[T any](ctx context.Context, c *Client, what string, fn func(*libvirt.Libvirt) (T, error)) (T, error) {
	return callRounds(ctx, c, what, false, fn)
}

// callIdempotent is call for what may be made twice with the effect of once: it is made again on a new
// connection where the old one broke.
func callIdempotent[T any](ctx context.Context, c *Client, what string, fn func(*libvirt.Libvirt) (T, error)) (T, error) {
	return callRounds(ctx, c, what, true, fn)
}

func callRounds[T any](ctx context.Context, c *Client, what string, again bool, fn func(*libvirt.Libvirt) (T, error)) (T, error) {
	var none T
	for round := 0; ; round++ {
		l, err := c.getConnection(ctx)
		if err != nil {
			return none, fmt.Errorf("%s: %w", what, err)
		}
		got, err := failpoint.Send(ctx, what, func() (T, error) { return runAbandonable(ctx, l, fn) })
		for err != nil && c.awaitDaemon(ctx, err) {
			got, err = runAbandonable(ctx, l, fn)
		}
		switch {
		case err == nil:
			return got, nil
		case ctx.Err() != nil:
			return none, fmt.Errorf("%s on hypervisor %s: %w", what, c.uri, context.Cause(ctx))
		case !breaksConnection(err):
			return none, explainError(what, err)
		}
		c.forgetConnection(l)
		if round > 0 || !again && !isUnsent(err) {
			return none, &BrokenError{URI: c.uri, What: what, Err: err}
		}
	}
}

// runAbandonable runs fn, and leaves it behind when the context ends first: go-libvirt's calls know no context.
func runAbandonable[T any](ctx context.Context, l *libvirt.Libvirt, fn func(*libvirt.Libvirt) (T, error)) (T, error) {
	type result struct {
		got T
		err error
	}
	done := make(chan result, 1)
	go func() {
		got, err := fn(l)
		done <- result{got, err}
	}()
	select {
	case r := <-done:
		return r.got, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// withoutResult is a call without a result.
func withoutResult(fn func(*libvirt.Libvirt) error) func(*libvirt.Libvirt) (struct{}, error) {
	return func(l *libvirt.Libvirt) (struct{}, error) { return struct{}{}, fn(l) }
}

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
