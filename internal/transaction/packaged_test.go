package transaction_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/localhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// packaged is a toy that comes with a package; without its program there is no checker either.
type packaged struct {
	*toy
	program string
}

func (d packaged) Package() (program, unit string) { return d.program, "" }

func (d packaged) Check(ctx context.Context, h host.Host, stage string, next transaction.Tree) error {
	if _, err := h.Run(ctx, host.Cmd{Argv: []string{d.program}}); err != nil {
		return err
	}
	return d.toy.Check(ctx, h, stage, next)
}

// remove takes the package away, and with it the running daemon.
func (d packaged) remove(t *testing.T) {
	t.Helper()
	if err := errors.Join(os.Remove(d.program), os.Remove(d.pid)); err != nil {
		t.Fatal(err)
	}
}

func newPackaged(t *testing.T) (packaged, *transaction.Engine) {
	t.Helper()
	toy, e := newToy(t)
	d := packaged{toy, filepath.Join(filepath.Dir(toy.conf), "program")}
	if err := os.WriteFile(d.program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return d, e
}

// TestDaemonThatIsNotInstalledAnyMore runs missing.sh.
func TestDaemonThatIsNotInstalledAnyMore(t *testing.T) {
	d, e := newPackaged(t)
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("one")); err != nil {
		t.Fatal(err)
	}
	d.remove(t)
	e = &transaction.Engine{StateDir: e.StateDir}
	onDisk := func(want string) {
		t.Helper()
		if got, _ := os.ReadFile(d.conf); string(got) != want {
			t.Errorf("on disk is %q, want %q", got, want)
		}
	}
	t.Run("a plan is told what is missing, and not of a refusal", func(t *testing.T) {
		next := transaction.Tree{}
		next.Put(d.conf, []byte("two\n"), 0o644, "", "")
		err := transaction.Try(t.Context(), localhost.New(), d, next)
		if !errors.As(err, new(*transaction.MissingError)) || errors.As(err, new(*transaction.RefusedError)) {
			t.Errorf("%v", err)
		}
	})
	t.Run("what is put in fails with the way out", func(t *testing.T) {
		err := e.Commit(t.Context(), localhost.New(), d, d.add("two"))
		if !errors.As(err, new(*transaction.MissingError)) || !strings.Contains(err.Error(), "not installed") || !strings.Contains(err.Error(), "install_packages") {
			t.Errorf("%v", err)
		}
		onDisk("by hand\none\n")
	})
	t.Run("what is taken out is gone from the files", func(t *testing.T) {
		var said []string
		drop := d.drop("one")
		drop.Warn = func(text string) { said = append(said, text) }
		if err := e.Commit(t.Context(), localhost.New(), d, drop); err != nil {
			t.Fatal(err)
		}
		onDisk("by hand\n")
		if len(said) != 1 || !strings.Contains(said[0], "not installed any more") {
			t.Errorf("said %q", said)
		}
	})
	t.Run("what is given back is as it was", func(t *testing.T) {
		write(t, d.conf, "by hand\nwhatever\n")
		if warnings, _, err := e.GiveBack(t.Context(), localhost.New(), d); err != nil || len(warnings) > 0 {
			t.Errorf("%q, %v", warnings, err)
		}
		onDisk("by hand\n")
		if left, _ := os.ReadDir(filepath.Join(e.StateDir, d.Name())); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	})
	if n := d.reloads.Load(); n != 1 {
		t.Errorf("it was told %d times", n)
	}
}

// A checker that is there and says no is a refusal.
func TestDaemonThatIsInstalledRefuses(t *testing.T) {
	d, e := newPackaged(t)
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("BAD")); !errors.As(err, new(*transaction.RefusedError)) {
		t.Errorf("%v", err)
	}
}
