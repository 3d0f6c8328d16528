package transaction_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/localhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// TestKilledClient is not a test but the client that TestKilledAtEveryStep kills.
func TestKilledClient(t *testing.T) {
	dir := os.Getenv("TRANSACTION_KILL_DIR")
	if dir == "" {
		return
	}
	steps, err := strconv.Atoi(os.Getenv("TRANSACTION_KILL_AFTER"))
	if err != nil {
		t.Fatal(err)
	}
	d := &toy{conf: filepath.Join(dir, "toy.conf"), served: filepath.Join(dir, "served"), pid: filepath.Join(dir, "pid")}
	if os.Getenv("TRANSACTION_KILL_IN_RELOAD") != "" {
		d.onActivate = func() error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	}
	h := hosttest.NewFuse(localhost.New(), steps)
	e := &transaction.Engine{StateDir: filepath.Join(dir, "state")}
	if err := e.Commit(t.Context(), h, d, d.add("new")); err != nil {
		t.Fatal(err)
	}
}

func TestKilledAtEveryStep(t *testing.T) {
	const old, new = "by hand\n", "by hand\nnew\n"
	for step := 1; ; step++ {
		d, e := newToy(t)
		client := exec.Command(os.Args[0], "-test.run=^TestKilledClient$")
		client.Env = append(os.Environ(), "TRANSACTION_KILL_DIR="+filepath.Dir(d.conf), "TRANSACTION_KILL_AFTER="+strconv.Itoa(step))
		out, err := client.CombinedOutput()
		if err == nil {
			if step < 10 {
				t.Fatalf("only %d steps: the fuse does not burn", step)
			}
			return
		}
		if status, ok := client.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
			t.Fatalf("step %d: %v: %s", step, err, out)
		}
		served, err := os.ReadFile(d.served)
		if err != nil || string(served) != old && string(served) != new {
			t.Errorf("step %d: serves %q, %v", step, served, err)
		}
		tree, err := e.Snapshot(t.Context(), localhost.New(), d)
		if got := string(tree[d.conf].Content); err != nil || got != old && got != new {
			t.Errorf("step %d: reads %q, %v", step, got, err)
		} else if got == new && string(served) != new {
			t.Errorf("step %d: what is not loaded must count as absent", step)
		}
		if err := e.Commit(t.Context(), localhost.New(), d, d.add("new")); err != nil {
			t.Errorf("step %d: the next commit: %v", step, err)
		}
		if got := d.serves(t); got != new {
			t.Errorf("step %d: after the next commit it serves %q", step, got)
		}
		if left, _ := filepath.Glob(filepath.Join(e.StateDir, d.Name(), "*")); len(left) != 1 {
			t.Errorf("step %d: left %v", step, left)
		}
	}
}

// breaking is a machine whose connection breaks at the n-th command: while its input is on the way, or once
// it ran to its end. The lock is lost with it.
type breaking struct {
	host.Host
	left   atomic.Int32
	before bool
	lost   atomic.Bool
}

func (b *breaking) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	if cmd.Lock != "" && b.lost.Load() {
		return nil, host.ErrLockLost
	}
	if b.left.Add(-1) != 0 {
		return b.Host.Run(ctx, cmd)
	}
	b.lost.Store(true)
	if b.before {
		cmd.Stdin = cmd.Stdin[:len(cmd.Stdin)/2]
	}
	_, _ = b.Host.Run(ctx, cmd) // nobody hears of its end
	return nil, host.ErrCut
}

func (b *breaking) Lock(ctx context.Context, name string) (func(), error) {
	unlock, err := b.Host.Lock(ctx, name)
	b.lost.Store(false)
	return unlock, err
}

func TestConnectionThatBreaksAtAnyCommandIsNotNoticed(t *testing.T) {
	const want = "by hand\nnew\n"
	for _, before := range []bool{true, false} {
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			for step, through := int32(1), false; !through; step++ {
				d, e := newToy(t)
				h := &breaking{Host: localhost.New(), before: before}
				h.left.Store(step)
				if err := e.Commit(t.Context(), h, d, d.add("new")); err != nil {
					t.Errorf("step %d, before %v: %v", step, before, err)
				}
				if through = h.left.Load() > 0; through && step < 5 {
					t.Fatalf("only %d steps", step)
				}
				if got := d.serves(t); got != want {
					t.Errorf("step %d, before %v: serves %q", step, before, got)
				}
				if left, _ := filepath.Glob(filepath.Join(e.StateDir, d.Name(), "*")); len(left) != 1 {
					t.Errorf("step %d, before %v: left %v", step, before, left)
				}
				original, err := os.ReadFile(filepath.Join(e.StateDir, d.Name(), "original.json"))
				if err != nil || !json.Valid(original) {
					t.Errorf("step %d, before %v: what there was before is kept as %q, %v", step, before, original, err)
				}
			}
		})
	}
}

func TestMachineWhoseConnectionAlwaysBreaksIsAnError(t *testing.T) {
	d, e := newToy(t)
	d.onActivate = func() error { return host.ErrCut }
	if err := e.Commit(t.Context(), localhost.New(), d, d.add("new")); !errors.Is(err, host.ErrCut) {
		t.Errorf("got %v", err)
	}
	if d.reloads.Load() > 20 {
		t.Errorf("tried %d times", d.reloads.Load())
	}
}
