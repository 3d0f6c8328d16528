package localhost

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

func TestRewriteKeepsWhatTheFileIsAndWritesNothingOverAnEdit(t *testing.T) {
	h, dir := rootful(t), t.TempDir()
	path := filepath.Join(dir, "hosts")
	is := func(t *testing.T, want string) {
		t.Helper()
		got, err := os.ReadFile(path)
		left, _ := os.ReadDir(dir)
		if string(got) != want || len(left) > 1 {
			t.Errorf("got %q, %v; beside it %v", got, err, left)
		}
	}
	write := func(t *testing.T, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("new", func(t *testing.T) {
		if err := host.Rewrite(t.Context(), h, path, nil, []byte("one\n")); err != nil {
			t.Fatal(err)
		}
		is(t, "one\n")
	})
	t.Run("made meanwhile", func(t *testing.T) {
		if err := host.Rewrite(t.Context(), h, path, nil, []byte("two\n")); !errors.Is(err, host.ErrEdited) {
			t.Error(err)
		}
		is(t, "one\n")
	})
	t.Run("mode and owner stay", func(t *testing.T) {
		if err := errors.Join(os.Chmod(path, 0o640), os.Chown(path, 0, 1)); err != nil {
			t.Fatal(err)
		}
		if err := host.Rewrite(t.Context(), h, path, []byte("one\n"), []byte("two\n")); err != nil {
			t.Fatal(err)
		}
		is(t, "two\n")
		info, _ := os.Stat(path)
		if info.Mode().Perm() != 0o640 || info.Sys().(*syscall.Stat_t).Gid != 1 {
			t.Errorf("%v", info)
		}
	})
	t.Run("edited meanwhile", func(t *testing.T) {
		write(t, "by a person\n")
		for _, content := range [][]byte{[]byte("three\n"), nil} {
			if err := host.Rewrite(t.Context(), h, path, []byte("two\n"), content); !errors.Is(err, host.ErrEdited) {
				t.Error(err)
			}
		}
		is(t, "by a person\n")
	})
	t.Run("removed", func(t *testing.T) {
		if err := host.Rewrite(t.Context(), h, path, []byte("by a person\n"), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
		if err := host.Rewrite(t.Context(), h, path, []byte("by a person\n"), []byte("four\n")); !errors.Is(err, host.ErrEdited) {
			t.Error(err)
		}
	})
}

func TestWriteKeepsAFileOneWithItsOtherNames(t *testing.T) {
	h, dir := rootful(t), t.TempDir()
	path, other := filepath.Join(dir, "hosts"), filepath.Join(dir, "other")
	if err := errors.Join(os.WriteFile(path, []byte("old\n"), 0o644), os.Link(path, other)); err != nil {
		t.Fatal(err)
	}
	if err := h.Write(t.Context(), host.File{Path: path, Content: []byte("new\n"), Mode: 0o600, Group: "daemon"}); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(other)
	info, err := os.Stat(path)
	if err != nil || string(got) != "new\n" || info.Sys().(*syscall.Stat_t).Nlink != 2 || info.Mode().Perm() != 0o600 {
		t.Errorf("the other name has %q, %v, %v", got, info, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left over: %v", left)
	}
}

func TestWriteOfAFileThatMayNotBeChangedSaysSoAndLeavesNothing(t *testing.T) {
	h, dir := rootful(t), t.TempDir()
	path := filepath.Join(dir, "hosts")
	if err := os.WriteFile(path, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("chattr", "+i", path).CombinedOutput(); err != nil {
		t.Skipf("this file system has no attributes: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command("chattr", "-i", path).Run() })
	err := h.Write(t.Context(), host.File{Path: path, Content: []byte("new\n")})
	got, _ := os.ReadFile(path)
	left, _ := os.ReadDir(dir)
	if err == nil || !strings.Contains(err.Error(), "chattr -i") || string(got) != "old\n" || len(left) != 1 {
		t.Errorf("%v; it has %q, beside it %v", err, got, left)
	}
}

// cutAt loses every input from a byte on.
type cutAt struct {
	*Host
	n int
}

func (c cutAt) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	cmd.Stdin = cmd.Stdin[:min(c.n, len(cmd.Stdin))]
	return c.Host.Run(ctx, cmd)
}

// A connection breaks behind the command, or anywhere in its input: neither the file nor anything else changes.
func TestScriptBeginsOnlyWithAllOfItsInput(t *testing.T) {
	h, dir := rootful(t), t.TempDir()
	path, was, content := filepath.Join(dir, "hosts"), "127.0.0.1 localhost\n", "127.0.0.1 localhost\n10.0.0.1 a\n"
	for n := range len(content) {
		if err := os.WriteFile(path, []byte(was), 0o644); err != nil {
			t.Fatal(err)
		}
		err := host.Rewrite(t.Context(), cutAt{h, n}, path, []byte(was), []byte(content))
		if got, _ := os.ReadFile(path); err == nil || string(got) != was {
			t.Fatalf("%d bytes: %v, the file has %q", n, err, got)
		}
	}
	_, err := cutAt{h, 0}.Run(t.Context(), host.ScriptWithInput("touch", `touch "$1"`, []byte("input"), path+".begun"))
	if _, begun := os.Stat(path + ".begun"); err == nil || begun == nil {
		t.Errorf("it began: %v", err)
	}
	same := host.ScriptWithInput("cat", `cat; printf '%s|' "$@"`, []byte("input"), "a", "b")
	if out, err := h.Run(t.Context(), same); err != nil || string(out) != "inputa|b|" {
		t.Errorf("%q, %v", out, err)
	}
	same.Stdin = []byte("inpuT")
	if _, err := h.Run(t.Context(), same); err == nil {
		t.Error("another input of that length is taken")
	}
}
