package sshhost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

func TestMain(m *testing.M) {
	// The tests' SSH configuration is empty unless they write one.
	dir, err := os.MkdirTemp("", "home")
	if err != nil {
		panic(err)
	}
	os.Setenv("HOME", dir)
	os.Unsetenv("SSH_AUTH_SOCK")
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// reach returns a server and a Host that is let in.
func reach(t *testing.T) (*server, *Host) {
	t.Helper()
	file, public := keyFile(t)
	s := serve(t, public)
	h := New(s.target(), Options{PrivateKeyFile: file, KnownHostsFile: knownHosts(t, s), ConnectTimeout: 3 * time.Second})
	t.Cleanup(func() { h.Close() })
	return s, h
}

func sh(script string) host.Cmd { return host.Cmd{Argv: []string{"sh", "-c", script}} }

func TestRunPassesInputAndArgumentsUnchanged(t *testing.T) {
	_, h := reach(t)
	every := make([]byte, 255) // but NUL, which no argument can have
	for i := range every {
		every[i] = byte(i + 1)
	}
	args := []string{"", "a b", "it's", `"$HOME" \ *`, "line\nline", "!x", "Zürich\r\n", string(every), strings.Repeat("long ", 20_000)}
	cmd := host.Script("echo", `cat; printf '%s|' "$@"`, args...)
	cmd.Stdin = []byte(strings.Repeat("0123456789", 100_000) + "\x00\xff")
	out, err := h.Run(t.Context(), cmd)
	if want := string(cmd.Stdin) + strings.Join(args, "|") + "|"; err != nil || string(out) != want {
		t.Fatalf("got %d bytes of %d, %v", len(out), len(want), err)
	}
}

func TestFailedCommandCarriesStatusAndWordsAndHidesSecrets(t *testing.T) {
	_, h := reach(t)
	cmd := sh("echo out hunter2; echo bad hunter2 >&2; exit 7")
	cmd.Secrets = []string{"hunter2"}
	_, err := h.Run(t.Context(), cmd)
	exit, ok := errors.AsType[*host.ExitError](err)
	if !ok || exit.Code != 7 || exit.Stdout != "out ***\n" || exit.Stderr != "bad ***\n" || strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("got %v", err)
	}
}

func TestCommandThatDoesNotReadItsInputSucceeds(t *testing.T) {
	_, h := reach(t)
	cmd := sh("exit 0")
	cmd.Stdin = make([]byte, 8<<20)
	if _, err := h.Run(t.Context(), cmd); err != nil {
		t.Fatal(err)
	}
}

func TestFiftyCommandsShareOneConnectionAndStayBelowMaxSessions(t *testing.T) {
	s, h := reach(t)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			out, err := h.Run(t.Context(), sh(fmt.Sprintf("sleep 0.05; echo %d", i)))
			if err != nil || string(out) != fmt.Sprintln(i) {
				t.Errorf("%d: %q, %v", i, out, err)
			}
		})
	}
	wg.Wait()
	if s.accepted.Load() != 1 || s.peak.Load() > maxRuns || s.peak.Load() < 2 {
		t.Errorf("%d connections, %d sessions at once", s.accepted.Load(), s.peak.Load())
	}
}

// TestLocksThatAreTakenWithinOthersDoNotWaitForASession has more resources than a connection has sessions hold a lock each and take another one
// within it, with a command under that.
func TestLocksThatAreTakenWithinOthersDoNotWaitForASession(t *testing.T) {
	_, h := reach(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	name := func(part string, i int) string { return fmt.Sprintf("test-nested-%d-%s-%d", os.Getpid(), part, i) }
	var outer, all sync.WaitGroup
	const many = maxSessions + 2
	outer.Add(many)
	for i := range many {
		all.Go(func() {
			unlock, err := h.Lock(ctx, name("outer", i))
			outer.Done()
			if err != nil {
				t.Errorf("%d: %v", i, err)
				return
			}
			defer unlock()
			outer.Wait()
			within, err := h.Lock(ctx, name("inner", i))
			if err != nil {
				t.Errorf("%d, within: %v", i, err)
				return
			}
			defer within()
			cmd := sh("true")
			cmd.Lock = name("inner", i)
			if _, err := h.Run(ctx, cmd); err != nil {
				t.Errorf("%d, under both: %v", i, err)
			}
		})
	}
	all.Wait()
}

func TestServerThatAllowsFewSessionsIsStillServed(t *testing.T) {
	s, h := reach(t)
	s.maxSessions = 1
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := h.Run(t.Context(), sh("sleep 0.02")); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

func TestServerThatAllowsNoSessionIsAnError(t *testing.T) {
	s, h := reach(t)
	s.maxSessions = 0
	_, err := h.Run(t.Context(), sh("true"))
	if err == nil || !strings.Contains(err.Error(), "refuses to open a session") {
		t.Errorf("got %v", err)
	}
}

func TestConnectionCutInMidCommandIsUnknownOutcomeAndTheNextCommandReconnects(t *testing.T) {
	s, h := reach(t)
	mark := filepath.Join(t.TempDir(), "mark")
	go s.cutWhen(mark)
	_, err := h.Run(t.Context(), host.Script("wait", `: >"$1"; sleep 30`, mark))
	var exit *host.ExitError
	if !errors.Is(err, host.ErrCut) || errors.As(err, &exit) {
		t.Fatalf("got %v", err)
	}
	if out, err := h.Run(t.Context(), sh("echo again")); err != nil || string(out) != "again\n" {
		t.Fatalf("got %q, %v", out, err)
	}
}

func TestRepeatableCommandOutlivesACutConnection(t *testing.T) {
	s, h := reach(t)
	mark := filepath.Join(t.TempDir(), "mark")
	go s.cutWhen(mark)
	cmd := host.Script("twice", `[ -e "$1" ] && { echo second; exit; }; : >"$1"; sleep 30`, mark)
	cmd.Repeatable = true
	if out, err := h.Run(t.Context(), cmd); err != nil || string(out) != "second\n" {
		t.Fatalf("got %q, %v", out, err)
	}
}

func TestRestartOfTheServerIsBridged(t *testing.T) {
	s, h := reach(t)
	if _, err := h.Run(t.Context(), sh("true")); err != nil {
		t.Fatal(err)
	}
	restarted := make(chan struct{})
	go func() {
		defer close(restarted)
		s.restart(500 * time.Millisecond)
	}()
	time.Sleep(100 * time.Millisecond)
	if _, err := h.Run(t.Context(), sh("true")); err != nil {
		t.Errorf("during the restart: %v", err)
	}
	<-restarted
}

func TestCancelledCommandEndsAtOnceHereAndThere(t *testing.T) {
	_, h := reach(t)
	mark := filepath.Join(t.TempDir(), "mark")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := h.Run(ctx, host.Script("wait", `trap 'echo ended >"$1"; exit' TERM HUP; sleep 5 & wait`, mark))
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 2*time.Second {
		t.Fatalf("after %s: %v", time.Since(start), err)
	}
	for range 40 {
		if _, err := os.Stat(mark); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("the command goes on on the machine")
}

func TestAnswerThatIsTooLongEndsTheCommandWithAnError(t *testing.T) {
	_, h := reach(t)
	for _, output := range []string{"", " >&2"} {
		t.Run(output, func(t *testing.T) {
			cmd := host.Script("flood", "cat /dev/zero"+output)
			cmd.Repeatable = true // but not for this reason
			start := time.Now()
			if _, err := h.Run(t.Context(), cmd); !errors.Is(err, host.ErrTooLong) || errors.Is(err, host.ErrCut) {
				t.Errorf("output%s: %v", output, err)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("output%s: ended after %s", output, took)
			}
		})
	}
	if out, err := h.Run(t.Context(), host.Script("half", "head -c 40M /dev/zero")); err != nil || len(out) != 40<<20 {
		t.Errorf("an answer that is long: %d bytes, %v", len(out), err)
	}
}
