package acctest

import (
	"fmt"
	"log"
	"os"
	"runtime"
	"testing"

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
