// Package sshhost reaches machines over SSH; golang.org/x/crypto/ssh is imported here and nowhere else.
package sshhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
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
		via = NewDialer().DialContext
	}
	conn, err := dialFirst(ctx, addresses, via)
	if err != nil {
		return nil, &ConnectError{Host: t.String(), Addresses: addresses, Err: err}
	}
	return conn, nil
}

// NewDialer makes TCP connections that end where the other end is gone: nothing was acknowledged for unacknowledgedWait.
func NewDialer() *net.Dialer {
	return &net.Dialer{KeepAlive: 15 * time.Second, Control: giveUpAfter(unacknowledgedWait)}
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
	k, err := loadKeys(ctx, opts, s)
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

// Whether a machine is there its kernel says, which acknowledges what arrives: a connection over which nothing was acknowledged for
// unacknowledgedWait is dead. Its programs may take much longer, as those of an emulated machine on a busy computer do, which had answered
// pings and no request for forty seconds: they are asked for a sign of life every keepAliveEvery, and have keepAliveWait for it. The machine
// keeps a lock a little longer than that after its holder's last word.
const (
	unacknowledgedWait = 35 * time.Second
	keepAliveEvery     = 10 * time.Second
	keepAliveWait      = 100 * time.Second
)

// conn is one live connection.
type conn struct {
	client *ssh.Client
	key    ssh.PublicKey
	user   string
	// open sessions, and how many the server allows; both belong to the Host's mutex.
	open, limit int
	dead        chan struct{}
	close       func()
}

func newConn(client *ssh.Client, key ssh.PublicKey, user string) *conn {
	c := &conn{client: client, key: key, user: user, limit: maxSessions, dead: make(chan struct{})}
	c.close = sync.OnceFunc(func() { _ = client.Close() }) // fails where it is dead already
	go func() {
		_ = client.Wait() // however it ended, it is dead
		close(c.dead)
	}()
	go c.keepAlive()
	return c
}

func (c *conn) isAlive() bool {
	select {
	case <-c.dead:
		return false
	default:
		return true
	}
}

// keepAlive asks for a sign of life; a network that went away without a word is noticed by it alone.
func (c *conn) keepAlive() {
	tick := time.NewTicker(keepAliveEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.dead:
			return
		case <-tick.C:
		}
		giveUp := time.AfterFunc(keepAliveWait, c.close)
		_, _, err := c.client.SendRequest("keepalive@openssh.com", true, nil)
		giveUp.Stop()
		if err != nil {
			c.close()
			return
		}
	}
}

// Options are the defaults for every SSH connection, from the provider's `ssh`. The zero value means what
// OpenSSH would do: ~/.ssh/config, the agent, the default keys and ~/.ssh/known_hosts.
type Options struct {
	// User is the login where neither the endpoint nor ~/.ssh/config names one.
	User string
	// PrivateKey is a key in PEM or OpenSSH form; PrivateKeyFile is a path to one.
	PrivateKey, PrivateKeyFile string
	// Agent says whether $SSH_AUTH_SOCK is asked; nil means yes where it is set.
	Agent *bool
	// KnownHostsFile replaces ~/.ssh/known_hosts.
	KnownHostsFile string
	// ProxyJump is [user@]host[:port], comma separated for several hops.
	ProxyJump string
	// ConnectTimeout bounds one attempt to connect, all addresses and the handshake included; zero means 10 s.
	ConnectTimeout time.Duration
}
