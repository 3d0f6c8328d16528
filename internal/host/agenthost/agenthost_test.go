package agenthost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// guest is a guest agent whose guest is this machine.
type guest struct {
	mu       sync.Mutex
	procs    map[int]*exec.Cmd
	done     map[int]chan struct{}
	files    map[int]*os.File
	messages int
	longest  int
	disabled string
	// fail makes the command of that name fail once.
	fail  string
	failE error
	// endless makes every file one without an end.
	endless bool
}

func newGuest(t *testing.T) (*guest, *Host) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, as an agent is")
	}
	g := &guest{procs: map[int]*exec.Cmd{}, done: map[int]chan struct{}{}, files: map[int]*os.File{}}
	return g, New("guest", g)
}

func (g *guest) Command(ctx context.Context, text string) (string, error) {
	var message struct {
		Execute   string `json:"execute"`
		Arguments struct {
			Path   string   `json:"path"`
			Arg    []string `json:"arg"`
			Env    []string `json:"env"`
			Input  []byte   `json:"input-data"`
			PID    int      `json:"pid"`
			Mode   string   `json:"mode"`
			Handle int      `json:"handle"`
			Data   []byte   `json:"buf-b64"`
			Count  int      `json:"count"`
		} `json:"arguments"`
	}
	if err := json.Unmarshal([]byte(text), &message); err != nil {
		return "", err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.messages++
	g.longest = max(g.longest, len(text))
	if message.Execute == g.fail {
		g.fail = ""
		return "", g.failE
	}
	a := message.Arguments
	var answer any = struct{}{}
	switch message.Execute {
	case "guest-info":
		var commands []map[string]any
		for _, name := range needed {
			commands = append(commands, map[string]any{"name": name, "enabled": name != g.disabled})
		}
		answer = map[string]any{"supported_commands": commands}
	case "guest-exec":
		c := exec.Command(a.Path, a.Arg...)
		c.Env, c.Stdin = a.Env, bytes.NewReader(a.Input)
		c.Stdout, c.Stderr = &bytes.Buffer{}, &bytes.Buffer{}
		if err := c.Start(); err != nil {
			return "", err
		}
		done := make(chan struct{})
		go func() { c.Wait(); close(done) }()
		g.procs[c.Process.Pid], g.done[c.Process.Pid] = c, done
		answer = map[string]any{"pid": c.Process.Pid}
	case "guest-exec-status":
		c, ok := g.procs[a.PID]
		if !ok {
			return fmt.Sprintf(`{"error":{"class":"GenericError","desc":"PID %d does not exist"}}`, a.PID), nil
		}
		select {
		case <-g.done[a.PID]:
			delete(g.procs, a.PID)
			answer = map[string]any{"exited": true, "exitcode": c.ProcessState.ExitCode(),
				"out-data": c.Stdout.(*bytes.Buffer).Bytes(), "err-data": c.Stderr.(*bytes.Buffer).Bytes()}
		default:
			answer = map[string]any{"exited": false}
		}
	case "guest-file-open":
		flags := os.O_RDONLY
		if a.Mode == "w" {
			flags = os.O_WRONLY | os.O_TRUNC
		}
		f, err := os.OpenFile(a.Path, flags, 0o600)
		if err != nil {
			return "", err
		}
		g.files[int(f.Fd())] = f
		answer = int(f.Fd())
	case "guest-file-write":
		n, err := g.files[a.Handle].Write(a.Data)
		if err != nil {
			return "", err
		}
		answer = map[string]any{"count": n}
	case "guest-file-read":
		data := make([]byte, a.Count)
		n, err := g.files[a.Handle].Read(data)
		if g.endless {
			n, err = len(data), nil
		}
		answer = map[string]any{"count": n, "buf-b64": data[:n], "eof": err != nil}
	case "guest-file-close":
		g.files[a.Handle].Close()
		delete(g.files, a.Handle)
	}
	reply, err := json.Marshal(map[string]any{"return": answer})
	return string(reply), err
}

// TestRunPassesInputOutputStatusAndWords runs run.sh.
func TestRunPassesInputOutputStatusAndWords(t *testing.T) {
	_, h := newGuest(t)
	cmd := host.Script("echo", `cat; printf '%s|' "$@"`, "", "a b", "it's")
	cmd.Stdin = []byte("in\x00put\n")
	out, err := h.Run(t.Context(), cmd)
	if err != nil || string(out) != "in\x00put\n|a b|it's|" {
		t.Fatalf("%q, %v", out, err)
	}
	_, err = h.Run(t.Context(), host.Cmd{Argv: []string{"sh", "-c", "echo bad hunter2 >&2; exit 7"}, Secrets: []string{"hunter2"}})
	exit, ok := errors.AsType[*host.ExitError](err)
	if !ok || exit.Code != 7 || exit.Stderr != "bad ***\n" {
		t.Errorf("%v", err)
	}
}

func TestLargeInputAndOutputGoInPiecesAndLeaveNothing(t *testing.T) {
	g, h := newGuest(t)
	before, _ := os.ReadDir("/run")
	input := bytes.Repeat([]byte("0123456789abcde\n"), 200_000)
	out, err := h.Run(t.Context(), host.Cmd{Argv: []string{"cat"}, Stdin: input})
	if err != nil || !bytes.Equal(out, input) {
		t.Fatalf("%d bytes of %d, %v", len(out), len(input), err)
	}
	if g.longest > 1<<20 {
		t.Errorf("a message of %d bytes", g.longest)
	}
	if after, _ := os.ReadDir("/run"); len(after) != len(before) || len(g.files) != 0 {
		t.Errorf("left: %v, %v", after, g.files)
	}
}

func TestFilesAreWrittenAndRead(t *testing.T) {
	_, h := newGuest(t)
	path := t.TempDir() + "/f"
	if err := h.Write(t.Context(), host.File{Path: path, Content: []byte("x\n"), Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Read(t.Context(), path); err != nil || string(got) != "x\n" {
		t.Errorf("%q, %v", got, err)
	}
	if err := h.Remove(t.Context(), path); err != nil {
		t.Error(err)
	}
	if _, err := h.Read(t.Context(), path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestBrokenWayIsUnknownOutcomeAndRepeatableCommandsAreRepeated(t *testing.T) {
	g, h := newGuest(t)
	if err := h.checkAgent(t.Context()); err != nil {
		t.Fatal(err)
	}
	broken := fmt.Errorf("%w: gone", host.ErrCut)
	for _, name := range []string{"guest-exec", "guest-exec-status"} {
		g.fail, g.failE = name, broken
		if _, err := h.Run(t.Context(), host.Cmd{Argv: []string{"true"}}); !errors.Is(err, host.ErrCut) {
			t.Errorf("%s: %v", name, err)
		}
		g.fail = name
		if out, err := h.Run(t.Context(), host.Cmd{Argv: []string{"echo", "x"}, Repeatable: true}); err != nil || string(out) != "x\n" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	for _, done := range g.done {
		<-done
	}
}

func TestAgentThatForbidsCommandsSaysHowToAllowThem(t *testing.T) {
	g, h := newGuest(t)
	g.disabled = "guest-exec"
	_, err := h.Run(t.Context(), host.Cmd{Argv: []string{"true"}})
	if _, ok := errors.AsType[*DisabledError](err); !ok || !strings.Contains(err.Error(), "BLOCK_RPCS") {
		t.Errorf("%v", err)
	}
}

func TestCancelledCommandEnds(t *testing.T) {
	g, h := newGuest(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := h.Run(ctx, host.Cmd{Argv: []string{"sleep", "60"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	for _, done := range g.done {
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			t.Fatal("the command goes on")
		}
	}
}

// TestLockIsTakenByTurns runs what holds a lock by pipe.sh, start.sh and follow.sh.
func TestLockIsTakenByTurns(t *testing.T) {
	const name = "test-agent"
	before := runDirectories(t)
	g, first := newGuest(t)
	second := New("guest", g)
	unlock, err := first.Lock(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := second.Lock(ctx, name); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "pid ") {
		t.Errorf("%v", err)
	}
	if _, err := first.Run(t.Context(), host.Cmd{Argv: []string{"true"}, Lock: name}); err != nil {
		t.Errorf("under the lock: %v", err)
	}
	unlock()
	again, err := second.Lock(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Run(t.Context(), host.Cmd{Argv: []string{"true"}, Lock: name}); !errors.Is(err, host.ErrLockLost) {
		t.Errorf("without the lock: %v", err)
	}
	again()
	for _, done := range g.done {
		<-done
	}
	if left := runDirectories(t); !slices.Equal(left, before) {
		t.Errorf("left: %v, before: %v", left, before)
	}
}

// runDirectories are what commands that run, or were killed in the middle, have on this machine.
func runDirectories(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("/run/virtcluster-run.*")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAnswerThatIsTooLongIsAnErrorAndLeavesNothing(t *testing.T) {
	g, h := newGuest(t)
	before, _ := filepath.Glob("/run/virtcluster-out.*")
	_, err := h.Run(t.Context(), host.Script("flood", `head -c 70M /dev/zero`))
	if !errors.Is(err, host.ErrTooLong) || errors.Is(err, host.ErrCut) {
		t.Errorf("got %v", err)
	}
	if after, _ := filepath.Glob("/run/virtcluster-out.*"); len(after) != len(before) {
		t.Errorf("left %v", after)
	}
	// A guest need not keep to what its script says.
	g.endless = true
	if _, err := h.Run(t.Context(), host.Script("flood", `head -c 1M /dev/zero`)); !errors.Is(err, host.ErrTooLong) {
		t.Errorf("a file without an end: %v", err)
	}
}

// hostile is an agent of somebody who has taken the guest over: it answers one command with what that asks of it, and others as usual.
type hostile struct {
	*guest
	command, answer string
}

func (h hostile) Command(ctx context.Context, text string) (string, error) {
	if strings.Contains(text, `"`+h.command+`"`) {
		return h.answer, nil
	}
	return h.guest.Command(ctx, text)
}

func TestAnswersThatCannotBeAreErrors(t *testing.T) {
	for name, c := range map[string]struct{ command, answer string }{
		"a count below nothing":  {"guest-file-write", `{"return":{"count":-1}}`},
		"a count of nothing":     {"guest-file-write", `{"return":{"count":0}}`},
		"more than was sent":     {"guest-file-write", `{"return":{"count":99999999}}`},
		"a handle below nothing": {"guest-file-open", `{"return":-7}`},
		"no process":             {"guest-exec", `{"return":{"pid":0}}`},
		"a process below it":     {"guest-exec", `{"return":{"pid":-1}}`},
		"a status below nothing": {"guest-exec-status", `{"return":{"exited":true,"exitcode":-1}}`},
		"a signal out of bounds": {"guest-exec-status", `{"return":{"exited":true,"signal":4096}}`},
		"another type":           {"guest-exec", `{"return":{"pid":"1"}}`},
		"nothing at all":         {"guest-exec-status", ``},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			g, _ := newGuest(t)
			h := New("guest", hostile{g, c.command, c.answer})
			_, err := h.Run(ctx, host.ScriptWithInput("cat", "cat >/dev/null", make([]byte, chunk+1)))
			if err == nil || ctx.Err() != nil {
				t.Errorf("%v", err)
			}
		})
	}
}
