package transaction_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/localhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

func TestReadersOfOneSnapshotShareAnAnswerUntilTheNextCommit(t *testing.T) {
	d, e := newToy(t)
	h := localhost.New()
	var asked atomic.Int32
	wave := func(want string) {
		t.Helper()
		asked.Store(0)
		var readers sync.WaitGroup
		for range 50 {
			readers.Go(func() {
				tree, answer, err := transaction.Ask(t.Context(), e, h, d, func(_ context.Context, _ host.Host, t transaction.Tree) (string, error) {
					asked.Add(1)
					return string(t[d.conf].Content), nil
				})
				if err != nil || answer != want || string(tree[d.conf].Content) != want {
					t.Errorf("got %q, %v; want %q", answer, err, want)
				}
			})
		}
		readers.Wait()
		if n := asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	}
	wave("by hand\n")
	if err := e.Commit(t.Context(), h, d, d.add("one")); err != nil {
		t.Fatal(err)
	}
	wave("by hand\none\n")
}

func TestReaderWhoGivesUpDoesNotFailTheOthers(t *testing.T) {
	d, e := newToy(t)
	h := localhost.New()
	begun, gaveUp := make(chan struct{}), make(chan struct{})
	first := errors.New("ran out of time")
	done := make(chan error)
	go func() {
		_, _, err := transaction.Ask(t.Context(), e, h, d, func(context.Context, host.Host, transaction.Tree) (int, error) {
			close(begun)
			<-gaveUp
			return 0, first
		})
		done <- err
	}()
	<-begun
	second := make(chan error)
	go func() {
		_, n, err := transaction.Ask(t.Context(), e, h, d, func(context.Context, host.Host, transaction.Tree) (int, error) { return 7, nil })
		if n != 7 && err == nil {
			err = errors.New("no answer")
		}
		second <- err
	}()
	close(gaveUp)
	if err := <-done; !errors.Is(err, first) {
		t.Errorf("got %v", err)
	}
	if err := <-second; err != nil {
		t.Errorf("the other reader: %v", err)
	}
}

// counting counts the commands on a machine.
type counting struct {
	host.Host
	runs atomic.Int32
}

func (c *counting) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	c.runs.Add(1)
	return c.Host.Run(ctx, cmd)
}

func TestWhatACommitProvedIsNotReadAgain(t *testing.T) {
	d, e := newToy(t)
	h := &counting{Host: localhost.New()}
	if err := e.Commit(t.Context(), h, d, d.add("one")); err != nil {
		t.Fatal(err)
	}
	was := h.runs.Load()
	tree, err := e.Snapshot(t.Context(), h, d)
	if err != nil || string(tree[d.conf].Content) != "by hand\none\n" {
		t.Errorf("got %q, %v", tree[d.conf].Content, err)
	}
	if n := h.runs.Load() - was; n != 0 {
		t.Errorf("%d commands", n)
	}
	// A commit that failed proves nothing.
	if err := e.Commit(t.Context(), h, d, d.add("CRASH")); err == nil {
		t.Fatal("the toy must crash")
	}
	was = h.runs.Load()
	if tree, err = e.Snapshot(t.Context(), h, d); err != nil || string(tree[d.conf].Content) != "by hand\none\n" {
		t.Errorf("after a failure: %q, %v", tree[d.conf].Content, err)
	}
	if h.runs.Load() == was {
		t.Error("after a failure nobody looked at the machine")
	}
}

// telling is a toy that tells, when it verifies, what it serves.
type telling struct{ *toy }

func (d telling) Witness(ctx context.Context, h host.Host, next transaction.Tree) (any, error) {
	return "told: " + string(next[d.conf].Content), d.Verify(ctx, h, next)
}

func TestWhatTheProofToldIsNotAskedAgain(t *testing.T) {
	d, e := newToy(t)
	h := localhost.New()
	ask := func() string {
		t.Helper()
		_, answer, err := transaction.Ask(t.Context(), e, h, telling{d}, func(context.Context, host.Host, transaction.Tree) (string, error) {
			return "asked", nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	if got := ask(); got != "asked" {
		t.Errorf("before a commit %q", got)
	}
	if err := e.Commit(t.Context(), h, telling{d}, d.add("one")); err != nil {
		t.Fatal(err)
	}
	if got := ask(); got != "told: by hand\none\n" {
		t.Errorf("after a commit %q", got)
	}
	if err := e.Commit(t.Context(), h, telling{d}, d.add("CRASH")); err == nil {
		t.Fatal("what crashes was taken")
	}
	if got := ask(); got != "asked" {
		t.Errorf("after a commit that was rolled back %q", got)
	}
}
