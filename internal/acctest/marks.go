package acctest

import (
	"fmt"
	"os"
	"testing"
)

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
