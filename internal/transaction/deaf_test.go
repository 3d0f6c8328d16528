package transaction_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/localhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// deaf is a daemon that takes no orders, as named does without the key of rndc.
type deaf struct {
	*toy
	reason error
}

func (d *deaf) Probe(context.Context, host.Host) error { return d.reason }

func TestDaemonThatTakesNoOrdersIsLookedAtBeforeAnythingIsWritten(t *testing.T) {
	toy, e := newToy(t)
	d := &deaf{toy, errors.New("no key")}
	var unfit *transaction.UnfitError
	err := e.Commit(t.Context(), localhost.New(), d, d.add("new"))
	if !errors.As(err, &unfit) || !strings.Contains(err.Error(), "no key") || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("got %v", err)
	}
	if left, _ := filepath.Glob(e.StateDir + "/*/*"); len(left) > 0 || d.reloads.Load() > 0 {
		t.Errorf("left %v after %d reloads", left, d.reloads.Load())
	}
	if got := d.serves(t); got != "by hand\n" {
		t.Errorf("serves %q", got)
	}
	d.reason = nil
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("new")); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsTakenOutOfADaemonThatTakesNoOrdersIsGoneFromItsFilesWithAWarning(t *testing.T) {
	toy, e := newToy(t)
	d := &deaf{toy, nil}
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("new")); err != nil {
		t.Fatal(err)
	}
	d.reason, e = errors.New("no key"), &transaction.Engine{StateDir: e.StateDir}
	var said []string
	drop := transaction.Edit{Removes: true, Warn: func(text string) { said = append(said, text) }, Apply: func(tree transaction.Tree) error {
		tree.Put(d.conf, []byte("by hand\n"), 0o644, "", "")
		return nil
	}}
	if err := e.Commit(t.Context(), localhost.New(), d, drop); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(d.conf); string(text) != "by hand\n" || len(journals(e)) > 0 {
		t.Errorf("the file has %q, journals %v", text, journals(e))
	}
	if len(said) != 1 || !strings.Contains(said[0], "no key") || d.reloads.Load() != 1 {
		t.Errorf("said %q after %d reloads", said, d.reloads.Load())
	}
}

// cannotReload has a toy serve what it serves and fail every reload from now on, as HAProxy does with an address in its files
// that the machine does not have.
func (d *toy) cannotReload() {
	d.onActivate = func() error { return &host.ExitError{Cmd: "reload", Code: 1, Stderr: "cannot bind 203.0.113.9:80"} }
}

func TestWhatIsTakenOutOfADaemonThatCannotReloadIsGoneFromItsFilesWithAWarning(t *testing.T) {
	for _, lost := range []bool{false, true} { // what it serves, by the failed reload
		t.Run(fmt.Sprintf("lost %t", lost), func(t *testing.T) {
			d, e := newToy(t)
			h := localhost.New()
			if err := e.Commit(t.Context(), h, d, d.add("new")); err != nil {
				t.Fatal(err)
			}
			d.cannotReload()
			if lost {
				write(t, d.served, "nothing of it")
			}
			e = &transaction.Engine{StateDir: e.StateDir}
			var said []string
			drop := transaction.Edit{Removes: true, Warn: func(text string) { said = append(said, text) }, Apply: func(tree transaction.Tree) error {
				text := strings.Replace(string(tree[d.conf].Content), "new\n", "", 1)
				tree.Put(d.conf, []byte(text), 0o644, "", "")
				return nil
			}}
			var wait sync.WaitGroup
			var added error
			wait.Go(func() { added = e.Commit(t.Context(), h, d, d.add("more")) })
			err := e.Commit(t.Context(), h, d, drop)
			wait.Wait()
			if err != nil || len(said) != 1 || !strings.Contains(said[0], "cannot bind") || !strings.Contains(said[0], "until it is restarted") {
				t.Errorf("said %q, %v", said, err)
			}
			if rolled := new(transaction.RolledBackError); !errors.As(added, &rolled) && !errors.As(added, new(*transaction.UnfitError)) {
				t.Errorf("what was to be added: %v", added)
			}
			if text, _ := os.ReadFile(d.conf); string(text) != "by hand\n" || len(journals(e)) > 0 {
				t.Errorf("the file has %q, journals %v", text, journals(e))
			}
			// Nobody takes for served what was only written.
			d.onActivate = nil
			if err := e.Commit(t.Context(), h, d, d.add("later")); err != nil {
				t.Error(err)
			}
			if got := d.serves(t); got != "by hand\nlater\n" {
				t.Errorf("serves %q", got)
			}
		})
	}
}
