package transaction_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/localhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

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

// A machine that is made in the place of another one has its address, and another host key.
func TestTwoMachinesOfOneNameAreTwo(t *testing.T) {
	var e transaction.Engine
	d := &toy{conf: "/etc/toy.conf", pid: "/run/toy.pid"}
	for _, content := range []string{"of the old one", "of the one that was made"} {
		t.Run(content, func(t *testing.T) {
			h := hosttest.New(host.File{Path: d.conf, Content: []byte(content)})
			if tree, err := e.Snapshot(t.Context(), h, d); err != nil || string(tree[d.conf].Content) != content {
				t.Errorf("read %q, %v", tree[d.conf].Content, err)
			}
		})
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
	if left, _ := filepath.Glob(filepath.Join(e.StateDir, "*")); len(left) > 0 {
		t.Errorf("of a commit that was the first one, and refused, is left: %v", left)
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
	h, errs := localhost.New(), make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { errs[i] = e.Commit(t.Context(), h, d, d.add(line(i))) })
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

// exclusive is a toy that nobody else configures.
type exclusive struct{ *toy }

func (exclusive) Exclusive() {}

func TestWhatIsTakenOutOfAnExclusiveDaemonIsToldToItWhereThatChangesAnything(t *testing.T) {
	toy, e := newToy(t)
	d := exclusive{toy}
	stop(t, toy)
	for _, want := range []int32{0, 1} { // there is nothing to take out at first
		if want > 0 {
			write(t, toy.conf, "by hand\nvip\n")
		}
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			if err := (&transaction.Engine{StateDir: e.StateDir}).Commit(t.Context(), localhost.New(), d, toy.drop("vip")); err != nil || toy.reloads.Load() != want {
				t.Errorf("%v: %d activations", err, toy.reloads.Load())
			}
		})
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

// strippedToy takes its own lines out, and leaves a person's.
type strippedToy struct{ *toy }

func (d strippedToy) Strip(t transaction.Tree) error {
	f := t[d.conf]
	t.Put(d.conf, bytes.ReplaceAll(f.Content, []byte("one\n"), nil), f.Mode, f.Owner, f.Group)
	return nil
}

func TestGiveBackTellsWhatOthersWroteSince(t *testing.T) {
	for name, c := range map[string]struct{ since, want string }{"nothing": {"", ""}, "a line": {"since\n", "by hand\nsince\n"}} {
		t.Run(name, func(t *testing.T) {
			plain, e := newToy(t)
			d := strippedToy{plain}
			if err := e.Commit(t.Context(), localhost.New(), d, d.add("one")); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(d.conf)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(d.conf, append(text, c.since...), 0o644); err != nil {
				t.Fatal(err)
			}
			_, kept, err := e.GiveBack(t.Context(), localhost.New(), d)
			if told := slices.Equal(kept, []string{d.conf}); err != nil || told != (c.want != "") || !told && len(kept) > 0 {
				t.Errorf("kept %q, error %v", kept, err)
			}
			if got := d.serves(t); c.want != "" && got != c.want {
				t.Errorf("serves %q", got)
			}
		})
	}
}

// sharedToy is an exclusive toy that serves more than the provider's lines, of which "theirs" has an owner.
type sharedToy struct{ exclusive }

func (sharedToy) ServesBesides(context.Context, host.Host) ([]string, error) {
	return []string{"/etc/besides"}, nil
}

func (d sharedToy) Owners(t transaction.Tree) []string {
	if strings.Contains(string(t[d.conf].Content), "theirs\n") {
		return []string{"theirs"}
	}
	return nil
}

// TestWhatASharedDaemonServesOfAnOwnerIsInUse gives back a daemon that is not the provider's alone, and in whose files there is what another
// state has.
func TestWhatASharedDaemonServesOfAnOwnerIsInUse(t *testing.T) {
	for name, inUse := range map[string]bool{"by hand": false, "theirs": true} {
		t.Run(name, func(t *testing.T) {
			plain, e := newToy(t)
			d := sharedToy{exclusive{plain}}
			if err := e.Commit(t.Context(), localhost.New(), d, d.add(name)); err != nil {
				t.Fatal(err)
			}
			_, kept, err := e.GiveBack(t.Context(), localhost.New(), d)
			if refused := errors.As(err, new(*transaction.InUseError)); refused != inUse || err != nil && !refused {
				t.Errorf("it ended with %v", err)
			}
			if told := slices.Equal(kept, []string{"/etc/besides"}); told == inUse {
				t.Errorf("kept %q", kept)
			}
		})
	}
}

func TestGiveBackRestoresTheOriginal(t *testing.T) {
	d, e := newToy(t)
	for _, line := range []string{"one", "two"} {
		t.Run(line, func(t *testing.T) {
			if err := e.Commit(t.Context(), localhost.New(), d, d.add(line)); err != nil {
				t.Fatal(err)
			}
		})
	}
	if warnings, _, err := e.GiveBack(t.Context(), localhost.New(), d); err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	if got := d.serves(t); got != "by hand\n" {
		t.Errorf("serves %q", got)
	}
	if _, err := os.Stat(filepath.Join(e.StateDir, d.Name())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("state is left: %v", err)
	}
}

// What was given back is served also where the run ended between the files and the order to load them.
func TestGiveBackOfAnEndedRunIsServed(t *testing.T) {
	d, e := newToy(t)
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("one")); err != nil {
		t.Fatal(err)
	}
	cut := 0
	d.onActivate = func() error {
		if cut++; cut == 1 {
			return fmt.Errorf("the order got lost: %w", host.ErrCut)
		}
		return nil
	}
	_, _, err := e.GiveBack(t.Context(), localhost.New(), d)
	t.Logf("the run that was cut off ended with %v", err)
	next := &transaction.Engine{StateDir: e.StateDir}
	if warnings, _, err := next.GiveBack(t.Context(), localhost.New(), d); err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	if got := d.serves(t); got != "by hand\n" {
		t.Errorf("serves %q", got)
	}
	if _, err := os.Stat(filepath.Join(e.StateDir, d.Name())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("state is left: %v", err)
	}
}

// keepingToy is a toy that tells what becomes of a person's lines.
type keepingToy struct{ *toy }

func (d keepingToy) Kept(prev, next transaction.Tree) []string {
	return []string{fmt.Sprintf("%q became %q", prev[d.conf].Content, next[d.conf].Content)}
}

func TestAUserLearnsWhereAPersonsPartsWent(t *testing.T) {
	plain, e := newToy(t)
	d := keepingToy{plain}
	edit := d.add("one")
	var said []string
	edit.Warn = func(text string) { said = append(said, text) }
	if err := e.Commit(t.Context(), localhost.New(), d, edit); err != nil || len(said) != 1 || !strings.Contains(said[0], `"by hand\n" became "by hand\none\n"`) {
		t.Errorf("a commit said %q, error %v", said, err)
	}
	if said, _, err := e.GiveBack(t.Context(), localhost.New(), d); err != nil || len(said) != 1 || !strings.Contains(said[0], `became "by hand\n"`) {
		t.Errorf("the end said %q, error %v", said, err)
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

// A daemon that quotes its whole configuration quotes the edits of all resources that are changed at one time.
func TestSecretsOfOtherEditsOfTheGroupDoNotReachErrors(t *testing.T) {
	d, e := newToy(t)
	d.onActivate = func() error {
		if text, _ := os.ReadFile(d.conf); strings.Contains(string(text), "refused") {
			return fmt.Errorf("cannot load %q", text)
		}
		return nil
	}
	h := localhost.New()
	unlock, err := h.Lock(t.Context(), d.Name())
	if err != nil {
		t.Fatal(err)
	}
	var good, bad error
	var group sync.WaitGroup
	group.Go(func() {
		edit := d.add("password hunter2 hunter22")
		edit.Secrets = []string{"hunter2", "", "hunter22"}
		good = e.Commit(t.Context(), h, d, edit)
	})
	time.Sleep(20 * time.Millisecond) // it comes first
	group.Go(func() { bad = e.Commit(t.Context(), h, d, d.add("refused")) })
	time.Sleep(50 * time.Millisecond)
	unlock()
	group.Wait()
	if good != nil {
		t.Error(good)
	}
	if bad == nil || strings.Contains(bad.Error(), "hunter2") || !strings.Contains(bad.Error(), "password *** ***") {
		t.Errorf("got %v", bad)
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
		t.Run(fmt.Sprint(add), func(t *testing.T) {
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
		})
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
