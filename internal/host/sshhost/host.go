package sshhost

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"golang.org/x/crypto/ssh"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

var _ host.Host = (*Host)(nil)

// OpenSSH allows ten sessions on a connection (sshd_config, MaxSessions), of which commands take maxRuns at most at one time. Locks, which live as
// long as a transaction, take one each without a bound: who holds one may need another, so none may wait until others give theirs back. Where a
// connection has no session to spare, a further one is made.
const (
	maxSessions = 10
	maxRuns     = 6
)

// failureAge is how long a failure to connect answers for those who ask right after it.
const failureAge = 2 * time.Second

// Host is one machine over SSH: one connection, made on first use and made anew when it broke, with many
// sessions on it. It is safe for concurrent use.
type Host struct {
	host.ByCommands

	target Target
	opts   Options
	hops   *hops
	shared bool // the hops are someone else's to close
	runs   chan struct{}

	mu       sync.Mutex
	conns    []*conn
	shells   []*shell // idle ones
	dialing  *attempt
	met      bool // connected once, so the machine is there and a refusal may pass
	failed   error
	failedAt time.Time
	closed   bool

	becoming sync.Mutex
	asRoot   *[]string // what goes before a command to run it as root, once that is known
}

// attempt is a connection being made; all who need it wait for done.
type attempt struct {
	done chan struct{}
	err  error
}

// New returns the machine; it connects on first use.
func New(target Target, opts Options) *Host { return newHost(target, opts, &hops{opts: opts}) }

func newHost(target Target, opts Options, through *hops) *Host {
	h := &Host{target: target, opts: opts, hops: through, runs: make(chan struct{}, maxRuns)}
	h.Machine = h
	return h
}

// String names the machine in messages.
func (h *Host) String() string { return h.target.String() }

// Connect makes the connection if there is none. The error is a *ConnectError, *HostKeyError or *AuthError
// where it is the machine's.
func (h *Host) Connect(ctx context.Context) error {
	h.mu.Lock()
	h.failed = nil
	h.mu.Unlock()
	_, err := h.liveConnection(ctx)
	return err
}

// Pin connects, and from then on accepts no host key but the one that the machine showed. It returns the
// key's fingerprint.
func (h *Host) Pin(ctx context.Context) (host.Pin, error) {
	c, err := h.liveConnection(ctx)
	if err != nil {
		return "", err
	}
	pin, err := host.ParsePin(ssh.FingerprintSHA256(c.key))
	if err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.target.HostKey, h.target.FirstUse = string(pin), false
	return pin, nil
}

// Narrow has the machine accept no host key but those that pin accepts too: one machine is known by references that carry more
// or less of its key's fingerprint.
func (h *Host) Narrow(pin host.Pin) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	was, _, err := parseHostKeyOrPin(h.target.HostKey)
	if err != nil {
		return err
	}
	switch {
	case was.Within(pin):
		return nil
	case !pin.Within(was):
		return fmt.Errorf("%s is said to have two host keys, %s and %s: correct host_key", h, was, pin)
	}
	narrowed := h.target
	narrowed.HostKey = string(pin)
	for _, c := range h.conns {
		if err := narrowed.checkKey(c.key); err != nil {
			return err
		}
	}
	h.target = narrowed
	return nil
}

// Close ends the connection; what runs on it fails.
func (h *Host) Close() error {
	h.mu.Lock()
	h.closed = true
	conns := h.conns
	h.conns = nil
	h.mu.Unlock()
	for _, c := range conns {
		c.close()
		<-c.dead
	}
	if h.shared {
		return nil
	}
	return h.hops.closeAll()
}

// liveConnection returns a live connection, whether it has a session to spare or not.
func (h *Host) liveConnection(ctx context.Context) (*conn, error) {
	for {
		h.mu.Lock()
		h.dropDead()
		if len(h.conns) > 0 {
			defer h.mu.Unlock()
			return h.conns[0], nil
		}
		a, err := h.beginAttempt(ctx)
		h.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if err := a.awaitAttempt(ctx, h); err != nil {
			return nil, err
		}
	}
}

// reserveSession returns a live connection with a session counted on it; a further connection is made when the others are full. The server may
// allow less than OpenSSH's default: that counts once it said so.
func (h *Host) reserveSession(ctx context.Context) (*conn, error) {
	for {
		h.mu.Lock()
		h.dropDead()
		for _, c := range h.conns {
			if c.open < c.limit {
				c.open++
				h.mu.Unlock()
				return c, nil
			}
		}
		a, err := h.beginAttempt(ctx)
		h.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if err := a.awaitAttempt(ctx, h); err != nil {
			return nil, err
		}
	}
}

// dropDead forgets dead connections. The mutex is held.
func (h *Host) dropDead() {
	h.conns = slices.DeleteFunc(h.conns, func(c *conn) bool { return !c.isAlive() })
}

// beginAttempt starts to connect, or joins who does. The mutex is held.
func (h *Host) beginAttempt(ctx context.Context) (*attempt, error) {
	switch {
	case h.closed:
		return nil, fmt.Errorf("connect to %s: %w", h, net.ErrClosed)
	case h.dialing != nil:
		return h.dialing, nil
	case h.failed != nil && time.Since(h.failedAt) < failureAge:
		return nil, h.failed
	}
	a := &attempt{done: make(chan struct{})}
	h.dialing = a
	target, met := h.target, h.met
	// The attempt serves everyone who waits for it, so it does not end with the one who began it.
	go func() {
		c, err := h.dialTarget(context.WithoutCancel(ctx), target, met)
		h.mu.Lock()
		defer h.mu.Unlock()
		if err == nil && h.target.HostKey != target.HostKey { // Narrow was called meanwhile
			if err = h.target.checkKey(c.key); err != nil {
				c.close()
			}
		}
		h.dialing, a.err = nil, err
		switch {
		case err != nil:
			h.failed, h.failedAt = err, time.Now()
		case h.closed:
			c.close()
			a.err = net.ErrClosed
		default:
			h.conns, h.met, h.failed = append(h.conns, c), true, nil
		}
		close(a.done)
	}()
	return a, nil
}

func (a *attempt) awaitAttempt(ctx context.Context, h *Host) error {
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		waiting := &ConnectError{Host: h.String(), Err: context.Cause(ctx)}
		h.mu.Lock()
		target := h.target
		h.mu.Unlock()
		if s, err := target.resolveSettings(h.opts); err == nil {
			waiting.Addresses = []string{net.JoinHostPort(s.dialHost, strconv.Itoa(s.port))}
		}
		return waiting
	}
}

// dialTarget connects within connect_timeout. A machine that was there before gets the whole time to come back,
// with a growing pause between attempts; one that was not is told at once what is wrong.
func (h *Host) dialTarget(ctx context.Context, target Target, met bool) (*conn, error) {
	s, err := target.resolveSettings(h.opts)
	if err != nil {
		return nil, err
	}
	via, err := h.hops.routeOver(s.jump)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("no answer within %s (connect_timeout)", s.timeout))
	defer cancel()
	var last error
	once := func() (*conn, error) {
		client, key, err := connectOnce(ctx, target, h.opts, s, via)
		if err == nil {
			return newConn(client, key, s.user), nil
		}
		last = err
		if _, network := errors.AsType[*ConnectError](err); !network || !met || ctx.Err() != nil {
			return nil, backoff.Permanent(err)
		}
		return nil, err
	}
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 100*time.Millisecond, 2*time.Second
	c, err := backoff.Retry(ctx, once, backoff.WithBackOff(pause), backoff.WithNotify(func(err error, next time.Duration) {
		tflog.Info(ctx, fmt.Sprintf("connecting to %s again in %s: %s", target, next.Round(time.Millisecond), err))
	}))
	if err != nil {
		return nil, last
	}
	tflog.Debug(ctx, fmt.Sprintf("connected to %s as %s, host key %s", s.dialAddress(), s.user, ssh.FingerprintSHA256(c.key)))
	return c, nil
}
