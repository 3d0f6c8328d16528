package agenthost

import (
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// chunk is how much goes into one message: libvirt takes 4 MiB (REMOTE_STRING_MAX), base64 a third more
// than the data, and a message must not keep others waiting for long.
const chunk = 512 << 10

// runScript runs a command and hands its output back: itself, or the file that holds it.
//
//go:embed run.sh
var runScript string

// runOnce runs a command to its end.
func (h *Host) runOnce(ctx context.Context, cmd host.Cmd, argv []string) ([]byte, error) {
	input, file := cmd.Stdin, ""
	if len(input) > chunk {
		var err error
		if file, err = h.writeInput(ctx, input); err != nil {
			return nil, fmt.Errorf("%s on %s: %w", cmd, h, err)
		}
		input = nil
	}
	argv = append([]string{"-c", runScript, "sh", file, strconv.Itoa(chunk), strconv.Itoa(host.MaxAnswer)}, argv...)
	pid, err := h.startShell(ctx, argv, input)
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", cmd, h, err)
	}
	end, err := h.awaitEnd(ctx, pid)
	if err != nil {
		if ctx.Err() != nil {
			h.killProcess(context.WithoutCancel(ctx), pid)
			return nil, fmt.Errorf("%s on %s: cut off: %w", cmd, h, context.Cause(ctx))
		}
		return nil, fmt.Errorf("%s on %s: it is unknown whether it ran to its end: %w: %w", cmd, h, host.ErrCut, err)
	}
	out, err := h.readOutput(ctx, end.out)
	if err != nil {
		return nil, fmt.Errorf("%s on %s: output: %w", cmd, h, err)
	}
	if end.status != 0 {
		return out, &host.ExitError{Host: h.String(), Cmd: cmd.String(), Code: end.status, Stdout: cmd.Mask(string(out)), Stderr: cmd.Mask(string(end.err))}
	}
	return out, nil
}

// startShell starts /bin/sh with arguments and returns its process id.
func (h *Host) startShell(ctx context.Context, args []string, input []byte) (pid int, err error) {
	arguments := map[string]any{
		"path": "/bin/sh", "arg": args, "env": append([]string{"HOME=/root"}, host.Environment...), "capture-output": true,
	}
	if len(input) > 0 {
		arguments["input-data"] = base64.StdEncoding.EncodeToString(input)
	}
	var answer struct {
		PID int `json:"pid"`
	}
	if err := h.callAgent(ctx, "guest-exec", arguments, &answer); err != nil {
		return 0, err
	}
	return answer.PID, h.checkRange("guest-exec", "pid", answer.PID, 1, math.MaxInt)
}

// checkRange refuses a number of an answer that cannot be: who has the guest has its agent.
func (h *Host) checkRange(command, what string, n, least, most int) error {
	if n < least || n > most {
		return &AgentError{Domain: h.name, Err: fmt.Errorf("%s: it answers with the %s %d", command, what, n)}
	}
	return nil
}

// ending is how a command ended.
type ending struct {
	status   int
	out, err []byte
}

// awaitEnd asks for a process until it has ended; the agent tells of an end only once.
func (h *Host) awaitEnd(ctx context.Context, pid int) (ending, error) {
	for pause := 10 * time.Millisecond; ; pause = min(pause*3/2, 250*time.Millisecond) {
		var answer struct {
			Exited bool   `json:"exited"`
			Code   int    `json:"exitcode"`
			Signal int    `json:"signal"`
			Out    []byte `json:"out-data"` // base64, as encoding/json has it
			Err    []byte `json:"err-data"`
		}
		if err := h.callAgent(ctx, "guest-exec-status", map[string]any{"pid": pid}, &answer); err != nil {
			return ending{}, err
		}
		if answer.Exited {
			if answer.Signal != 0 {
				answer.Code = 128 + answer.Signal
			}
			return ending{status: answer.Code, out: answer.Out, err: answer.Err}, h.checkRange("guest-exec-status", "exit status", answer.Code, 0, 255)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ending{}, context.Cause(ctx)
		}
	}
}

// killProcess ends a command and what it started, as far as that can be told from here.
func (h *Host) killProcess(ctx context.Context, pid int) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	const script = `kill -TERM $(cat "/proc/$1/task/$1/children") "$1"`
	if killer, err := h.startShell(ctx, []string{"-c", script, "sh", strconv.Itoa(pid)}, nil); err == nil {
		_, _ = h.awaitEnd(ctx, killer) // nobody waits for the command any more
	}
}

// readOutput takes what runScript printed apart.
func (h *Host) readOutput(ctx context.Context, printed []byte) ([]byte, error) {
	if len(printed) == 0 {
		return nil, nil // the script itself failed; its status says so
	}
	switch rest := printed[1:]; printed[0] {
	case 'i':
		return rest, nil
	case 'f':
		return h.fetchFile(ctx, string(rest))
	case 't':
		return nil, host.ErrTooLong
	}
	return nil, fmt.Errorf("unexpected answer %.80q", printed)
}

// writeInput writes the input to a fresh file in the guest and returns its path.
func (h *Host) writeInput(ctx context.Context, content []byte) (string, error) {
	pid, err := h.startShell(ctx, []string{"-c", "umask 077; mktemp /run/virtcluster-in.XXXXXXXX"}, nil)
	if err != nil {
		return "", err
	}
	end, err := h.awaitEnd(ctx, pid)
	if err != nil {
		return "", err
	}
	if end.status != 0 || len(end.out) < 2 {
		return "", fmt.Errorf("make a file for the input: exit status %d: %s", end.status, end.err)
	}
	path := string(end.out[:len(end.out)-1])
	handle, err := h.openFile(ctx, path, "w")
	if err != nil {
		return "", err
	}
	for len(content) > 0 && err == nil {
		n := min(len(content), chunk)
		var answer struct {
			Count int `json:"count"`
		}
		err = h.callAgent(ctx, "guest-file-write", map[string]any{
			"handle": handle, "buf-b64": base64.StdEncoding.EncodeToString(content[:n]),
		}, &answer)
		if err == nil {
			err = h.checkRange("guest-file-write", "count", answer.Count, 1, n)
		}
		if err == nil {
			content = content[answer.Count:]
		}
	}
	return path, errors.Join(err, h.closeFile(ctx, handle))
}

// fetchFile reads a file of the guest and removes it.
func (h *Host) fetchFile(ctx context.Context, path string) ([]byte, error) {
	handle, err := h.openFile(ctx, path, "r")
	if err != nil {
		return nil, err
	}
	var content []byte
	for err == nil {
		var answer struct {
			Data []byte `json:"buf-b64"`
			EOF  bool   `json:"eof"`
		}
		err = h.callAgent(ctx, "guest-file-read", map[string]any{"handle": handle, "count": chunk}, &answer)
		if err == nil && !answer.EOF {
			err = h.checkRange("guest-file-read", "count", len(answer.Data), 1, chunk)
		}
		content = append(content, answer.Data...)
		if err == nil && len(content) > host.MaxAnswer {
			err = host.ErrTooLong
		}
		if answer.EOF {
			break
		}
	}
	if err := errors.Join(err, h.closeFile(ctx, handle)); err != nil {
		return nil, err
	}
	pid, err := h.startShell(ctx, []string{"-c", `rm -f -- "$1"`, "sh", path}, nil)
	if err == nil {
		_, err = h.awaitEnd(ctx, pid)
	}
	return content, err
}

func (h *Host) openFile(ctx context.Context, path, mode string) (handle int, err error) {
	if err := h.callAgent(ctx, "guest-file-open", map[string]any{"path": path, "mode": mode}, &handle); err != nil {
		return 0, err
	}
	return handle, h.checkRange("guest-file-open", "handle", handle, 0, math.MaxInt)
}

func (h *Host) closeFile(ctx context.Context, handle int) error {
	return h.callAgent(context.WithoutCancel(ctx), "guest-file-close", map[string]any{"handle": handle}, nil)
}
