package hosttest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

func TestFilesBehaveAsOnAMachine(t *testing.T) {
	h := New(host.File{Path: "/etc/a.conf", Content: []byte("a")})
	if err := host.WriteAll(t.Context(), h, "/stage", []host.File{{Path: "/etc/b.conf"}, {Path: "/etc/.hidden.conf"}}); err != nil {
		t.Fatal(err)
	}
	got, err := host.ReadGlobs(t.Context(), h, []string{"/stage/etc/*.conf", "/etc/*"})
	if err != nil || len(got) != 2 || got["/stage/etc/b.conf"].Mode != 0o644 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := h.Run(t.Context(), host.Cmd{Argv: []string{"mv", "-fT", "/stage/etc/b.conf", "/etc/b.conf"}}); err != nil {
		t.Error(err)
	}
	if _, err := h.Run(t.Context(), host.Cmd{Argv: []string{"rm", "-rf", "/stage"}}); err != nil {
		t.Error(err)
	}
	if files := h.Files(); len(files) != 2 {
		t.Errorf("%v", files)
	}
	if _, err := h.Read(t.Context(), "/stage/etc/b.conf"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := h.Run(t.Context(), host.Cmd{Argv: []string{"reboot"}}); err == nil {
		t.Error("a command that nobody answers is no error")
	}
}

func TestFaultsHitTheOperationTheyAreMeantFor(t *testing.T) {
	h := New()
	h.Fail(Write, 2, host.ErrCut)
	h.FailAfter(Write, 3, host.ErrCut)
	for i, want := range []struct{ fails, written bool }{{false, true}, {true, false}, {true, true}, {false, true}} {
		t.Run(fmt.Sprint(want.fails), func(t *testing.T) {
			h.Delete("/f")
			err := h.Write(t.Context(), host.File{Path: "/f", Content: []byte("x")})
			if written := h.Content("/f") == "x"; errors.Is(err, host.ErrCut) != want.fails || written != want.written {
				t.Errorf("%d: %v, written %t", i+1, err, written)
			}
		})
	}
	h.Full(true)
	var exit *host.ExitError
	if err := h.Write(t.Context(), host.File{Path: "/g"}); !errors.As(err, &exit) {
		t.Errorf("disk full: %v", err)
	}
}

func TestLocksAreSharedByProcessesAndCanBeLost(t *testing.T) {
	h := New()
	other := h.Another()
	unlock, err := h.Lock(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := other.Lock(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	under := host.Cmd{Argv: []string{"true"}, Lock: "x"}
	if _, err := h.Run(t.Context(), under); err != nil {
		t.Error(err)
	}
	h.LoseLocks()
	if _, err := h.Run(t.Context(), under); !errors.Is(err, host.ErrLockLost) {
		t.Errorf("%v", err)
	}
	again, err := other.Lock(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	unlock() // of a lock that was lost: the other keeps its own
	if _, err := other.Run(t.Context(), under); err != nil {
		t.Error(err)
	}
	again()
}
