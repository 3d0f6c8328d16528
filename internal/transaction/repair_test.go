package transaction_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/localhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// killInReload has another process commit "new", and kills it while the daemon reloads.
func killInReload(t *testing.T, d *toy) {
	t.Helper()
	client := exec.Command(os.Args[0], "-test.run=^TestKilledClient$")
	client.Env = append(os.Environ(), "TRANSACTION_KILL_DIR="+filepath.Dir(d.conf), "TRANSACTION_KILL_AFTER=0", "TRANSACTION_KILL_IN_RELOAD=1")
	if out, err := client.CombinedOutput(); err == nil {
		t.Fatalf("it was not killed: %s", out)
	}
}

func journals(e *transaction.Engine) []string {
	left, _ := filepath.Glob(e.StateDir + "/*/journal.json")
	return left
}

func TestWhatAPersonAddsAfterAKillDuringTheReloadStays(t *testing.T) {
	d, e := newToy(t)
	killInReload(t, d)
	if len(journals(e)) != 1 {
		t.Fatal("no journal")
	}
	write(t, d.conf, "by hand\nnew\nadded by a person\n")
	tree, err := e.Snapshot(t.Context(), localhost.New(), d)
	if err != nil || string(tree[d.conf].Content) != "by hand\nnew\nadded by a person\n" {
		t.Errorf("reads %q, %v", tree[d.conf].Content, err)
	}
	var said []string
	edit := d.add("another")
	edit.Warn = func(text string) { said = append(said, text) }
	if err := e.Commit(t.Context(), localhost.New(), d, edit); err != nil {
		t.Fatal(err)
	}
	if got := d.serves(t); got != "by hand\nnew\nadded by a person\nanother\n" {
		t.Errorf("serves %q", got)
	}
	if len(said) != 1 || !strings.Contains(said[0], d.conf) || !strings.Contains(said[0], "interrupted.json") {
		t.Errorf("said %q", said)
	}
	if kept, _ := filepath.Glob(e.StateDir + "/*/interrupted.json"); len(kept) != 1 {
		t.Errorf("what the interrupted change replaced is not kept: %v", kept)
	}
	if left := journals(e); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestWhatAKilledRunLeftAloneIsUndone(t *testing.T) {
	d, e := newToy(t)
	killInReload(t, d)
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("another")); err != nil {
		t.Fatal(err)
	}
	if got := d.serves(t); got != "by hand\nanother\n" {
		t.Errorf("serves %q", got)
	}
}

// TestWhatAKilledRunLeftIsUndoneByARead has nobody change the daemon any more: what the killed run took away would not be served again.
func TestWhatAKilledRunLeftIsUndoneByARead(t *testing.T) {
	d, e := newToy(t)
	killInReload(t, d)
	tree, err := e.Snapshot(t.Context(), localhost.New(), d)
	if err != nil || string(tree[d.conf].Content) != "by hand\n" {
		t.Errorf("reads %q, %v", tree[d.conf].Content, err)
	}
	if got := d.serves(t); got != "by hand\n" {
		t.Errorf("serves %q", got)
	}
	if left := journals(e); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestAFileThatWasBeingWrittenInPlaceIsNobodysEdit runs finish.sh, by a commit after the machine lost its power while a file with another name was
// written in place: a part of it is there.
func TestAFileThatWasBeingWrittenInPlaceIsNobodysEdit(t *testing.T) {
	for name, c := range map[string]struct {
		there, want string
		warnings    int
	}{
		"a part of it":              {"by hand\nn", "by hand\nanother\n", 0},
		"nothing of it":             {"", "by hand\nanother\n", 0},
		"what a person made of it":  {"by hand\nnever\n", "by hand\nnever\nanother\n", 1},
		"what a person wrote there": {"mine\n", "mine\nanother\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			d, e := newToy(t)
			killInReload(t, d)
			write(t, d.conf+".virtcluster-old", "by hand\n")
			write(t, d.conf+".virtcluster-new", "by hand\nnew\n")
			write(t, d.conf, c.there)
			var said []string
			edit := d.add("another")
			edit.Warn = func(text string) { said = append(said, text) }
			if err := e.Commit(t.Context(), localhost.New(), d, edit); err != nil {
				t.Fatal(err)
			}
			if got := d.serves(t); got != c.want || len(said) != c.warnings {
				t.Errorf("serves %q, and said %q", got, said)
			}
			if left := d.beside(t); c.warnings == 0 && len(left) > 0 {
				t.Errorf("beside it is left %q", left)
			}
		})
	}
}

// TestAReadDoesNotWaitForACommitThatIsUnderWay has another process hold the machine's lock, with its journal there.
func TestAReadDoesNotWaitForACommitThatIsUnderWay(t *testing.T) {
	d, e := newToy(t)
	killInReload(t, d)
	unlock, err := localhost.New().Lock(t.Context(), d.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	began := time.Now()
	tree, err := e.Snapshot(t.Context(), localhost.New(), d)
	if err != nil || string(tree[d.conf].Content) != "by hand\n" || time.Since(began) > time.Minute {
		t.Errorf("reads %q after %s, %v", tree[d.conf].Content, time.Since(began), err)
	}
	if interrupted, err := e.Interrupted(t.Context(), localhost.New(), d); err != nil || !interrupted || len(journals(e)) != 1 {
		t.Errorf("it is ended: %t, %v, %v", !interrupted, journals(e), err)
	}
}

func TestRepairAfterAFailedRollBackIsKeptAndTheMessageNamesTheJournal(t *testing.T) {
	d, e := newToy(t)
	d.onActivate = func() error {
		return errors.Join(os.WriteFile(d.served, []byte("nothing"), 0o644), errors.New("out of order"))
	}
	err := e.Commit(t.Context(), localhost.New(), d, d.add("new"))
	if left := journals(e); len(left) != 1 || err == nil || !strings.Contains(err.Error(), left[0]) {
		t.Fatalf("journals %v, %v", left, err)
	}
	for range 2 { // while it is out of order, nothing is written
		write(t, d.conf, "repaired\n")
		err := e.Commit(t.Context(), localhost.New(), d, d.add("new"))
		if left := journals(e); len(left) != 1 || err == nil || !strings.Contains(err.Error(), filepath.Join(filepath.Dir(left[0]), "interrupted.json")) || !strings.Contains(err.Error(), "out of order") {
			t.Errorf("journals %v, %v", left, err)
		}
		if text, _ := os.ReadFile(d.conf); string(text) != "repaired\n" {
			t.Errorf("the repair became %q", text)
		}
	}
	d.onActivate = nil
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("new")); err != nil {
		t.Fatal(err)
	}
	if got := d.serves(t); got != "repaired\nnew\n" {
		t.Errorf("serves %q", got)
	}
}

// TestWhatAnInterruptedChangeReplacedOutlivesARemoval takes something out while the daemon is out of order, after a change was interrupted and its
// file edited by hand.
func TestWhatAnInterruptedChangeReplacedOutlivesARemoval(t *testing.T) {
	d, e := newToy(t)
	killInReload(t, d)
	write(t, d.conf, "repaired\nnew\n")
	d.onActivate = func() error { return errors.New("out of order") }
	if err := e.Commit(t.Context(), localhost.New(), d, d.drop("new")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(d.conf); err != nil || string(text) != "repaired\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
	kept, err := os.ReadFile(filepath.Join(e.StateDir, d.Name(), "interrupted.json"))
	if before := base64.StdEncoding.EncodeToString([]byte("by hand\n")); err != nil || !strings.Contains(string(kept), before) {
		t.Errorf("what the interrupted change replaced is kept as %s, %v", kept, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRemovalThatAloneBreaksTheReloadIsRolledBack(t *testing.T) {
	d, e := newToy(t)
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("new")); err != nil {
		t.Fatal(err)
	}
	crash := transaction.Edit{Removes: true, Apply: func(tree transaction.Tree) error {
		tree.Put(d.conf, []byte("CRASH\n"), 0o644, "", "")
		return nil
	}}
	var rolled *transaction.RolledBackError
	if err := e.Commit(t.Context(), localhost.New(), d, crash); !errors.As(err, &rolled) || rolled.Unfit != nil || rolled.Restore != nil {
		t.Errorf("got %v", err)
	}
	if got := d.serves(t); got != "by hand\nnew\n" {
		t.Errorf("serves %q", got)
	}
}

func TestDaemonThatDoesNotStartKeepsItsFilesAndCanBeChangedOnceItDoes(t *testing.T) {
	d, e := newToy(t)
	stop(t, d)
	d.onActivate = func() error { return errors.New("does not start") }
	err := e.Commit(t.Context(), localhost.New(), d, d.add("new"))
	var rolled *transaction.RolledBackError
	if !errors.As(err, &rolled) || rolled.Restore != nil || !rolled.Stopped {
		t.Errorf("got %v", err)
	}
	if text, _ := os.ReadFile(d.conf); string(text) != "by hand\n" || len(journals(e)) > 0 {
		t.Errorf("the file has %q, journals %v", text, journals(e))
	}
	d.onActivate = nil
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("mended")); err != nil {
		t.Fatal(err)
	}
	if got := d.serves(t); got != "by hand\nmended\n" {
		t.Errorf("serves %q", got)
	}
}

func TestGiveBackOfADaemonThatCannotBeToldRestoresItsFilesAndSaysSo(t *testing.T) {
	for _, spoil := range []string{"no reload", "no start", "refused as it was"} {
		t.Run(spoil, func(t *testing.T) {
			d, e := newToy(t)
			original := "by hand\n"
			if spoil == "refused as it was" {
				original = "BAD\n"
				write(t, d.conf, original)
				mend := transaction.Edit{Apply: func(tree transaction.Tree) error { tree.Put(d.conf, []byte("mended\n"), 0o644, "", ""); return nil }}
				if err := e.Commit(t.Context(), localhost.New(), d, mend); err != nil {
					t.Fatal(err)
				}
			}
			if err := e.Commit(t.Context(), localhost.New(), d, d.add("new")); err != nil {
				t.Fatal(err)
			}
			switch spoil {
			case "no start":
				stop(t, d)
				fallthrough
			case "no reload":
				d.onActivate = func() error { return errors.New("no key") }
			}
			warnings, _, err := e.GiveBack(t.Context(), localhost.New(), d)
			if err != nil || len(warnings) != 1 && spoil != "no start" || len(warnings) == 1 && !strings.Contains(warnings[0], "files of "+d.Name()) {
				t.Errorf("%q, %v", warnings, err)
			}
			if text, _ := os.ReadFile(d.conf); string(text) != original {
				t.Errorf("the file has %q", text)
			}
			if _, err := os.Stat(filepath.Join(e.StateDir, d.Name())); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("state is left: %v", err)
			}
		})
	}
}

// ordered is a machine that notes when its lock is given back, and which commands run without it.
type ordered struct {
	host.Host
	dir      string
	unlocked bool
	late     []string
}

func (o *ordered) Lock(ctx context.Context, name string) (func(), error) {
	unlock, err := o.Host.Lock(ctx, name)
	return func() { o.unlocked = true; unlock() }, err
}

func (o *ordered) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	if strings.HasPrefix(cmd.String(), "rm -rf -- "+o.dir) && o.unlocked {
		o.late = append(o.late, cmd.String())
	}
	return o.Host.Run(ctx, cmd)
}

func TestGiveBackRemovesItsStateWhileItHoldsTheLock(t *testing.T) {
	d, e := newToy(t)
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("new")); err != nil {
		t.Fatal(err)
	}
	h := &ordered{Host: localhost.New(), dir: filepath.Join(e.StateDir, d.Name())}
	e = &transaction.Engine{StateDir: e.StateDir} // a line keeps the machine that it met first
	if _, _, err := e.GiveBack(t.Context(), h, d); err != nil {
		t.Fatal(err)
	}
	if !h.unlocked || len(h.late) > 0 {
		t.Errorf("unlocked %t, after that %q", h.unlocked, h.late)
	}
}

func TestWhatAPersonWritesDuringTheCheckStays(t *testing.T) {
	d, e := newToy(t)
	d.onCheck = func() {
		d.onCheck = nil
		write(t, d.conf, "by hand\nadded by a person\n")
	}
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("new")); err != nil {
		t.Fatal(err)
	}
	if got := d.serves(t); got != "by hand\nadded by a person\nnew\n" {
		t.Errorf("serves %q", got)
	}
	// Who edits for ever is not waited for, and loses nothing.
	n := 0
	text := ""
	d.onCheck = func() {
		n++
		text = fmt.Sprintf("by hand\n%d\n", n)
		write(t, d.conf, text)
	}
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("another")); err == nil || !strings.Contains(err.Error(), "edited by somebody else meanwhile") {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(d.conf); string(got) != text {
		t.Errorf("the file has %q, not %q", got, text)
	}
}

func TestWhatAPersonWritesBeforeTheRollBackStays(t *testing.T) {
	d, e := newToy(t)
	var said []string
	edit := d.add("new")
	edit.Warn = func(text string) { said = append(said, text) }
	d.onActivate = func() error {
		d.onActivate = nil
		write(t, d.conf, "by hand\nnew\nadded by a person\n")
		return errors.New("out of order")
	}
	var rolled *transaction.RolledBackError
	if err := e.Commit(t.Context(), localhost.New(), d, edit); !errors.As(err, &rolled) || rolled.Restore != nil {
		t.Errorf("got %v", err)
	}
	if got := d.serves(t); got != "by hand\nnew\nadded by a person\n" {
		t.Errorf("serves %q", got)
	}
	if len(said) != 1 || !strings.Contains(said[0], "interrupted.json") {
		t.Errorf("said %q", said)
	}
	if left := journals(e); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}
