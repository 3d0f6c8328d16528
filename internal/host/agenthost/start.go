package agenthost

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// startScript runs a command whose standard input is a pipe in the directory $1 and whose output goes to a
// file there. The agent keeps no connection that could break, so a file, "lease", stands for it: the input
// ends when that is gone, or was not touched for a minute.
const startScript = `base=$1
shift
(
  exec 3<>"$base/in"
  : >"$base/open"
  while [ -n "$(find "$base/lease" -newermt '-60 seconds' 2>/dev/null)" ]; do sleep 0.2; done
) &
until [ -e "$base/open" ]; do sleep 0.02; done
"$@" <"$base/in" >"$base/out" 2>"$base/err"
echo $? >"$base/code" && mv "$base/code" "$base/status"
for _ in $(seq 60); do
  [ -e "$base" ] || exit 0
  sleep 1
done
rm -rf -- "$base"`

// followScript prints the status, where there is one, and the output from byte $2 on.
const followScript = `printf '%s\n' "$(cat "$1/status" 2>/dev/null)"
tail -c "+$2" "$1/out"
[ ! -s "$1/status" ] || cat "$1/err" >&2`

// Start implements host.Starter. Input and output of the command go by further commands, so it suits little
// else than a lock.
func (h *Host) Start(ctx context.Context, cmd host.Cmd) (*host.Process, error) {
	out, err := h.Run(ctx, host.Script("make a pipe",
		`base=$(mktemp -d /run/virtcluster-run.XXXXXXXX) && mkfifo "$base/in" && : >"$base/lease" && : >"$base/out" && echo "$base"`))
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
	cmd := host.Script("tidy up", `rm -rf -- "$1"`, p.base)
	cmd.Repeatable = true
	_, _ = p.host.Run(ctx, cmd)
}

func (p *process) copyOutput(ctx context.Context) error {
	offset := 1
	for pause := 30 * time.Millisecond; ; pause = min(pause*3/2, time.Second) {
		cmd := host.Script(p.cmd.String(), followScript, p.base, strconv.Itoa(offset))
		cmd.Repeatable = true
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
