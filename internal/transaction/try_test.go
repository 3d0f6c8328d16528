package transaction_test

import (
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
	for name, age := range map[string]time.Duration{"tried": 0, "killed": 2 * time.Hour, "beside": time.Minute} {
		if err := os.MkdirAll(filepath.Join(all, name, "etc"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(all, name), time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
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
