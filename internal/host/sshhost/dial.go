package sshhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// ConnectError says that no SSH server was reached. Addresses are all that were tried.
type ConnectError struct {
	Host      string
	Addresses []string
	Err       error
}

// Error names the addresses; Err has the reason for each.
func (e *ConnectError) Error() string {
	if len(e.Addresses) == 0 {
		return fmt.Sprintf("cannot reach %s: %s", e.Host, e.Err)
	}
	return fmt.Sprintf("cannot reach %s (tried %s): %s", e.Host, strings.Join(e.Addresses, ", "), e.Err)
}

// Unwrap returns the reasons.
func (e *ConnectError) Unwrap() error { return e.Err }

// dialDelay is how long one address has before the next is tried beside it (RFC 8305, section 5).
const dialDelay = 250 * time.Millisecond

// dialFunc makes a TCP connection, from here or from the last machine on the way.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// dialTCP reaches one of the machine's addresses. Through a jump the name goes to the last hop as it is, as
// only that machine may be able to resolve it.
func dialTCP(ctx context.Context, t Target, s settings, via dialFunc) (net.Conn, error) {
	port := strconv.Itoa(s.port)
	var addresses []string
	if via != nil {
		addresses = []string{net.JoinHostPort(s.dialHost, port)}
	} else {
		found, err := net.DefaultResolver.LookupHost(ctx, s.dialHost)
		if err != nil {
			return nil, &ConnectError{Host: t.String(), Err: err}
		}
		for _, a := range found {
			addresses = append(addresses, net.JoinHostPort(a, port))
		}
		via = (&net.Dialer{KeepAlive: 15 * time.Second, Control: giveUpAfter(unacknowledgedWait)}).DialContext
	}
	conn, err := dialFirst(ctx, addresses, via)
	if err != nil {
		return nil, &ConnectError{Host: t.String(), Addresses: addresses, Err: err}
	}
	return conn, nil
}

// dialFirst dials all addresses, each a little after the one before, and returns the first connection.
func dialFirst(ctx context.Context, addresses []string, dial dialFunc) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		conn net.Conn
		err  error
	}
	outcomes := make(chan outcome)
	for i, address := range addresses {
		go func() {
			select {
			case <-time.After(time.Duration(i) * dialDelay):
			case <-ctx.Done():
			}
			conn, err := dial(ctx, "tcp", address)
			outcomes <- outcome{conn, err}
		}()
	}
	var won net.Conn
	var failures []error
	for range addresses {
		o := <-outcomes
		switch {
		case o.err != nil:
			failures = append(failures, o.err)
		case won != nil:
			o.conn.Close()
		default:
			won = o.conn
			cancel()
		}
	}
	if won != nil {
		return won, nil
	}
	return nil, errors.Join(failures...)
}

// connectOnce makes one attempt: TCP, handshake, host key, login.
func connectOnce(ctx context.Context, t Target, opts Options, s settings, via dialFunc) (*ssh.Client, ssh.PublicKey, error) {
	v, err := newVerifier(t, s)
	if err != nil {
		return nil, nil, err
	}
	k, err := loadKeys(opts, s)
	if err != nil {
		return nil, nil, err
	}
	defer k.close()
	client, shown, err := loginOver(ctx, t, s, via, v, k, v.firstAlgorithms())
	if _, mismatch := errors.AsType[*HostKeyError](err); mismatch {
		for _, algorithms := range v.otherAlgorithms(shown) {
			if client, key, err := loginOver(ctx, t, s, via, v, k, algorithms); err == nil || !isChangedKey(err) && key != nil {
				return client, key, err
			}
		}
	}
	return client, shown, err
}

func isChangedKey(err error) bool {
	_, ok := errors.AsType[*HostKeyError](err)
	return ok
}

// loginOver dials and logs in. The key is what the machine showed, accepted or not; nil if it got not so far.
func loginOver(ctx context.Context, t Target, s settings, via dialFunc, v *verifier, k *keys, algorithms []string) (*ssh.Client, ssh.PublicKey, error) {
	conn, err := dialTCP(ctx, t, s, via)
	if err != nil {
		return nil, nil, err
	}
	// A context that ends breaks the handshake off, whatever it waits for.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()

	var shown ssh.PublicKey
	var refused error
	c, channels, requests, err := ssh.NewClientConn(conn, s.dialAddress(), &ssh.ClientConfig{
		User:              s.user,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(k.signers...)},
		HostKeyAlgorithms: algorithms,
		HostKeyCallback: func(address string, remote net.Addr, key ssh.PublicKey) error {
			shown, refused = plainKey(key), v.checkKey(address, remote, key)
			return refused
		},
	})
	if err == nil {
		return ssh.NewClient(c, channels, requests), shown, nil
	}
	conn.Close()
	var network net.Error
	switch {
	case refused != nil:
		return nil, shown, refused
	case ctx.Err() != nil:
		err = fmt.Errorf("no answer in time: %w", context.Cause(ctx))
	case shown != nil && !errors.Is(err, io.EOF) && !errors.As(err, &network):
		return nil, shown, &AuthError{Host: t.String(), User: s.user, Tried: k.names, Err: err}
	}
	return nil, shown, &ConnectError{Host: t.String(), Addresses: []string{remoteAddress(conn, s)}, Err: err}
}

// remoteAddress is where a connection leads; through a jump only the name is known.
func remoteAddress(conn net.Conn, s settings) string {
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok && tcp.Port != 0 {
		return tcp.String()
	}
	return s.dialAddress()
}
