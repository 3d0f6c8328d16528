package transaction_test

import (
	"path/filepath"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/localhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// What was written on one machine is served by another one, which had another one before.
func TestWhatWasWrittenIsServedByAnotherMachine(t *testing.T) {
	old, engine := newToy(t)
	h := localhost.New()
	if w, err := engine.Written(t.Context(), h, old); err != nil || !w.IsEmpty() {
		t.Errorf("before the first commit %v was written, %v", w, err)
	}
	further := filepath.Dir(old.conf) + "/virtcluster/parts/one"
	edit := old.add("one")
	add := edit.Apply
	edit.Apply = func(tree transaction.Tree) error {
		tree.Put(further, []byte("part\n"), 0o600, "", "")
		return add(tree)
	}
	if err := engine.Commit(t.Context(), h, old, edit); err != nil {
		t.Fatal(err)
	}
	w, err := engine.Written(t.Context(), h, old)
	if err != nil || len(w.Files) != 2 || len(w.Removed) != 0 {
		t.Fatalf("%v was written, %v", w, err)
	}
	if f := w.Files[further]; string(f.Content) != "part\n" || f.Perm() != 0o600 {
		t.Errorf("%s was written as %v", further, f)
	}

	made, fresh := newToy(t)
	moved := transaction.Written{Files: transaction.Tree{}}
	f := w.Files[old.conf]
	f.Path = made.conf
	moved.Files[made.conf] = f
	if err := fresh.Commit(t.Context(), h, made, transaction.Edit{Owner: "what was written", Apply: moved.Apply}); err != nil {
		t.Fatal(err)
	}
	if got := made.serves(t); got != "by hand\none\n" {
		t.Errorf("it serves %q", got)
	}
}

func TestWhatWasRemovedIsRemovedAgain(t *testing.T) {
	t.Parallel()
	tree := transaction.Tree{"/a": {Path: "/a"}, "/b": {Path: "/b"}}
	w := transaction.Written{Removed: []string{"/a"}, Files: transaction.Tree{"/c": {Path: "/c"}}}
	if err := w.Apply(tree); err != nil || len(tree) != 2 || tree["/c"].Path != "/c" || tree["/b"].Path != "/b" {
		t.Errorf("%v, %v", tree, err)
	}
}
