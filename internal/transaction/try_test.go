package transaction_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestAPlanRemovesWhatItTriedAndWhatKilledOnesLeft runs discard.sh.
func TestAPlanRemovesWhatItTriedAndWhatKilledOnesLeft(t *testing.T) {
	all := filepath.Join(t.TempDir(), "plan")
	discard := func(name string) {
		t.Helper()
		if out, err := exec.Command("sh", "discard.sh", filepath.Join(all, name), all).CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%v: %s", err, out)
		}
	}
	leave := func(name string, age time.Duration) {
		t.Helper()
		directory := filepath.Join(all, name)
		if err := errors.Join(os.MkdirAll(filepath.Join(directory, "etc"), 0o700), os.Chtimes(directory, time.Time{}, time.Now().Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	leave("tried", 0)
	leave("killed", 2*time.Hour)
	leave("beside", time.Minute)
	discard("tried")
	if left, err := os.ReadDir(all); err != nil || len(left) != 1 || left[0].Name() != "beside" {
		t.Errorf("there are %v left: %v", left, err)
	}
	discard("beside")
	if _, err := os.Stat(all); !os.IsNotExist(err) {
		t.Errorf("the directory stays with nothing in it: %v", err)
	}
	discard("tried")
}
