package sshhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	"golang.org/x/crypto/ssh"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// maxTries bounds how often a repeatable command is run, and how often a session is asked for, when
// connections break.
const maxTries = 4

// Run implements host.Host.
func (h *Host) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	select {
	case h.runs <- struct{}{}:
		defer func() { <-h.runs }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%s on %s: waiting for a free session: %w", cmd, h, context.Cause(ctx))
	}
	for try := 1; ; try++ {
		guarded, err := h.Locks.Guard(cmd)
		if err != nil {
			return nil, err
		}
		start := time.Now()
		out, err := failpoint.Send(ctx, cmd.String(), func() ([]byte, error) { return h.runOnce(ctx, cmd, guarded.Argv) })
		tflog.Debug(ctx, "ran a command", map[string]any{"host": h.String(), "command": cmd.String(), "seconds": time.Since(start).Seconds()})
		if cmd.Repeatable && errors.Is(err, host.ErrCut) && try < maxTries && ctx.Err() == nil {
			continue
		}
		return out, host.LockError(cmd, err)
	}
}

// runOnce runs a command to its end.
func (h *Host) runOnce(ctx context.Context, cmd host.Cmd, argv []string) ([]byte, error) {
	s, err := h.takeShell(ctx)
	if _, root := errors.AsType[*host.RootError](err); root {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	ended := make(chan outcome, 1)
	go func() { ended <- s.runCommand(argv, cmd.Stdin) }()
	select {
	case o := <-ended:
		if o.err != nil {
			s.discardShell()
			return nil, h.unknownEnd(cmd, o.err)
		}
		h.keepShell(s)
		return o.stdout, h.toFailure(cmd, o)
	case <-ctx.Done():
		go s.discardShell() // a connection that hangs must not hold the caller
		return nil, fmt.Errorf("%s on %s: cut off: %w", cmd, h, context.Cause(ctx))
	}
}

// remoteCommand is what the remote shell reads. sudo takes the environment away, by which a command knows the connection that it came over.
func remoteCommand(prefix, argv []string) string {
	words := host.Quote(append(append([]string{}, host.Environment...), argv...))
	if len(prefix) == 0 {
		return "env " + words
	}
	return host.Quote(prefix) + ` env SSH_CONNECTION="$SSH_CONNECTION" ` + words
}

// toFailure turns a command's status into what host.Host promises.
func (h *Host) toFailure(cmd host.Cmd, o outcome) error {
	if o.status == 0 {
		return nil
	}
	return &host.ExitError{Host: h.String(), Cmd: cmd.String(), Code: o.status, Stdout: cmd.Mask(string(o.stdout)), Stderr: cmd.Mask(string(o.stderr))}
}

// unknownEnd is a command whose end nobody saw.
func (h *Host) unknownEnd(cmd host.Cmd, err error) error {
	if errors.Is(err, host.ErrTooLong) {
		return fmt.Errorf("%s on %s: cut off: %w", cmd, h, err) // it would be as long the next time
	}
	return fmt.Errorf("%s on %s: it is unknown whether it ran to its end: %w: %w", cmd, h, host.ErrCut, err)
}

// Start implements host.Starter; locks live in it.
func (h *Host) Start(ctx context.Context, cmd host.Cmd) (*host.Process, error) {
	s, err := h.takeShell(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	stdout, out := io.Pipe()
	ended := make(chan struct{})
	var failed error
	go func() {
		defer close(ended)
		defer func() { _ = out.Close() }() // a pipe's never fails
		s.sendCommand(interactive, cmd.Argv, nil)
		o := s.collectOutput(out)
		if o.err != nil {
			s.discardShell()
			failed = h.unknownEnd(cmd, o.err)
			return
		}
		h.keepShell(s)
		failed = h.toFailure(cmd, o)
	}()
	kill := sync.OnceFunc(func() {
		s.killCommand()
		_ = stdout.Close() // likewise
	})
	return &host.Process{Stdin: s.stdin, Stdout: stdout, Kill: kill, Wait: func() error {
		<-ended
		return failed
	}}, nil
}

// session is an SSH session that is counted on its connection until end.
type session struct {
	*ssh.Session
	end func()
}

// killCommand ends the command; a server older than OpenSSH 7.9 ends it only when it writes next.
func (s *session) killCommand() {
	// Both fail where the session has ended, which is what is wanted.
	_ = s.Signal(ssh.SIGTERM)
	_ = s.Close()
}

// openSession opens a session. No command has run before it exists, so a connection that turns out to be dead
// is replaced without a word.
func (h *Host) openSession(ctx context.Context) (*session, error) {
	for try := 1; ; try++ {
		c, err := h.reserveSession(ctx)
		if err != nil {
			return nil, err
		}
		s, err := askSession(ctx, c)
		if err == nil {
			return &session{s, sync.OnceFunc(func() { h.releaseSession(c) })}, nil
		}
		h.releaseSession(c)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("open a session on %s: %w", h, context.Cause(ctx))
		}
		if refused, ok := errors.AsType[*ssh.OpenChannelError](err); ok {
			if !h.learnLimit(c) {
				return nil, fmt.Errorf("%s refuses to open a session: %w", h, refused)
			}
		} else {
			c.close()
			<-c.dead
		}
		if try == maxTries*2 {
			return nil, fmt.Errorf("open a session on %s: %w", h, err)
		}
	}
}

// askSession asks for a session, for no longer than the context lasts.
func askSession(ctx context.Context, c *conn) (*ssh.Session, error) {
	type opened struct {
		s   *ssh.Session
		err error
	}
	answer := make(chan opened)
	go func() {
		s, err := c.client.NewSession()
		select {
		case answer <- opened{s, err}:
		case <-ctx.Done():
			if err == nil {
				_ = s.Close() // nobody waits for it any more
			}
		}
	}()
	select {
	case o := <-answer:
		return o.s, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (h *Host) releaseSession(c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.open--
}

// learnLimit learns from a refusal how many sessions the server allows; false means none at all.
func (h *Host) learnLimit(c *conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.limit = min(c.limit, c.open)
	return c.limit > 0
}

// becomeRoot returns what goes before a command to run it as root. It is asked once, by status and not by
// what sudo says: a login other than root needs sudo without a password.
func (h *Host) becomeRoot(ctx context.Context) ([]string, error) {
	h.becoming.Lock()
	defer h.becoming.Unlock()
	if h.asRoot != nil {
		return *h.asRoot, nil
	}
	c, err := h.liveConnection(ctx)
	if err != nil {
		return nil, err
	}
	prefix := []string{}
	if c.user != "root" {
		s, err := h.openSession(ctx)
		if err != nil {
			return nil, err
		}
		defer s.end()
		defer context.AfterFunc(ctx, s.killCommand)()
		stdout, stderr := host.Answer{TooLong: s.killCommand}, host.Answer{TooLong: s.killCommand}
		s.Stdout, s.Stderr = &stdout, &stderr
		err = s.Run(host.Quote([]string{"sh", "-c", `[ "$(id -u)" = 0 ] || { sudo -n -- true && echo sudo; }`}))
		if _, ok := errors.AsType[*ssh.ExitError](err); ok {
			return nil, &host.RootError{Host: h.String(), User: c.user, Words: stderr.String()}
		}
		if err != nil {
			return nil, fmt.Errorf("become root on %s: %w: %w", h, host.ErrCut, err)
		}
		if len(stdout.Bytes()) > 0 {
			prefix = []string{"sudo", "-n", "--"}
		}
	}
	h.asRoot = &prefix
	return prefix, nil
}
