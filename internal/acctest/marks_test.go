package acctest

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMarkedTestsTellTheirNamesAndDoNotRun(t *testing.T) {
	marks := filepath.Join(t.TempDir(), "marks")
	t.Setenv(marksFile, marks)
	for _, name := range []string{"one", "two"} {
		t.Run(name, func(t *testing.T) {
			BothCLIs(t)
			t.Error("the test runs")
		})
	}
	want := t.Name() + "/one\n" + t.Name() + "/two\n"
	if got, err := os.ReadFile(marks); err != nil || string(got) != want {
		t.Errorf("the marks are %q, %v; want %q", got, err, want)
	}
}

func TestMarkedTestsRunWhereNobodyAsksForTheirNames(t *testing.T) {
	t.Setenv(marksFile, "")
	ran := false
	t.Run("marked", func(t *testing.T) {
		BothCLIs(t)
		ran = true
	})
	if !ran {
		t.Error("the test did not run")
	}
}
