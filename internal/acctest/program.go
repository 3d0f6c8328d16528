package acctest

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs"
)

// RunTests is the TestMain of tests that have the provider put its own program on machines: what it puts there is the test's binary, which is
// that program then.
func RunTests(m *testing.M) {
	ran, err := programs.Run("acctest", os.Args[1:])
	if err != nil {
		log.Fatal(err)
	}
	if !ran {
		os.Exit(m.Run())
	}
}

// LeavesNothing looks at a machine, and returns a check that it looks the same again after a destroy: which files there are at the patterns of
// a shell, and what the script asks prints.
func LeavesNothing(t *testing.T, machine, patterns, asks string) func(*terraform.State) error {
	t.Helper()
	look := func() string {
		t.Helper()
		return On(t, machine, "sh", "-c", "find "+patterns+" 2>/dev/null | grep -vx /var/lib/virtcluster | sort; "+asks)
	}
	before := look()
	return func(*terraform.State) error {
		if after := look(); after != before {
			return fmt.Errorf("left:\n%s\nbefore:\n%s", after, before)
		}
		return nil
	}
}

// marksFile names the file that tools/runtests has the names of marked tests written to. No test runs then.
const marksFile = "VIRTCLUSTER_TEST_MARKS"

// BothCLIs marks a test that `make testacc` runs with Terraform and with OpenTofu; it comes first in the test. All others
// run with one of them. What a program may do in its own way is marked: plans, imports, identities, functions, secrets,
// errors. What a machine, a guest or a daemon does for it, one program shows.
func BothCLIs(t *testing.T) {
	t.Helper()
	marks := os.Getenv(marksFile)
	if marks == "" {
		return
	}
	if err := addLine(marks, t.Name()); err != nil {
		t.Fatal(err)
	}
	t.Skip("its name is in $" + marksFile)
}

func addLine(file, line string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, line); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// init keeps the process's first thread for main. A test that changes its thread's network namespace gets another one:
// /proc/net shows the first thread's namespace to the whole process, and the provider, which runs in it, reads the
// hypervisor's routes there.
func init() { runtime.LockOSThread() }

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
