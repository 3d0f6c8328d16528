package sshhost

import (
	"context"
	"errors"
	"fmt"
	"net"

	"golang.org/x/crypto/ssh"
)

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
