package sshhost

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// TestCommandsShareAShellAndDoNotMeetInIt runs shell.sh.
func TestCommandsShareAShellAndDoNotMeetInIt(t *testing.T) {
	s, h := reach(t)
	before := s.started.Load()
	for i, c := range []struct {
		script, input, out string
		status             int
	}{
		{script: "cat", input: "one\ntwo", out: "one\ntwo"},
		{script: "head -c 1", input: strings.Repeat("x", 300_000), out: "x"}, // most of the input is left unread
		{script: "cat", out: ""},
		{script: "exit 3", status: 3},
		{script: `printf 'a\0\n\377'`, out: "a\x00\n\xff"},
		{script: "kill -TERM $$", status: 143},
		{script: "cd /; pwd; export X=1", out: "/\n"},
		{script: `echo "${X-unset}"; pwd >/dev/null`, out: "unset\n"},
		{script: "echo late >&2", out: ""},
	} {
		t.Run(c.script, func(t *testing.T) {
			cmd := sh(c.script)
			cmd.Stdin = []byte(c.input)
			out, err := h.Run(t.Context(), cmd)
			exit, _ := errors.AsType[*host.ExitError](err)
			if string(out) != c.out || (exit == nil) != (c.status == 0) || exit != nil && exit.Code != c.status {
				t.Errorf("%d: %.50q, %v", i, out, err)
			}
		})
	}
	if _, err := h.Run(t.Context(), host.Cmd{Argv: []string{"exit", "0"}}); err == nil {
		t.Error("the shell's own words are no programs")
	}
	if n := s.started.Load() - before; n != 1 {
		t.Errorf("%d sessions", n)
	}
}

func TestLockTakesAShellAndLeavesIt(t *testing.T) {
	s, h := reach(t)
	before := s.started.Load()
	name := "test-" + strings.ToLower(rand.Text())
	for range 3 {
		unlock, err := h.Lock(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		guarded := sh("echo here")
		guarded.Lock = name
		if out, err := h.Run(t.Context(), guarded); err != nil || string(out) != "here\n" {
			t.Errorf("got %q, %v", out, err)
		}
		start := time.Now()
		unlock()
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("to unlock took %s", took)
		}
	}
	if n := s.started.Load() - before; n != 2 {
		t.Errorf("%d sessions, want one for the lock and one for commands", n)
	}
}

func TestIdleShellThatDiedIsReplacedWithoutAWord(t *testing.T) {
	s, h := reach(t)
	for name, breakIt := range map[string]func(){
		"connection cut": s.cut,
		"shells closed": func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			for _, idle := range h.shells {
				idle.Session.Close()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := h.Run(t.Context(), sh("true")); err != nil {
				t.Fatal(err)
			}
			breakIt()
			if out, err := h.Run(t.Context(), sh("echo here")); err != nil || string(out) != "here\n" {
				t.Errorf("got %q, %v", out, err)
			}
		})
	}
}

// TestCopyUntilFindsTheToken has it begin in the middle of a line, and lie across two reads of the buffer.
func TestCopyUntilFindsTheToken(t *testing.T) {
	t.Parallel()
	const token = "ABCDEFGHIJ"
	for before := range 40 {
		for _, ends := range []string{"", "\n"} {
			text := strings.Repeat("x", before) + ends
			t.Run(fmt.Sprintf("%d before %q", before, ends), func(t *testing.T) {
				var got bytes.Buffer
				r := bufio.NewReaderSize(strings.NewReader(text+token+" 12\nnext"), 16)
				if rest, err := copyUntil(r, token, &got); err != nil || string(rest) != " 12\n" || got.String() != text {
					t.Errorf("got %q and %q, %v", got.String(), rest, err)
				}
			})
		}
	}
}
