// Package robustness checks histories of several states, people and faults on shared machines against a model of who has what.
package robustness

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"errors"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func number(name string, otherwise int) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return otherwise
	}
	return n
}

func asExit(err error, exit **exec.ExitError) bool { return errors.As(err, exit) }

// quietEvery is after how many rounds faults stop for one.
const quietEvery = 5

// TestAccRobustness draws rounds from a seed until its time or its operations are over.
func TestAccRobustness(t *testing.T) {
	acctest.InSandbox(t)
	acctest.ServiceNodes(t, 2)
	acctest.Hypervisors(t, 2)
	ctx := context.Background()
	seed := number("ROBUSTNESS_SEED", int(time.Now().Unix()))
	deadline := time.Now().Add(time.Duration(number("ROBUSTNESS_SECONDS", 1800)) * time.Second)
	operations := number("ROBUSTNESS_OPERATIONS", 1<<30)
	w, err := newWorld(ctx, t, uint64(seed), number("ROBUSTNESS_STATES", 3)) //nolint:gosec // any seed will do
	if err != nil {
		t.Fatal(err)
	}
	if w.history, err = newHistory(os.Getenv("ROBUSTNESS_LOG")); err != nil {
		t.Fatal(err)
	}
	w.useFailpoints(t)
	defer w.tellUnvisited(t)
	w.say = func(format string, args ...any) { t.Logf(time.Now().Format("15:04:05 ")+format, args...) }
	for n := 1; time.Now().Before(deadline) && w.figures.Operations < operations; n++ {
		if n%quietEvery == 0 {
			err = w.calm(ctx)
		} else {
			err = w.play(ctx, w.drawRound())
		}
		if err != nil {
			t.Fatalf("seed %d, round %d: the test itself failed: %v", seed, n, err)
		}
	}
	if err := errors.Join(w.calm(ctx), w.finish(ctx)); err != nil {
		t.Fatalf("seed %d: the test itself failed: %v", seed, err)
	}
	t.Logf("seed %d: %s", seed, w.figures)
	for _, v := range w.violations {
		t.Errorf("seed %d: %s", seed, v)
	}
}
