// Package localhost is the machine that the provider runs on.
package localhost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

var _ host.Host = (*Host)(nil)

// Host runs commands on this machine, as root or by way of sudo.
type Host struct {
	host.ByCommands

	become func() ([]string, error)
}

// New returns this machine; nothing is run before the first command.
func New() *Host {
	h := &Host{become: sync.OnceValues(becomeRoot)}
	h.Machine = h
	return h
}

// String names the machine in messages.
func (h *Host) String() string { return "localhost" }

// DialUnix connects to a Unix socket, as the user that the provider runs as.
func (h *Host) DialUnix(ctx context.Context, path string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", path)
}

// Run implements host.Host.
func (h *Host) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	return failpoint.Send(ctx, cmd.String(), func() ([]byte, error) { return h.runCommand(ctx, cmd) })
}

func (h *Host) runCommand(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	guarded, err := h.Locks.Guard(cmd)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	c, err := h.prepareCommand(ctx, guarded)
	if err != nil {
		return nil, err
	}
	tooLong := func() { end(host.ErrTooLong) }
	stdout, stderr := host.Answer{TooLong: tooLong}, host.Answer{TooLong: tooLong}
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(cmd.Stdin), &stdout, &stderr
	err = h.toFailure(ctx, cmd, c.Run(), stdout.String(), stderr.String())
	return stdout.Bytes(), host.LockError(cmd, err)
}

// Start implements host.Starter.
func (h *Host) Start(ctx context.Context, cmd host.Cmd) (*host.Process, error) {
	c, err := h.prepareCommand(context.WithoutCancel(ctx), cmd)
	if err != nil {
		return nil, err
	}
	var stderr host.Answer
	c.Stderr = &stderr
	stdin, err1 := c.StdinPipe()
	stdout, out, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	c.Stdout = out
	err = c.Start()
	out.Close()
	if err != nil {
		stdout.Close()
		return nil, fmt.Errorf("%s on %s: %w", cmd, h, err)
	}
	wait := sync.OnceValue(func() error {
		defer stdout.Close()
		return h.toFailure(context.Background(), cmd, c.Wait(), "", stderr.String())
	})
	return &host.Process{Stdin: stdin, Stdout: io.Reader(stdout), Wait: wait, Kill: func() {
		stdin.Close()
		_ = c.Cancel() // fails where the command has ended, which Wait tells
	}}, nil
}

// prepareCommand prepares a command in a process group of its own: an interrupt from the terminal is Terraform's
// to handle, and must not hit a command half way.
func (h *Host) prepareCommand(ctx context.Context, cmd host.Cmd) (*exec.Cmd, error) {
	prefix, err := h.become()
	if err != nil {
		return nil, err
	}
	argv := append(append(append([]string{}, prefix...), append([]string{"env"}, host.Environment...)...), cmd.Argv...)
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	ownGroup(c)
	c.WaitDelay = 2 * time.Second
	return c, nil
}

// toFailure turns the outcome of a command into what host.Host promises.
func (h *Host) toFailure(ctx context.Context, cmd host.Cmd, err error, stdout, stderr string) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s on %s: cut off: %w", cmd, h, context.Cause(ctx))
	case errors.As(err, &exit):
		code := exit.ExitCode()
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			code = 128 + int(status.Signal())
		}
		return &host.ExitError{Host: h.String(), Cmd: cmd.String(), Code: code, Stdout: cmd.Mask(stdout), Stderr: cmd.Mask(stderr)}
	}
	return fmt.Errorf("%s on %s: %w", cmd, h, err)
}

// becomeRoot returns what goes before a command to run it as root.
func becomeRoot() ([]string, error) {
	if os.Geteuid() == 0 {
		return nil, nil
	}
	out, err := exec.Command("sudo", "-n", "--", "true").CombinedOutput()
	if err != nil {
		return nil, &host.RootError{Host: "localhost", User: fmt.Sprintf("uid %d", os.Geteuid()), Words: string(out), Err: err}
	}
	return []string{"sudo", "-n", "--"}, nil
}
