package sshhost

import (
	"context"
	"fmt"
	"net"
)

// Dial makes a connection from the machine: it goes through the machine's SSH server and takes no session.
func (h *Host) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := h.connection(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := c.client.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("dial %s from %s: %w", address, h, err)
	}
	return conn, nil
}

// DialUnix connects to a Unix socket on the machine, as the user who is logged in (OpenSSH's
// direct-streamlocal, which AllowStreamLocalForwarding permits by default).
func (h *Host) DialUnix(ctx context.Context, path string) (net.Conn, error) {
	return h.Dial(ctx, "unix", path)
}
