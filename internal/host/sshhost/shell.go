package sshhost

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// shellScript runs one command after another: a session costs the machine a login (sshd forks, PAM, the user's shell), which on a small
// machine takes longer than most commands.
//
//go:embed shell.sh
var shellScript string

// shell is a session that runs shellScript, as root. One goroutine at a time uses it.
type shell struct {
	*session
	stdin          io.WriteCloser
	stdout, stderr *bufio.Reader
	bounds         [2]*bounded // of stdout and stderr
	token          string
}

// bounded reads no more than host.MaxAnswer until it is renewed.
type bounded struct {
	io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, host.ErrTooLong
	}
	n, err := b.Reader.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// outcome is how a command in a shell ended.
type outcome struct {
	status         int
	stdout, stderr []byte
	err            error // the shell is gone
}

// takeShell returns a shell that has just given a sign of life, so that a connection that turns out to be dead
// is replaced without a word.
func (h *Host) takeShell(ctx context.Context) (*shell, error) {
	for try := 1; ; try++ {
		s := h.idleShell()
		if s == nil {
			var err error
			if s, err = h.startShell(ctx); err != nil {
				return nil, err
			}
		} else {
			try = 0 // one that lay idle may have died long ago, which says nothing about a new one
		}
		met := make(chan error, 1)
		go func() { met <- s.greetShell() }()
		var err error
		select {
		case err = <-met:
		case <-ctx.Done():
			go s.discardShell()
			return nil, fmt.Errorf("open a session on %s: %w", h, context.Cause(ctx))
		}
		if err == nil {
			return s, nil
		}
		s.discardShell()
		if try >= maxTries {
			return nil, fmt.Errorf("start a shell on %s: %w", h, err)
		}
	}
}

// idleShell takes a shell that nobody uses, the last one used first; nil is none.
func (h *Host) idleShell() *shell {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.shells) == 0 {
		return nil
	}
	last := len(h.shells) - 1
	s := h.shells[last]
	h.shells = h.shells[:last]
	return s
}

// keepShell puts a shell back for the next command.
func (h *Host) keepShell(s *shell) {
	h.mu.Lock()
	closed := h.closed
	if !closed {
		h.shells = append(h.shells, s)
	}
	h.mu.Unlock()
	if closed {
		s.discardShell()
	}
}

func (h *Host) startShell(ctx context.Context) (*shell, error) {
	prefix, err := h.becomeRoot(ctx)
	if err != nil {
		return nil, err
	}
	session, err := h.openSession(ctx)
	if err != nil {
		return nil, err
	}
	s := &shell{session: session}
	stdin, err1 := session.StdinPipe()
	stdout, err2 := session.StdoutPipe()
	stderr, err3 := session.StderrPipe()
	line := remoteCommand(prefix, []string{"sh", "-c", shellScript})
	if err := errors.Join(err1, err2, err3, session.Start(line)); err != nil {
		s.discardShell()
		return nil, fmt.Errorf("start a shell on %s: %w: %w", h, host.ErrCut, err)
	}
	s.bounds = [2]*bounded{{Reader: stdout}, {Reader: stderr}}
	s.stdin, s.stdout, s.stderr = stdin, bufio.NewReader(s.bounds[0]), bufio.NewReader(s.bounds[1])
	return s, nil
}

// discardShell ends the shell, and with it what runs in it.
func (s *shell) discardShell() {
	s.killCommand()
	s.end()
}

// greetShell sends a word to the shell, and waits for the shell's sign of life.
func (s *shell) greetShell() error {
	s.token = rand.Text()
	for _, b := range s.bounds {
		b.left = host.MaxAnswer
	}
	if _, err := io.WriteString(s.stdin, s.token+"\n"); err != nil {
		return err
	}
	line, err := s.stdout.ReadString('\n')
	switch {
	case err == nil && strings.TrimSuffix(line, "\n") == s.token:
		return nil
	case err == nil:
		return fmt.Errorf("unexpected answer %.200q", line)
	}
	words, _ := io.ReadAll(io.LimitReader(s.stderr, 4096)) // where it breaks off, what came before serves
	if exit, ok := errors.AsType[*ssh.ExitError](s.Wait()); ok {
		err = fmt.Errorf("exit status %d: %s", exit.ExitStatus(), bytes.TrimSpace(words))
	}
	return err
}

// interactive is the size of an input that is not known beforehand.
const interactive = "-"

// runCommand runs a command to its end; the shell has been met.
func (s *shell) runCommand(argv []string, input []byte) outcome {
	go s.sendCommand(strconv.Itoa(len(input)), argv, input)
	var stdout host.Answer
	o := s.collectOutput(&stdout)
	if o.err == nil {
		o.stdout = stdout.Bytes()
	}
	return o
}

// sendCommand tells the shell what to run. What cannot be written shows as an answer that does not come.
func (s *shell) sendCommand(size string, argv []string, input []byte) {
	// A newline inside quotes is the only one that a quoted command has.
	line := strings.ReplaceAll(host.Quote(argv), "\n", `'"$newline"'`)
	_, _ = io.Copy(s.stdin, io.MultiReader(strings.NewReader(size+"\n"+line+"\n"), bytes.NewReader(input)))
}

// collectOutput passes the command's output on until its end. Where one of its outputs breaks off, the other may never end.
func (s *shell) collectOutput(stdout io.Writer) outcome {
	var stderr host.Answer
	var rest []byte
	heard := make(chan error, 2)
	go func() {
		_, err := copyUntil(s.stderr, s.token, &stderr)
		heard <- err
	}()
	go func() {
		var err error
		rest, err = copyUntil(s.stdout, s.token, stdout)
		heard <- err
	}()
	for range cap(heard) {
		if err := <-heard; err != nil {
			return outcome{err: err}
		}
	}
	status, err := strconv.Atoi(string(bytes.TrimSpace(rest)))
	return outcome{status: status, stderr: stderr.Bytes(), err: err}
}

// copyUntil copies what comes before the token, and returns the rest of the token's line. A copy that nobody wants
// any more is no failure. A pipe waits for a reader even with nothing to pass on, so nothing is not passed on.
func copyUntil(r *bufio.Reader, token string, text io.Writer) (rest []byte, err error) {
	var held []byte // the end of a line's beginning, which may be the beginning of the token
	for {
		piece, err := r.ReadSlice('\n')
		held = append(held, piece...)
		before, after, found := bytes.Cut(held, []byte(token))
		if found {
			if len(before) > 0 {
				_, _ = text.Write(before)
			}
			return readRest(r, after, err)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		pass := len(held)
		if err != nil { // the line goes on
			pass = max(0, len(held)-len(token)+1)
		}
		_, _ = text.Write(held[:pass])
		held = append(held[:0], held[pass:]...)
	}
}

// readRest reads on to the end of the token's line, of which some came with the token; err is how that read ended.
func readRest(r *bufio.Reader, came []byte, err error) ([]byte, error) {
	if !errors.Is(err, bufio.ErrBufferFull) {
		return came, err
	}
	rest, err := r.ReadBytes('\n')
	return append(came, rest...), err
}
