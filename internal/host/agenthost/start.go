package agenthost

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// pipeScript makes the directory for startScript, and prints its path.
//
//go:embed pipe.sh
var pipeScript string

// startScript runs a command whose standard input is a pipe and whose output goes to files.
//
//go:embed start.sh
var startScript string

// followScript prints the status, where there is one, and the output from a byte on.
//
//go:embed follow.sh
var followScript string

// Start implements host.Starter. Input and output of the command go by further commands, so it suits little
// else than a lock.
func (h *Host) Start(ctx context.Context, cmd host.Cmd) (*host.Process, error) {
	out, err := h.Run(ctx, host.Script("make a pipe", pipeScript))
	if err != nil {
		return nil, err
	}
	base := strings.TrimSpace(string(out))
	if _, err := h.startShell(ctx, append([]string{"-c", startScript, "sh", base}, cmd.Argv...), nil); err != nil {
		return nil, err
	}
	reader, writer := io.Pipe()
	p := &process{host: h, cmd: cmd, base: base, out: writer, ended: make(chan struct{}), stop: make(chan struct{})}
	go p.followOutput(context.WithoutCancel(ctx))
	kill := sync.OnceFunc(func() {
		close(p.stop)
		_ = reader.Close() // a pipe's never fails
	})
	return &host.Process{Stdin: p, Stdout: reader, Kill: kill, Wait: func() error {
		<-p.ended
		return p.err
	}}, nil
}

// process is a command that Start left running.
type process struct {
	host  *Host
	cmd   host.Cmd
	base  string
	out   *io.PipeWriter
	stop  chan struct{} // closed by Kill
	ended chan struct{} // closed at the end; err is set then
	err   error
}

// Write passes input on and renews the lease.
func (p *process) Write(b []byte) (int, error) {
	cmd := host.ScriptWithInput("pass input", `touch "$1/lease" && cat >"$1/in"`, bytes.Clone(b), p.base)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := p.host.Run(ctx, cmd); err != nil {
		return 0, err
	}
	return len(b), nil
}

// followOutput copies the output until the command ends.
func (p *process) followOutput(ctx context.Context) {
	defer close(p.ended)
	err := p.copyOutput(ctx)
	p.out.CloseWithError(err)
	if err != nil {
		p.err = err
	}
	// With its files goes the lease: what still runs there ends. Where that fails, it ends when the lease is old.
	cmd := host.Cmd{Name: "tidy up", Argv: []string{"rm", "-rf", "--", p.base}, Repeatable: true}
	_, _ = p.host.Run(ctx, cmd)
}

func (p *process) copyOutput(ctx context.Context) error {
	offset := 1
	for pause := 30 * time.Millisecond; ; pause = min(pause*3/2, time.Second) {
		cmd := host.RepeatableScript(p.cmd.String(), followScript, p.base, strconv.Itoa(offset))
		out, err := p.host.Run(ctx, cmd)
		if err != nil {
			return fmt.Errorf("%w: %w", host.ErrCut, err)
		}
		status, text, _ := bytes.Cut(out, []byte("\n"))
		if len(text) > 0 {
			offset += len(text)
			if _, err := p.out.Write(text); err != nil {
				return err
			}
		}
		if len(status) > 0 {
			if string(status) != "0" {
				code, err := strconv.Atoi(string(status))
				if err != nil {
					return fmt.Errorf("%s on %s: unexpected answer %.80q", p.cmd, p.host, status)
				}
				p.err = &host.ExitError{Host: p.host.String(), Cmd: p.cmd.String(), Code: code}
			}
			return nil
		}
		select {
		case <-time.After(pause):
		case <-p.stop:
			return fmt.Errorf("%s on %s: ended", p.cmd, p.host)
		}
	}
}
