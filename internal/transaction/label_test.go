package transaction_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/localhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// TestLabelsAreAPartOfAsItWas runs the real script with stand-ins for the commands of SELinux: a file that is replaced keeps its
// label, the one that it leads to where it is a link, and a new file gets what the policy says.
func TestLabelsAreAPartOfAsItWas(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	d, e := newToy(t)
	labels := hosttest.SELinux(t)
	dir := filepath.Dir(d.conf)
	target := filepath.Join(dir, "target")
	if err := os.Rename(d.conf, target); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, d.conf); err != nil {
		t.Fatal(err)
	}
	added := filepath.Join(dir, "virtcluster/a/new")
	labels.Set(t, target, "by_a_person_t")
	is := func(when, path, want string) {
		t.Helper()
		if got := labels.Of(t, path); got != want {
			t.Errorf("%s: %s has the label %q, want %q", when, path, got, want)
		}
	}
	put := func(when string, content string) {
		t.Helper()
		if err := e.Commit(t.Context(), localhost.New(), d, transaction.Edit{Apply: func(tree transaction.Tree) error {
			tree.Put(d.conf, []byte(content), 0o644, "", "")
			tree.Put(added, []byte(content), 0o644, "", "")
			return nil
		}}); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
	}
	put("changed", "one\n")
	is("changed", target, "by_a_person_t")
	is("new", added, hosttest.DefaultLabel)
	labels.Set(t, added, "by_another_t")
	put("changed again", "two\n")
	is("changed again", target, "by_a_person_t")
	is("changed again", added, "by_another_t")
	if _, _, err := e.GiveBack(t.Context(), localhost.New(), d); err != nil {
		t.Fatal(err)
	}
	is("given back", target, "by_a_person_t")
}
