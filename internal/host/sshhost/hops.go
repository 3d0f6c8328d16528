package sshhost

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// maxHops bounds a chain of jumps: hosts in ~/.ssh/config may name each other in a circle.
const maxHops = 8

// hops are the machines that are jumped through, each with one connection for all that lies behind it.
type hops struct {
	opts Options

	mu    sync.Mutex
	hosts map[string]*Host
}

// routeOver returns how to dial from the last of the hops; nil means from here.
func (h *hops) routeOver(jump []host.Hop) (dialFunc, error) {
	if len(jump) == 0 {
		return nil, nil
	}
	if len(jump) > maxHops {
		return nil, fmt.Errorf("%d machines to jump through; at most %d are possible", len(jump), maxHops)
	}
	last := h.lastHop(jump)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := last.Dial(ctx, network, address)
		if err != nil {
			return nil, fmt.Errorf("through %s: %w", last, err)
		}
		return conn, nil
	}, nil
}

// lastHop returns the last hop, which is reached through those before it. The first one is reached as
// ~/.ssh/config says; host keys of hops are those of known_hosts.
func (h *hops) lastHop(jump []host.Hop) *Host {
	before, last := jump[:len(jump)-1], jump[len(jump)-1]
	through := ""
	for i, hop := range before {
		if i > 0 {
			through += ","
		}
		through += hop.String()
	}
	opts := h.opts
	opts.ProxyJump = ""
	key := through + " " + last.String()

	h.mu.Lock()
	defer h.mu.Unlock()
	if known, ok := h.hosts[key]; ok {
		return known
	}
	if h.hosts == nil {
		h.hosts = map[string]*Host{}
	}
	hop := newHost(Target{User: last.User, Host: last.Host, Port: last.Port, ProxyJump: through, KnownHostsOnly: true}, opts, h)
	hop.shared = true
	h.hosts[key] = hop
	return hop
}

func (h *hops) closeAll() error {
	h.mu.Lock()
	hosts := h.hosts
	h.hosts = nil
	h.mu.Unlock()
	var errs []error
	for _, hop := range hosts {
		errs = append(errs, hop.Close())
	}
	return errors.Join(errs...)
}

// Pool makes Hosts that share the machines they are jumped to through.
type Pool struct {
	opts Options
	hops hops
}

// NewPool returns a pool for one set of options.
func NewPool(opts Options) *Pool { return &Pool{opts: opts, hops: hops{opts: opts}} }

// Host returns a machine; it connects on first use.
func (p *Pool) Host(t Target) *Host {
	h := newHost(t, p.opts, &p.hops)
	h.shared = true
	return h
}

// Close ends the connections to the machines jumped through; the Hosts are closed by whom they belong to.
func (p *Pool) Close() error { return p.hops.closeAll() }

// Dial makes a connection from the machine: it goes through the machine's SSH server and takes no session.
func (h *Host) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := h.liveConnection(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := c.client.DialContext(ctx, network, address)
	if err != nil {
		return nil, forwardError(fmt.Sprintf("dial %s from %s", address, h), err)
	}
	return conn, nil
}

// ForwardError says that a machine's SSH server made no connection for us: nobody listens there, the user may not, or the
// server is configured not to. OpenSSH answers all of these alike.
type ForwardError struct {
	What string
	Err  error
}

// Error has the server's words.
func (e *ForwardError) Error() string { return fmt.Sprintf("%s: %s", e.What, e.Err) }

// Unwrap returns the server's refusal.
func (e *ForwardError) Unwrap() error { return e.Err }

func forwardError(what string, err error) error {
	if _, ok := errors.AsType[*ssh.OpenChannelError](err); ok {
		return &ForwardError{What: what, Err: err}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// DialUnix connects to a Unix socket on the machine, as the user who is logged in (OpenSSH's
// direct-streamlocal, which AllowStreamLocalForwarding permits by default).
func (h *Host) DialUnix(ctx context.Context, path string) (net.Conn, error) {
	return h.Dial(ctx, "unix", path)
}
