package hostnet

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestAMarkIsFinishedInEveryFile(t *testing.T) {
	dir := t.TempDir()
	const before = "# owner=mine workspace=0af creating=1f.2.3.1\nAddress=1\n# owner=mine creating=1f.2.3.1 metric=3\n# owner=theirs workspace=0af creating=1f.2.3.1\n"
	const after = "# owner=mine workspace=0af\nAddress=1\n# owner=mine metric=3\n# owner=theirs workspace=0af creating=1f.2.3.1\n"
	file, link, other := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "other")
	for path, text := range map[string]string{file: before, other: "# owner=theirs creating=1f.2.3.1\n"} {
		t.Run(path, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
				t.Fatal(err)
			}
		})
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	was, err := os.Stat(other)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", finishScript, "sh", "mine", link, other, filepath.Join(dir, "missing"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != after {
		t.Errorf("%v: it is\n%s", err, got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is none any more: %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file's mode is %v: %v", info.Mode(), err)
	}
	if now, err := os.Stat(other); err != nil || !os.SameFile(was, now) {
		t.Errorf("a file without the mark was written: %v", err)
	}
	if left, err := filepath.Glob(dir + "/*.*"); err != nil || len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}
