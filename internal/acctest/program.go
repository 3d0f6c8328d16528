package acctest

import (
	"fmt"
	"log"
	"os"
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
