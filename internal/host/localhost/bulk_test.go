package localhost

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// TestBulkReadAndWriteAreInverseWithAndWithoutTar runs globs.sh and write_tree.sh, each in both of its ways.
func TestBulkReadAndWriteAreInverseWithAndWithoutTar(t *testing.T) {
	h := rootful(t)
	files := []host.File{
		{Path: "/etc/app/a.conf", Content: []byte("a\n"), Mode: 0o644},
		{Path: "/etc/app/with space 'n quote.conf", Content: []byte{0, 255, '\n', '\n'}, Mode: 0o600, Owner: "daemon", Group: "bin"},
		{Path: "/etc/app/" + strings.Repeat("long", 40) + ".conf", Content: bytes.Repeat([]byte("x"), 70_000), Mode: 0o640, Owner: "root", Group: "daemon"},
		{Path: "/etc/app/of an account that has no name.conf", Content: []byte("b\n"), Mode: 0o640, Owner: "54321", Group: "54322"},
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

func TestReadGlobsReadsAFileThatTwoPatternsMatchWhole(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a.conf", "b.conf"} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(root, name), []byte("content of "+name), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
	if err := os.Link(filepath.Join(root, "b.conf"), filepath.Join(root, "c.conf")); err != nil {
		t.Fatal(err)
	}
	got, err := host.ReadGlobs(t.Context(), New(), []string{root + "/a.conf", root + "/*.conf"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.conf": "content of a.conf", "b.conf": "content of b.conf", "c.conf": "content of b.conf"} {
		t.Run(name, func(t *testing.T) {
			if content := string(got[filepath.Join(root, name)].Content); content != want {
				t.Errorf("%s is read as %q", name, content)
			}
		})
	}
}
