package localhost

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rootful returns this machine where the tests may act as root on it.
func rootful(t *testing.T) *Host {
	t.Helper()
	if os.Geteuid() != 0 && exec.Command("sudo", "-n", "true").Run() != nil {
		t.Skip("needs root")
	}
	return New()
}

func TestRunReturnsOutputAndPassesInputAndArgumentsUnchanged(t *testing.T) {
	h := rootful(t)
	args := []string{"", "a b", "it's", `"$HOME" \ *`, "line\nline"}
	out, err := h.Run(t.Context(), host.Script("echo", `cat; printf '%s|' "$@"`, args...))
	if err != nil || string(out) != strings.Join(args, "|")+"|" {
		t.Fatalf("got %q, %v", out, err)
	}
	out, err = h.Run(t.Context(), host.Cmd{Argv: []string{"cat"}, Stdin: []byte("in\x00put")})
	if err != nil || string(out) != "in\x00put" {
		t.Fatalf("got %q, %v", out, err)
	}
}

func TestFailedCommandCarriesItsWordsAndHidesSecrets(t *testing.T) {
	h := rootful(t)
	_, err := h.Run(t.Context(), host.Cmd{
		Argv: []string{"sh", "-c", "echo out hunter2; echo bad hunter2 >&2; exit 7"}, Secrets: []string{"hunter2"},
	})
	var exit *host.ExitError
	if !errors.As(err, &exit) || exit.Code != 7 || exit.Stderr != "bad ***\n" || exit.Stdout != "out ***\n" {
		t.Fatalf("got %#v", err)
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("secret in %q", err)
	}
}

func TestCancelledCommandEnds(t *testing.T) {
	h := rootful(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := h.Run(ctx, host.Cmd{Argv: []string{"sleep", "60"}})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Fatalf("after %s: %v", time.Since(start), err)
	}
}

// TestWriteReplacesAFileWithModeOwnerAndParents runs replace.sh, behind receive.sh and place.sh.
func TestWriteReplacesAFileWithModeOwnerAndParents(t *testing.T) {
	h, dir := rootful(t), t.TempDir()
	path := filepath.Join(dir, "a/b c/it's")
	for _, content := range []string{"first\x00\xff", "", strings.Repeat("long", 100_000)} {
		if err := h.Write(t.Context(), host.File{Path: path, Content: []byte(content), Mode: 0o640, Group: "daemon"}); err != nil {
			t.Fatal(err)
		}
		got, err := h.Read(t.Context(), path)
		if err != nil || string(got) != content {
			t.Fatalf("read back %d bytes of %d: %v", len(got), len(content), err)
		}
	}
	out, err := exec.Command("stat", "-c", "%a %U %G", path, filepath.Dir(path)).Output()
	if err != nil || string(out) != "640 root daemon\n755 root root\n" {
		t.Errorf("got %q, %v", out, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("left over: %v", left)
	}
}

func TestWriteThatFailsLeavesTheOldFileAndNothingElse(t *testing.T) {
	h, dir := rootful(t), t.TempDir()
	path := filepath.Join(dir, "f")
	if err := h.Write(t.Context(), host.File{Path: path, Content: []byte("old")}); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]host.File{
		"unknown owner":   {Path: path, Content: []byte("new"), Owner: "no-such-user"},
		"option as owner": {Path: path, Content: []byte("new"), Owner: "--reference=/etc/shadow"},
		"not a directory": {Path: path + "/below", Content: []byte("new")},
		"relative path":   {Path: "f", Content: []byte("new")},
	} {
		if err := h.Write(t.Context(), f); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	got, err := os.ReadFile(path)
	left, _ := os.ReadDir(dir)
	if err != nil || string(got) != "old" || len(left) != 1 {
		t.Errorf("%q, %v, %v", got, err, left)
	}
}

// A connection that breaks in the middle of a write looks to the shell like the end of the input.
func TestWriteOfInputThatEndsEarlyIsRefused(t *testing.T) {
	h, dir := rootful(t), t.TempDir()
	path := filepath.Join(dir, "f")
	os.WriteFile(path, []byte("old"), 0o644)
	cut := cutting{h}
	if err := host.WriteFile(t.Context(), cut, host.File{Path: path, Content: []byte("0123456789")}); err == nil {
		t.Error("no error")
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("got %q", got)
	}
	if err := host.WriteAll(t.Context(), cut, filepath.Join(dir, "stage"), []host.File{{Path: "/f", Content: []byte("0123456789")}}); err == nil {
		t.Error("bulk: no error")
	}
}

// cutting loses the second half of every input.
type cutting struct{ *Host }

func (c cutting) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	cmd.Stdin = cmd.Stdin[:len(cmd.Stdin)/2]
	return c.Host.Run(ctx, cmd)
}

// TestOnlyProvenAbsenceIsErrNotExist runs read.sh and remove.sh.
func TestOnlyProvenAbsenceIsErrNotExist(t *testing.T) {
	h, dir := rootful(t), t.TempDir()
	for _, path := range []string{filepath.Join(dir, "f"), filepath.Join(dir, "no/such/dir/f")} {
		if _, err := h.Read(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
		if err := h.Remove(t.Context(), path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	os.Symlink("nowhere", filepath.Join(dir, "dangling"))
	os.Symlink("loop", filepath.Join(dir, "loop"))
	for _, path := range []string{dir, filepath.Join(dir, "dangling"), filepath.Join(dir, "loop/f")} {
		if _, err := h.Read(t.Context(), path); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAnswerThatIsTooLongEndsTheCommandWithAnError(t *testing.T) {
	h := rootful(t)
	for _, output := range []string{"", " >&2"} {
		cmd := host.Script("flood", "cat /dev/zero"+output)
		cmd.Repeatable = true // but not for this reason
		start := time.Now()
		if _, err := h.Run(t.Context(), cmd); !errors.Is(err, host.ErrTooLong) || errors.Is(err, host.ErrCut) {
			t.Errorf("output%s: %v", output, err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("output%s: ended after %s", output, took)
		}
	}
	if out, err := h.Run(t.Context(), host.Script("half", "head -c 40M /dev/zero")); err != nil || len(out) != 40<<20 {
		t.Errorf("an answer that is long: %d bytes, %v", len(out), err)
	}
}

func TestWriteFollowsALink(t *testing.T) {
	h, dir := rootful(t), t.TempDir()
	link, target := filepath.Join(dir, "link"), filepath.Join(dir, "target")
	for _, leads := range []string{"target", target} {
		os.WriteFile(target, []byte("old"), 0o644)
		os.Symlink(leads, link)
		if err := h.Write(t.Context(), host.File{Path: link, Content: []byte("new")}); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(target); err != nil || string(text) != "new" {
			t.Errorf("%s: it leads to %q, %v", leads, text, err)
		}
		if got, err := os.Readlink(link); err != nil || got != leads {
			t.Errorf("the link leads to %q, %v", got, err)
		}
		os.Remove(link)
	}
	os.Symlink("/nonexistent/directory/file", link)
	if err := h.Write(t.Context(), host.File{Path: link}); err == nil || !strings.Contains(err.Error(), "leads nowhere") {
		t.Errorf("a link that leads nowhere: %v", err)
	}
	// As one to /dev/null does, which masks a unit or a network's file.
	os.Remove(link)
	os.Remove(target)
	if err := syscall.Mkfifo(target, 0o600); err != nil {
		t.Fatal(err)
	}
	os.Symlink(target, link)
	if err := h.Write(t.Context(), host.File{Path: link}); err == nil || !strings.Contains(err.Error(), target+" is no regular file") {
		t.Errorf("a link to what is no file: %v", err)
	}
}
