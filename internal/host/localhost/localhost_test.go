package localhost

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

func TestBulkReadAndWriteAreInverseWithAndWithoutTar(t *testing.T) {
	h := rootful(t)
	files := []host.File{
		{Path: "/etc/app/a.conf", Content: []byte("a\n"), Mode: 0o644},
		{Path: "/etc/app/with space 'n quote.conf", Content: []byte{0, 255, '\n', '\n'}, Mode: 0o600, Owner: "daemon", Group: "bin"},
		{Path: "/etc/app/" + strings.Repeat("long", 40) + ".conf", Content: bytes.Repeat([]byte("x"), 70_000), Mode: 0o640, Owner: "root", Group: "daemon"},
		{Path: "/var/lib/app/empty", Mode: 0o755},
	}
	for name, on := range map[string]host.Host{"tar": h, "no tar": withoutTar{h}} {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "stage")
			if err := host.WriteAll(t.Context(), on, root, files); err != nil {
				t.Fatal(err)
			}
			got, err := host.ReadGlobs(t.Context(), on, []string{root + "/etc/app/*.conf", root + "/var/lib/app/*", root + "/none/*"})
			if err != nil || len(got) != len(files) {
				t.Fatalf("got %d files, %v", len(got), err)
			}
			for _, want := range files {
				f := got[root+want.Path]
				owner, group := orRoot(want.Owner), orRoot(want.Group)
				if !bytes.Equal(f.Content, want.Content) || f.Mode != want.Mode || f.Owner != owner || f.Group != group {
					t.Errorf("%s: got %d bytes, %s %s:%s", want.Path, len(f.Content), f.Mode, f.Owner, f.Group)
				}
			}
			if left, _ := os.ReadDir(root); len(left) != 2 {
				t.Errorf("left over: %v", left)
			}
			for _, dir := range []string{root, root + "/etc", root + "/etc/app"} {
				if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
					t.Errorf("%s is not root's alone, while files in it may be secret: %v, %v", dir, info.Mode(), err)
				}
			}
			if none, err := host.ReadGlobs(t.Context(), on, []string{root + "/none/*"}); err != nil || len(none) != 0 {
				t.Errorf("no match: %v, %v", none, err)
			}
			err = host.WriteAll(t.Context(), on, root, []host.File{{Path: "/f", Owner: "no-such-user"}})
			if err == nil {
				t.Error("an unknown owner is no error")
			}
		})
	}
}

func orRoot(name string) string {
	if name == "" {
		return "root"
	}
	return name
}

// withoutTar is a machine where the shell finds no tar.
type withoutTar struct{ *Host }

func (w withoutTar) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	for i, arg := range cmd.Argv {
		cmd.Argv[i] = strings.ReplaceAll(arg, "command -v tar", "false")
	}
	return w.Host.Run(ctx, cmd)
}

func TestLockIsTakenByTurns(t *testing.T) {
	const name = "test-turns"
	// Two Hosts are what two processes are: they share nothing but the machine.
	first, second := rootful(t), rootful(t)
	unlock, err := first.Lock(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for who, h := range map[string]*Host{"same process": first, "other process": second} {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		_, err := h.Lock(ctx, name)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", who, err)
		}
		if who == "other process" && !strings.Contains(err.Error(), "pid ") {
			t.Errorf("does not name the holder: %v", err)
		}
	}
	if _, err := first.Run(t.Context(), host.Cmd{Argv: []string{"true"}, Lock: name}); err != nil {
		t.Errorf("under the lock: %v", err)
	}
	unlock()
	unlock()
	again, err := second.Lock(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer again()
	if _, err := first.Run(t.Context(), host.Cmd{Argv: []string{"true"}, Lock: name}); !errors.Is(err, host.ErrLockLost) {
		t.Errorf("without the lock: %v", err)
	}
}

func TestLockDiesWithItsHolderAndItsCommandsDoNotRun(t *testing.T) {
	const name = "test-dies"
	first, second := rootful(t), rootful(t)
	unlock, err := first.Lock(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("pgrep", "-f", "sh "+host.LockDir+" "+name).Output()
	if err != nil {
		t.Fatal(err)
	}
	for pid := range strings.FieldsSeq(string(out)) {
		exec.Command("kill", "-9", pid).Run()
	}
	again, err := second.Lock(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Run(t.Context(), host.Cmd{Argv: []string{"true"}, Lock: name}); !errors.Is(err, host.ErrLockLost) {
		t.Errorf("got %v", err)
	}
	unlock()
	again()
}

func TestReadGlobsReadsAFileThatTwoPatternsMatchWhole(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a.conf", "b.conf"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("content of "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(root, "b.conf"), filepath.Join(root, "c.conf")); err != nil {
		t.Fatal(err)
	}
	got, err := host.ReadGlobs(t.Context(), New(), []string{root + "/a.conf", root + "/*.conf"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.conf": "content of a.conf", "b.conf": "content of b.conf", "c.conf": "content of b.conf"} {
		if content := string(got[filepath.Join(root, name)].Content); content != want {
			t.Errorf("%s is read as %q", name, content)
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
}
