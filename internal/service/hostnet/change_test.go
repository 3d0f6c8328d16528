package hostnet

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestChangeThatBeginsLateDoesNothing has a busy machine begin a change after it was given up.
func TestChangeThatBeginsLateDoesNothing(t *testing.T) {
	for _, want := range []bool{true, false} {
		dir := t.TempDir()
		made := filepath.Join(dir, "made")
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("do", "touch "+made+"\n")
		if want {
			write(armed, "")
		}
		out, err := exec.Command("sh", "-c", doScript, "sh", dir).CombinedOutput()
		if (err == nil) != want {
			t.Errorf("armed=%t: %v: %s", want, err, out)
		}
		if _, err := os.Stat(made); errors.Is(err, os.ErrNotExist) == want {
			t.Errorf("armed=%t: %v", want, err)
		}
	}
}

// TestEarlierChangesAreEnded has a run find what a killed one left: armed, on its way back, and proven.
func TestEarlierChangesAreEnded(t *testing.T) {
	for left, back := range map[string]bool{armed: true, going: true, proven: false, "": false} {
		all := t.TempDir()
		dir := filepath.Join(all, "aaaa")
		write := func(name, text string) {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("back", "touch "+all+"/went\n")
		write("undo", "")
		if left != "" {
			write(left, "")
		}
		script := strings.ReplaceAll(earlierScript, "-lt 300", "-lt 3") // of 0.1 s each
		if out, err := exec.Command("sh", "-c", script, "sh", all).CombinedOutput(); err != nil {
			t.Errorf("%q: %v: %s", left, err, out)
		}
		if _, err := os.Stat(filepath.Join(all, "went")); (err == nil) != back {
			t.Errorf("%q: went back: %t", left, err == nil)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%q: its directory is left", left)
		}
	}
}

// TestWhoGoesBackIsWaitedFor has the machine go back by itself while the provider would have it do so.
func TestWhoGoesBackIsWaitedFor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "aaaa")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, going), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const took = 500 * time.Millisecond
	began := time.Now()
	time.AfterFunc(took, func() { _ = os.RemoveAll(dir) })
	if out, err := exec.Command("sh", "-c", backScript, "sh", dir, "x.service").CombinedOutput(); err != nil || time.Since(began) < took {
		t.Errorf("after %s: %v: %s", time.Since(began), err, out)
	}
}
