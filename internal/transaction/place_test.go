package transaction_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/localhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// drop takes a line out that add put in.
func (d *toy) drop(line string) transaction.Edit {
	return transaction.Edit{Removes: true, Apply: func(t transaction.Tree) error {
		t.Put(d.conf, []byte(strings.Replace(string(t[d.conf].Content), line+"\n", "", 1)), 0o644, "", "")
		return nil
	}}
}

// beside lists what is beside the configuration.
func (d *toy) beside(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(d.conf + "?*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestFileIsAsItWasByteForByteWhenItsLastPartIsGone(t *testing.T) {
	for name, original := range map[string]string{"no final newline": "by hand", "usual": "by hand\n", "empty": "", "two newlines": "by hand\n\n"} {
		t.Run(name, func(t *testing.T) {
			d, e := newToy(t)
			write(t, d.conf, original)
			add := transaction.Edit{Apply: func(tree transaction.Tree) error {
				text := string(tree[d.conf].Content)
				if text != "" && !strings.HasSuffix(text, "\n") {
					text += "\n"
				}
				tree.Put(d.conf, []byte(text+"new\n"), 0o644, "", "")
				return nil
			}}
			for _, edit := range []transaction.Edit{add, d.drop("new")} {
				if err := e.Commit(t.Context(), localhost.New(), d, edit); err != nil {
					t.Fatal(err)
				}
			}
			if got, _ := os.ReadFile(d.conf); string(got) != original {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestFileStaysOneWithItsOtherNames(t *testing.T) {
	d, e := newToy(t)
	other := filepath.Join(filepath.Dir(d.conf), "other")
	if err := os.Link(d.conf, other); err != nil {
		t.Fatal(err)
	}
	is := func(want string) {
		t.Helper()
		got, _ := os.ReadFile(other)
		info, err := os.Stat(d.conf)
		if err != nil || string(got) != want || info.Sys().(*syscall.Stat_t).Nlink != 2 || len(d.beside(t)) > 0 {
			t.Errorf("the other name has %q, %v, %v; beside it %v", got, info, err, d.beside(t))
		}
	}
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("new")); err != nil {
		t.Fatal(err)
	}
	is("by hand\nnew\n")
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("CRASH")); !errors.As(err, new(*transaction.RolledBackError)) {
		t.Errorf("%v", err)
	}
	is("by hand\nnew\n")
	if err := e.Commit(t.Context(), localhost.New(), d, d.drop("new")); err != nil {
		t.Fatal(err)
	}
	is("by hand\n")
}

func TestFileThatMayNotBeChangedIsRefusedWithTheWayOutAndNothingIsLeft(t *testing.T) {
	attribute := func(t *testing.T, flag, path string) {
		t.Helper()
		if out, err := exec.Command("chattr", flag, path).CombinedOutput(); err != nil {
			t.Fatalf("chattr %s: %s", flag, out)
		}
	}
	for _, first := range []bool{true, false} {
		t.Run(map[bool]string{true: "the first file", false: "one behind others"}[first], func(t *testing.T) {
			d, e := newToy(t)
			attribute(t, "+i", d.conf)
			t.Cleanup(func() { attribute(t, "-i", d.conf) })
			edit := d.add("new")
			if !first {
				edit.Apply = func(tree transaction.Tree) error {
					tree.Put(filepath.Dir(d.conf)+"/virtcluster/a/b", []byte("x"), 0o644, "", "") // new files come first
					return d.add("new").Apply(tree)
				}
			}
			err := e.Commit(t.Context(), localhost.New(), d, edit)
			if err == nil || !strings.Contains(err.Error(), "chattr -i") {
				t.Errorf("%v", err)
			}
			if got := d.serves(t); got != "by hand\n" {
				t.Errorf("serves %q", got)
			}
			left, _ := filepath.Glob(e.StateDir + "/*/*")
			left = slices.DeleteFunc(left, func(path string) bool { return !first && filepath.Base(path) == "original.json" })
			if _, made := os.Stat(filepath.Dir(d.conf) + "/virtcluster"); len(d.beside(t))+len(left) > 0 || made == nil {
				t.Errorf("left %v %v, the directory: %v", d.beside(t), left, made)
			}
		})
	}
}
