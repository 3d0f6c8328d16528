package transaction_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/localhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// toy is a daemon made of files: its configuration is conf, and what it serves is the copy that Activate
// makes. It refuses BAD in the check and CRASH when it activates; TWIN is refused unless TWO is there.
type toy struct {
	conf, served, pid string
	checks, reloads   atomic.Int32
	// onActivate interferes with an activation.
	onActivate func() error
}

func newToy(t *testing.T) (*toy, *transaction.Engine) {
	t.Helper()
	dir := t.TempDir()
	d := &toy{conf: filepath.Join(dir, "toy.conf"), served: filepath.Join(dir, "served"), pid: filepath.Join(dir, "pid")}
	for path, text := range map[string]string{d.conf: "by hand\n", d.served: "by hand\n", d.pid: "1"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return d, &transaction.Engine{StateDir: filepath.Join(dir, "state")}
}

func (d *toy) Name() string    { return "toy-" + filepath.Base(filepath.Dir(d.conf)) }
func (d *toy) Globs() []string { return []string{d.conf, filepath.Dir(d.conf) + "/virtcluster/*/*"} }

func (d *toy) Check(ctx context.Context, h host.Host, stage string, _ transaction.Tree) error {
	d.checks.Add(1)
	script := `if grep BAD "$1" >&2; then exit 1; fi; if grep -q TWIN "$1" && ! grep -q TWO "$1"; then echo lonely twin >&2; exit 1; fi`
	_, err := h.Run(ctx, host.Cmd{Argv: []string{"sh", "-c", script, "sh", stage + d.conf}})
	return err
}

func (d *toy) Activate(ctx context.Context, h host.Host, _, next transaction.Tree) error {
	d.reloads.Add(1)
	if d.onActivate != nil {
		if err := d.onActivate(); err != nil {
			return err
		}
	}
	if strings.Contains(string(next[d.conf].Content), "CRASH") {
		return errors.New("segmentation fault")
	}
	_, err := h.Run(ctx, host.Cmd{Argv: []string{"sh", "-c", `cp "$1" "$2"; echo 1 >"$3"`, "sh", d.conf, d.served, d.pid}})
	return err
}

func (d *toy) Verify(ctx context.Context, h host.Host, next transaction.Tree) error {
	if up, err := d.Running(ctx, h); err != nil || !up {
		return errors.Join(errors.New("does not run"), err)
	}
	got, err := h.Read(ctx, d.served)
	if err == nil && string(got) != string(next[d.conf].Content) {
		err = fmt.Errorf("serves %q", got)
	}
	return err
}

func (d *toy) Running(ctx context.Context, h host.Host) (bool, error) {
	_, err := h.Read(ctx, d.pid)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (d *toy) add(line string) transaction.Edit {
	return transaction.Edit{Owner: line, Apply: func(t transaction.Tree) error {
		if strings.Contains(line, "UNFIT") {
			return errors.New("unfit edit")
		}
		if text := string(t[d.conf].Content); !strings.Contains(text, line+"\n") {
			t.Put(d.conf, []byte(text+line+"\n"), 0o644, "", "")
		}
		return nil
	}}
}

func (d *toy) serves(t *testing.T) string {
	t.Helper()
	served, err := os.ReadFile(d.served)
	if err != nil {
		t.Fatal(err)
	}
	onDisk, err := os.ReadFile(d.conf)
	if err != nil {
		t.Fatal(err)
	}
	if string(served) != string(onDisk) {
		t.Errorf("serves %q, on disk is %q", served, onDisk)
	}
	return string(served)
}

func TestCommitServesTheEdit(t *testing.T) {
	d, e := newToy(t)
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("one")); err != nil {
		t.Fatal(err)
	}
	if got := d.serves(t); got != "by hand\none\n" {
		t.Errorf("serves %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(e.StateDir, d.Name(), "*")); len(left) != 1 || filepath.Base(left[0]) != "original.json" {
		t.Errorf("left beside the configuration: %v", left)
	}
}

func TestCheckerRefusesThenTheOldConfigurationServes(t *testing.T) {
	d, e := newToy(t)
	err := e.Commit(t.Context(), localhost.New(), d, d.add("BAD word"))
	var refused *transaction.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "BAD word") {
		t.Errorf("the error must carry the checker's words: %v", err)
	}
	if got := d.serves(t); got != "by hand\n" || d.reloads.Load() != 0 {
		t.Errorf("serves %q after %d reloads", got, d.reloads.Load())
	}
}

func TestReloadFailsThenTheOldConfigurationServesAgain(t *testing.T) {
	d, e := newToy(t)
	err := e.Commit(t.Context(), localhost.New(), d, d.add("CRASH"))
	var rolled *transaction.RolledBackError
	if !errors.As(err, &rolled) || rolled.Restore != nil || !strings.Contains(err.Error(), "segmentation fault") {
		t.Errorf("want a rolled back change with the daemon's words, got %v", err)
	}
	if got := d.serves(t); got != "by hand\n" {
		t.Errorf("serves %q", got)
	}
}

func TestManyEditsCostFewReloadsAndOneBadOneFailsAlone(t *testing.T) {
	for _, bad := range []string{"BAD", "CRASH", "UNFIT"} {
		t.Run(bad, func(t *testing.T) {
			d, e := newToy(t)
			errs := commitAll(t, e, d, 100, func(i int) string {
				if i == 37 {
					return bad
				}
				return fmt.Sprintf("line %d.", i)
			})
			for i, err := range errs {
				if (err != nil) != (i == 37) {
					t.Errorf("edit %d: %v", i, err)
				}
			}
			if got := strings.Count(d.serves(t), "line "); got != 99 {
				t.Errorf("%d of 99 good edits serve", got)
			}
			// A crash is only seen by reloading, so its isolation costs reloads; a refusal costs none.
			if bad != "CRASH" && d.reloads.Load() > 3 {
				t.Errorf("%d reloads", d.reloads.Load())
			}
		})
	}
}

func TestEditThatLeansOnAnotherOneOfTheGroupIsNotBlamed(t *testing.T) {
	d, e := newToy(t)
	lines := []string{"TWIN", "BAD", "x", "TWO"}
	errs := commitAll(t, e, d, len(lines), func(i int) string { return lines[i] })
	for i, err := range errs {
		if (err != nil) != (lines[i] == "BAD") {
			t.Errorf("edit %s: %v", lines[i], err)
		}
	}
}

func commitAll(t *testing.T, e *transaction.Engine, d *toy, n int, line func(int) string) []error {
	t.Helper()
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { errs[i] = e.Commit(t.Context(), localhost.New(), d, d.add(line(i))) })
	}
	group.Wait()
	return errs
}

func TestStoppedDaemonHasItsConfigurationAndIsStartedByAChange(t *testing.T) {
	d, e := newToy(t)
	stop(t, d)
	tree, err := e.Snapshot(t.Context(), localhost.New(), d)
	if err != nil || len(tree) != 1 {
		t.Fatalf("snapshot %v, %v", tree, err)
	}
	if running, err := e.Running(t.Context(), localhost.New(), d); err != nil || running {
		t.Fatalf("running %t, %v", running, err)
	}
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("by hand")); err != nil {
		t.Fatal(err)
	}
	if running, err := e.Running(t.Context(), localhost.New(), d); err != nil || !running {
		t.Errorf("after a commit that changes no byte the daemon must run: %t, %v", running, err)
	}
}

// stop stops the daemon.
func stop(t *testing.T, d *toy) {
	t.Helper()
	if err := os.Remove(d.pid); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsTakenOutOfAStoppedDaemonIsGoneFromItsFilesAndDoesNotStartIt(t *testing.T) {
	d, e := newToy(t)
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("vip")); err != nil {
		t.Fatal(err)
	}
	stop(t, d)
	drop := transaction.Edit{Removes: true, Apply: func(tree transaction.Tree) error {
		tree.Put(d.conf, []byte("by hand\n"), 0o644, "", "")
		return nil
	}}
	if err := (&transaction.Engine{StateDir: e.StateDir}).Commit(t.Context(), localhost.New(), d, drop); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(d.conf); err != nil || string(text) != "by hand\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if running, err := d.Running(t.Context(), localhost.New()); err != nil || running || d.reloads.Load() != 1 {
		t.Errorf("running %t, %v after %d activations", running, err, d.reloads.Load())
	}
}

func TestCutBetweenSwapAndReloadThenTheNextCommitConverges(t *testing.T) {
	d, e := newToy(t)
	d.onActivate = func() error { // on the way back as well
		return errors.Join(os.WriteFile(d.served, []byte("half a configuration"), 0o644), errors.New("connection lost"))
	}
	err := e.Commit(t.Context(), localhost.New(), d, d.add("new"))
	var rolled *transaction.RolledBackError
	if !errors.As(err, &rolled) || rolled.Restore == nil {
		t.Fatalf("want a failed restore, got %v", err)
	}
	d.onActivate = nil
	tree, err := e.Snapshot(t.Context(), localhost.New(), d)
	if err != nil || string(tree[d.conf].Content) != "by hand\n" {
		t.Errorf("what is not loaded counts as absent: %q, %v", tree[d.conf].Content, err)
	}
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("new")); err != nil {
		t.Fatal(err)
	}
	if got := d.serves(t); got != "by hand\nnew\n" {
		t.Errorf("serves %q", got)
	}
}

func TestGiveBackRestoresTheOriginal(t *testing.T) {
	d, e := newToy(t)
	for _, line := range []string{"one", "two"} {
		if err := e.Commit(t.Context(), localhost.New(), d, d.add(line)); err != nil {
			t.Fatal(err)
		}
	}
	if warnings, err := e.GiveBack(t.Context(), localhost.New(), d); err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	if got := d.serves(t); got != "by hand\n" {
		t.Errorf("serves %q", got)
	}
	if _, err := os.Stat(filepath.Join(e.StateDir, d.Name())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("state is left: %v", err)
	}
}

func TestSecretsDoNotReachErrors(t *testing.T) {
	d, e := newToy(t)
	edit := d.add("BAD hunter2")
	edit.Secrets = []string{"hunter2"}
	err := e.Commit(t.Context(), localhost.New(), d, edit)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestCancelledCommitLeavesTheLine(t *testing.T) {
	d, e := newToy(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Commit(ctx, localhost.New(), d, d.add("never")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := d.serves(t); got != "by hand\n" {
		t.Errorf("serves %q", got)
	}
}

func TestEditsThatArriveWhileAnotherRunHoldsTheLockGoTogether(t *testing.T) {
	d, e := newToy(t)
	unlock, err := localhost.New().Lock(t.Context(), d.Name())
	if err != nil {
		t.Fatal(err)
	}
	h := localhost.New()
	impatient, giveUp := context.WithCancel(t.Context())
	errs := make(chan error, 3)
	commit := func(ctx context.Context, line string) { errs <- e.Commit(ctx, h, d, d.add(line)) }
	go commit(impatient, "first")
	time.Sleep(400 * time.Millisecond) // longer than edits are waited for
	giveUp()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up got %v", err)
	}
	go commit(t.Context(), "second")
	time.Sleep(400 * time.Millisecond)
	go commit(t.Context(), "third")
	time.Sleep(100 * time.Millisecond)
	unlock()
	if err := errors.Join(<-errs, <-errs); err != nil {
		t.Fatal(err)
	}
	if got := d.serves(t); got != "by hand\nsecond\nthird\n" || d.reloads.Load() != 1 {
		t.Errorf("serves %q after %d reloads", got, d.reloads.Load())
	}
}

func TestDirectoriesOfTheProvidersOwnGoWithTheirLastFile(t *testing.T) {
	d, e := newToy(t)
	own := filepath.Join(filepath.Dir(d.conf), "virtcluster")
	for _, add := range []bool{true, false} {
		err := e.Commit(t.Context(), localhost.New(), d, transaction.Edit{Apply: func(tree transaction.Tree) error {
			for _, name := range []string{"/zones/a", "/zones/b"} {
				if delete(tree, own+name); add {
					tree.Put(own+name, []byte("zone"), 0o640, "", "")
				}
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(own); (err == nil) != add {
			t.Errorf("files there: %v, directory: %v", add, err)
		}
	}
	if _, err := os.Stat(d.conf); err != nil {
		t.Error(err)
	}
}

func TestFileThatCannotBeWrittenChangesNothing(t *testing.T) {
	d, e := newToy(t)
	err := e.Commit(t.Context(), localhost.New(), d, transaction.Edit{Apply: func(tree transaction.Tree) error {
		tree.Put(d.conf, []byte("new\n"), 0o644, "", "")
		tree.Put(d.pid+"/is/no/directory", []byte("x"), 0o644, "", "")
		return nil
	}})
	var rolled *transaction.RolledBackError
	if err == nil || errors.As(err, &rolled) || d.reloads.Load() != 0 {
		t.Errorf("want an error without a reload, got %v after %d", err, d.reloads.Load())
	}
	if got := d.serves(t); got != "by hand\n" {
		t.Errorf("serves %q", got)
	}
	left, _ := filepath.Glob(filepath.Dir(d.conf) + "/*new*")
	if journal, _ := filepath.Glob(e.StateDir + "/*/journal*"); len(left)+len(journal) > 0 {
		t.Errorf("left %v %v", left, journal)
	}
}
