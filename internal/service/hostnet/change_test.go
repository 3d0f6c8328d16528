package hostnet

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestChangeThatBeginsLateDoesNothing has a busy machine begin a change after it was given up.
func TestChangeThatBeginsLateDoesNothing(t *testing.T) {
	for armed, want := range map[bool]bool{true: true, false: false} {
		dir := t.TempDir()
		made := filepath.Join(dir, "made")
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("do", "touch "+made+"\n")
		if armed {
			write("armed", "")
		}
		out, err := exec.Command("sh", "-c", doScript, "sh", dir).CombinedOutput()
		if (err == nil) != want {
			t.Errorf("armed=%t: %v: %s", armed, err, out)
		}
		if _, err := os.Stat(made); errors.Is(err, os.ErrNotExist) == want {
			t.Errorf("armed=%t: %v", armed, err)
		}
	}
}
