package transaction_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/localhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// TestConfigurationThatIsALinkIsWrittenWhereItLeads runs swap.sh.
func TestConfigurationThatIsALinkIsWrittenWhereItLeads(t *testing.T) {
	for _, kind := range []string{"relative", "absolute", "of a link"} {
		t.Run(kind, func(t *testing.T) {
			d, e := newToy(t)
			target := filepath.Join(t.TempDir(), "kept in git.conf")
			if err := os.Rename(d.conf, target); err != nil {
				t.Fatal(err)
			}
			leads := target
			switch kind {
			case "relative":
				leads, _ = filepath.Rel(filepath.Dir(d.conf), target)
			case "of a link":
				leads = d.conf + ".2"
				if err := os.Symlink(target, leads); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(leads, d.conf); err != nil {
				t.Fatal(err)
			}
			check := func(when, want string) {
				t.Helper()
				if got, err := os.Readlink(d.conf); err != nil || got != leads {
					t.Errorf("%s: the link leads to %q, %v", when, got, err)
				}
				if text, err := os.ReadFile(target); err != nil || string(text) != want {
					t.Errorf("%s: it leads to %q, %v", when, text, err)
				}
				if left, _ := filepath.Glob(filepath.Dir(target) + "/*new*"); len(left) > 0 {
					t.Errorf("%s: left %v", when, left)
				}
			}
			if err := e.Commit(t.Context(), localhost.New(), d, d.add("one")); err != nil {
				t.Fatal(err)
			}
			check("changed", "by hand\none\n")
			if err := e.Commit(t.Context(), localhost.New(), d, d.add("CRASH")); err == nil {
				t.Fatal("no crash")
			}
			check("rolled back", "by hand\none\n")
			if _, _, err := e.GiveBack(t.Context(), localhost.New(), d); err != nil {
				t.Fatal(err)
			}
			check("given back", "by hand\n")
		})
	}
}

// TestCopiesThatAKilledSwapLeftGoWithTheNextCommit runs clear.sh: a swap that was killed before it kept its journal leaves its copies beside the
// files, and its stage.
func TestCopiesThatAKilledSwapLeftGoWithTheNextCommit(t *testing.T) {
	for name, end := range map[string]func(*toy, *transaction.Engine) error{
		"with a commit": func(d *toy, e *transaction.Engine) error {
			return e.Commit(t.Context(), localhost.New(), d, d.add("two"))
		},
		"with all": func(d *toy, e *transaction.Engine) error {
			_, _, err := e.GiveBack(t.Context(), localhost.New(), d)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, e := newToy(t)
			if err := e.Commit(t.Context(), localhost.New(), d, d.add("one")); err != nil {
				t.Fatal(err)
			}
			further := filepath.Join(filepath.Dir(d.conf), "further.conf")
			persons := filepath.Join(filepath.Dir(d.conf), "persons.virtcluster-new")
			dir, _ := filepath.Glob(e.StateDir + "/*")
			if len(dir) != 1 {
				t.Fatalf("the state is in %v", dir)
			}
			lost := filepath.Join(filepath.Dir(d.conf), "lost.conf")
			killed := filepath.Join(dir[0], "stage", "KILLED")
			for path, text := range map[string]string{
				filepath.Join(killed, further): "copied\n", filepath.Join(killed, lost): "copied\n", persons: "copied\n", further + ".virtcluster-new": "copied\n",
				further: "as it was\n", further + ".virtcluster-old": "as it was\n", lost: "half", lost + ".virtcluster-old": "as it was\n",
			} {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				write(t, path, text)
			}
			if err := end(d, e); err != nil {
				t.Fatal(err)
			}
			for _, copied := range []string{further + ".virtcluster-new", further + ".virtcluster-old"} {
				if _, err := os.Stat(copied); err == nil {
					t.Errorf("%s is there still", copied)
				}
			}
			for _, kept := range []string{persons, further, lost, lost + ".virtcluster-old"} {
				if _, err := os.Stat(kept); err != nil {
					t.Errorf("what nobody staged, or has no other copy, is gone: %v", err)
				}
			}
		})
	}
}

func TestFileThatCannotBeMadeChangesNothingAndLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		block func(file string) error
		says  string
	}{
		"link that leads nowhere": {func(file string) error { return os.Symlink("/nonexistent/directory/file", file) }, "is a symbolic link that leads nowhere"},
		"a file where its directory is": {func(file string) error {
			return errors.Join(os.Remove(filepath.Dir(file)), os.WriteFile(filepath.Dir(file), nil, 0o644))
		}, "cannot create directory"},
	} {
		t.Run(name, func(t *testing.T) {
			d, e := newToy(t)
			dir := filepath.Join(filepath.Dir(d.conf), "virtcluster")
			if err := os.MkdirAll(dir+"/a", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := c.block(dir + "/a/b"); err != nil {
				t.Fatal(err)
			}
			err := e.Commit(t.Context(), localhost.New(), d, transaction.Edit{Apply: func(tree transaction.Tree) error {
				for _, path := range []string{d.conf, dir + "/0/copied-first", dir + "/a/b"} {
					tree.Put(path, []byte("new\n"), 0o644, "", "")
				}
				return nil
			}})
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "nothing was changed") {
				t.Errorf("got %v", err)
			}
			if got := d.serves(t); got != "by hand\n" {
				t.Errorf("serves %q", got)
			}
			if _, err := os.Stat(dir + "/0"); !os.IsNotExist(err) {
				t.Errorf("a directory was made and is left: %v", err)
			}
		})
	}
}

// A daemon that runs as a user of its own reads what is in a directory that was made for it, also where root's files are root's alone.
func TestDirectoriesAreMadeForDaemonsToReadWhateverTheUmask(t *testing.T) {
	d, e := newToy(t)
	dir := filepath.Join(filepath.Dir(d.conf), "virtcluster/a")
	defer syscall.Umask(syscall.Umask(0o077))
	err := e.Commit(t.Context(), localhost.New(), d, transaction.Edit{Apply: func(tree transaction.Tree) error {
		tree.Put(dir+"/b", []byte("new\n"), 0o644, "", "")
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, made := range []string{dir, filepath.Dir(dir)} {
		if info, err := os.Stat(made); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s is %v, %v", made, info.Mode(), err)
		}
	}
}

func TestModesOwnersAccessListsAndAttributesAreAPartOfAsItWas(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	d, e := newToy(t)
	if err := os.Chown(d.conf, 1, 2); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(d.conf, 0o664); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setxattr(d.conf, "trusted.virtcluster-test", []byte("label"), 0); err != nil {
		t.Fatal(err)
	}
	list := ""
	if _, err := exec.LookPath("setfacl"); err == nil {
		list = "user:daemon:r--"
		if out, err := exec.Command("setfacl", "-m", "u:daemon:r", d.conf).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	check := func(when, mode string) {
		t.Helper()
		if out, err := exec.Command("stat", "-c", "%a %u %g", d.conf).CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != mode+" 1 2" {
			t.Errorf("%s: %s%v", when, out, err)
		}
		value := make([]byte, 32)
		if n, err := syscall.Getxattr(d.conf, "trusted.virtcluster-test", value); err != nil || string(value[:n]) != "label" {
			t.Errorf("%s: attribute %q, %v", when, value[:max(n, 0)], err)
		}
		if list != "" {
			if out, err := exec.Command("getfacl", "-p", d.conf).CombinedOutput(); err != nil || !bytes.Contains(out, []byte(list)) {
				t.Errorf("%s: no %s in %s%v", when, list, out, err)
			}
		}
	}
	// As for a password: what it is put into is taken from the eyes of others.
	secret := transaction.Edit{Apply: func(tree transaction.Tree) error {
		f := tree[d.conf]
		f.Content, f.Mode = []byte("by hand\npassword\n"), 0o660
		tree[d.conf] = f
		return nil
	}}
	if err := e.Commit(t.Context(), localhost.New(), d, secret); err != nil {
		t.Fatal(err)
	}
	check("changed", "660")
	without := transaction.Edit{Apply: func(tree transaction.Tree) error {
		tree.Put(d.conf, []byte("by hand\n"), 0o600, "", "")
		return nil
	}}
	if err := e.Commit(t.Context(), localhost.New(), d, without); err != nil {
		t.Fatal(err)
	}
	check("changed back", "664")
	if err := e.Commit(t.Context(), localhost.New(), d, secret); err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.GiveBack(t.Context(), localhost.New(), d); err != nil {
		t.Fatal(err)
	}
	check("given back", "664")
}
