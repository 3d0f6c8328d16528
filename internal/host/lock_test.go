package host

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// lock takes a lock below a directory, as a machine's shell does, and gives it back.
func lock(t *testing.T, dir string) (said string, err error) {
	t.Helper()
	c := exec.Command("sh", "-c", LockDirScript+lockScript, "sh", dir, "daemon", "who")
	c.Stdin = strings.NewReader(goodbye)
	var words bytes.Buffer
	c.Stdout, c.Stderr = &words, &words
	err = c.Run()
	return words.String(), err
}

func TestLockDirectoryThatIsNotRootsAloneIsRefusedAndNoLinkIsFollowed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	precious := filepath.Join(t.TempDir(), "precious")
	for name, c := range map[string]struct {
		lay   func(dir string) error
		words string
	}{
		"a link to a directory": {func(dir string) error { return os.Symlink(filepath.Dir(precious), dir) }, "no directory"},
		"a file":                {func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, "no directory"},
		"another user's":        {func(dir string) error { return errorsOf(os.Mkdir(dir, 0o700), os.Chown(dir, 1, 1)) }, "not root's"},
		"anybody may write": {func(dir string) error {
			return errorsOf(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777), os.Symlink(precious, dir+"/daemon.holder"), os.Symlink(precious, dir+"/daemon.lock"))
		}, "written by others"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "virtcluster")
			if err := c.lay(dir); err != nil {
				t.Fatal(err)
			}
			if said, err := lock(t, dir); err == nil || !strings.Contains(said, c.words) || !strings.Contains(said, dir) {
				t.Errorf("%v: %s", err, said)
			}
			if text, err := os.ReadFile(precious); string(text) != "precious" {
				t.Errorf("a link was followed: %q, %v", text, err)
			}
			if made, _ := filepath.Glob(filepath.Dir(precious) + "/daemon.*"); len(made) > 0 {
				t.Errorf("a link was followed: %v", made)
			}
		})
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestNobodyElseCanHoldALock(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	base, err := os.MkdirTemp("/var/tmp", "lock") // which others may pass
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{base + "/new", base + "/readable"} {
		if strings.HasSuffix(dir, "readable") {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if said, err := lock(t, dir); err != nil || said != "held\n" {
			t.Fatalf("%v: %s", err, said)
		}
		stranger := exec.Command("sh", "-c", `flock -n "$1" true`, "sh", dir+"/daemon.lock")
		stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := stranger.CombinedOutput(); err == nil {
			t.Errorf("another user locks %s: %s", dir, out)
		}
	}
}
