package acctest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Run runs a command on the hypervisor and returns what it printed, trimmed; a failure ends the test. It has no context
// of its own, so that a test's clean-up may use it.
func Run(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := runWithin(context.Background(), commandTime, argv...)
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(argv, " "), err, out)
	}
	return out
}

// commandTime is how long one command of a test may take on a busy machine: one that hangs fails its test, not the whole run.
const commandTime = 5 * time.Minute

// runWithin runs a command and returns what it printed, trimmed. One that takes longer than a time is ended with all that it
// started; a child of one that has ended, which keeps its output open, is not waited for.
func runWithin(ctx context.Context, limit time.Duration, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %s", limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	// A command on another machine runs below nsenter, which does not pass the end on.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return strings.TrimSpace(string(out)), err
}

// Virsh is Run for virsh.
func Virsh(t *testing.T, argv ...string) string {
	t.Helper()
	return Run(t, append([]string{"virsh"}, argv...)...)
}

// patience is how long Eventually waits: a busy machine under emulation takes its time.
const patience = 3 * time.Minute

// Eventually waits until something holds. A test that waits in vain for what ends there.
func Eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	// What asks costs processor time that others need for what is awaited: the longer it takes, the less often it is asked for.
	pause := 50 * time.Millisecond
	for began := time.Now(); !holds(); time.Sleep(pause) {
		if time.Since(began) > patience {
			t.Fatalf("waited %s in vain: %s", patience, what)
		}
		pause = min(pause*5/4, time.Second/2)
	}
}

// ProviderOf finds the provider's process below the CLI's.
func ProviderOf(t *testing.T, parent int) int {
	t.Helper()
	pid := FindProvider(parent)
	if pid == 0 {
		t.Fatalf("no provider runs below %d", parent)
	}
	return pid
}

// FindProvider finds the provider's process below the CLI's, 0 where none runs: the CLI ends and begins it between what it does.
func FindProvider(parent int) int {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		for _, field := range strings.Fields(string(children)) {
			name, _ := os.ReadFile("/proc/" + field + "/cmdline")
			if strings.Contains(string(name), "terraform-provider-virtcluster") {
				pid, _ := strconv.Atoi(field)
				return pid
			}
		}
	}
	return 0
}
