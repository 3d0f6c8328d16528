package localhost

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

func TestLockIsTakenByTurns(t *testing.T) {
	const name = "test-turns"
	// Two Hosts are what two processes are: they share nothing but the machine.
	first, second := rootful(t), rootful(t)
	unlock, err := first.Lock(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for who, h := range map[string]*Host{"same process": first, "other process": second} {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		_, err := h.Lock(ctx, name)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", who, err)
		}
		if who == "other process" && !strings.Contains(err.Error(), "pid ") {
			t.Errorf("does not name the holder: %v", err)
		}
	}
	if _, err := first.Run(t.Context(), host.Cmd{Argv: []string{"true"}, Lock: name}); err != nil {
		t.Errorf("under the lock: %v", err)
	}
	unlock()
	unlock()
	again, err := second.Lock(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer again()
	if _, err := first.Run(t.Context(), host.Cmd{Argv: []string{"true"}, Lock: name}); !errors.Is(err, host.ErrLockLost) {
		t.Errorf("without the lock: %v", err)
	}
}

// TestLockDiesWithItsHolderAndItsCommandsDoNotRun runs lock.sh, behind lockdir.sh, and guard.sh before a command.
func TestLockDiesWithItsHolderAndItsCommandsDoNotRun(t *testing.T) {
	const name = "test-dies"
	first, second := rootful(t), rootful(t)
	unlock, err := first.Lock(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("pgrep", "-f", "sh "+host.LockDir+" "+name).Output()
	if err != nil {
		t.Fatal(err)
	}
	for pid := range strings.FieldsSeq(string(out)) {
		exec.Command("kill", "-9", pid).Run()
	}
	again, err := second.Lock(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Run(t.Context(), host.Cmd{Argv: []string{"true"}, Lock: name}); !errors.Is(err, host.ErrLockLost) {
		t.Errorf("got %v", err)
	}
	unlock()
	again()
}
