package host_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

func TestATurnIsOneProcesss(t *testing.T) {
	ctx, machine := t.Context(), hosttest.New()
	var ours, theirs host.Turns
	first, err := ours.Join(ctx, machine, "addresses")
	if err != nil {
		t.Fatal(err)
	}
	second, err := ours.Join(ctx, machine, "addresses")
	if err != nil {
		t.Fatal(err)
	}
	other := machine.Another()
	soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := theirs.Join(soon, other, "addresses"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("another process has it too: %v", err)
	}
	first()
	first() // once more is nothing
	soon, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := theirs.Join(soon, other, "addresses"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("another process has it although one of this one's goes on: %v", err)
	}
	second()
	done, err := theirs.Join(ctx, other, "addresses")
	if err != nil {
		t.Fatal(err)
	}
	done()
}

// Two machines may have one address, which the host keys that they have to show tell apart.
func TestATurnOnAMachineIsNoneOnAnotherOfItsName(t *testing.T) {
	old, made := hosttest.New(), hosttest.New()
	var turns host.Turns
	for _, machine := range []host.Host{old, made} {
		leave, err := turns.Join(t.Context(), machine, "addresses")
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
	}
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := made.Another().Lock(soon, "addresses"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second machine's lock was not taken: %v", err)
	}
}

// Whoever joins one that gives up takes the lock for itself.
func TestATurnThatWasGivenUpIsTakenByTheNext(t *testing.T) {
	machine := hosttest.New()
	unlock, err := machine.Another().Lock(t.Context(), "addresses")
	if err != nil {
		t.Fatal(err)
	}
	var turns host.Turns
	soon, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, err := turns.Join(soon, machine, "addresses"); err == nil {
			t.Error("what another process holds was taken")
		}
	})
	time.Sleep(20 * time.Millisecond)
	wait.Go(func() {
		leave, err := turns.Join(t.Context(), machine, "addresses")
		if err != nil {
			t.Error(err)
			return
		}
		leave()
	})
	time.Sleep(20 * time.Millisecond)
	cancel()
	time.Sleep(20 * time.Millisecond)
	unlock()
	wait.Wait()
}
