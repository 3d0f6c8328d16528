package transaction_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/localhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// cutNotes takes what stands behind a # from each line.
func cutNotes(content []byte) []byte {
	var lines []string
	for line := range strings.SplitSeq(string(content), "\n") {
		line, _, _ = strings.Cut(line, " #")
		lines = append(lines, line)
	}
	return []byte(strings.Join(lines, "\n"))
}

// replace is an edit of notes that replaces a text.
func (d *toy) replace(from, to string) transaction.Edit {
	return transaction.Edit{Owner: "notes", Cut: cutNotes, Apply: func(t transaction.Tree) error {
		t.Put(d.conf, bytes.ReplaceAll(t[d.conf].Content, []byte(from), []byte(to)), 0o644, "", "")
		return nil
	}}
}

// Notes change on disk, and the daemon is neither asked about it nor told; where more than notes changes, it is.
func TestNotesChangeWithoutTheDaemon(t *testing.T) {
	d, e := newToy(t)
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("one #unfinished")); err != nil {
		t.Fatal(err)
	}
	checks, reloads := d.checks.Load(), d.reloads.Load()
	if err := e.Commit(t.Context(), localhost.New(), d, d.replace(" #unfinished", "")); err != nil {
		t.Fatal(err)
	}
	tree, err := e.Snapshot(t.Context(), localhost.New(), d)
	if err != nil || string(tree[d.conf].Content) != "by hand\none\n" || d.checks.Load() != checks || d.reloads.Load() != reloads {
		t.Errorf("%v: on disk is %q, after %d checks and %d reloads", err, tree[d.conf].Content, d.checks.Load()-checks, d.reloads.Load()-reloads)
	}
	if err := e.Commit(t.Context(), localhost.New(), d, d.replace("one", "two")); err != nil || d.checks.Load() == checks || d.reloads.Load() == reloads {
		t.Errorf("what is more than notes was not checked or loaded: %v", err)
	}
	if got := d.serves(t); got != "by hand\ntwo\n" {
		t.Errorf("it serves %q", got)
	}
}
