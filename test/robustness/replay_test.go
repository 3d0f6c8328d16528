package robustness

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// replay plays a history in a sandbox as it was at the beginning, and returns what was wrong.
func replay(ctx context.Context, t *testing.T, f found) []violation {
	t.Helper()
	states := 1
	for _, r := range f.Rounds {
		for _, o := range r.Operations {
			if o.State != "" {
				states = max(states, int(o.State[0]-'a')+1)
			}
		}
	}
	w, err := newWorld(ctx, t, 1, states)
	if err != nil {
		t.Fatal(err)
	}
	w.say = func(format string, args ...any) { t.Logf(time.Now().Format("15:04:05 ")+format, args...) }
	if w.history, err = newHistory(""); err != nil {
		t.Fatal(err)
	}
	for _, r := range f.Rounds {
		if err := w.play(ctx, r); err != nil {
			t.Fatalf("the test itself failed: %v", err)
		}
		if r.Quiet && len(w.model.vague) == 0 {
			if err := w.examineCalm(ctx); err != nil {
				t.Fatalf("the test itself failed: %v", err)
			}
		}
	}
	if err := w.finish(ctx); err != nil {
		t.Fatalf("the test itself failed: %v", err)
	}
	t.Logf("%s", w.figures)
	return w.violations
}

// readFound reads a history that showed a fault.
func readFound(t *testing.T, path string) found {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f found
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatalf("understand %s: %v", path, err)
	}
	return f
}

// TestAccHistories replays the shortest histories that showed faults: none does any more. It begins none after
// ROBUSTNESS_HISTORIES_SECONDS, and says which are left.
func TestAccHistories(t *testing.T) {
	acctest.InSandbox(t)
	paths, err := filepath.Glob("testdata/histories/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no histories: %v", err)
	}
	limit := time.Duration(number("ROBUSTNESS_HISTORIES_SECONDS", 1<<20)) * time.Second
	for began, i := time.Now(), 0; i < len(paths); i++ {
		path := paths[i]
		if time.Since(began) > limit {
			t.Logf("not replayed within %s: %s", limit, strings.Join(paths[i:], " "))
			break
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			f := readFound(t, path)
			for _, v := range replay(t.Context(), t, f) {
				t.Errorf("%s", v)
			}
		})
	}
}

// TestAccReplay replays the history that ROBUSTNESS_REPLAY names, and fails where it shows what it showed.
func TestAccReplay(t *testing.T) {
	path := os.Getenv("ROBUSTNESS_REPLAY")
	if path == "" {
		t.Skip("ROBUSTNESS_REPLAY names no history")
	}
	acctest.InSandbox(t)
	f := readFound(t, path)
	for _, v := range replay(t.Context(), t, f) {
		t.Logf("wrong: %s", v)
		if v.signature() == f.Violation.signature() {
			t.Errorf("SHOWN: %s", v)
		}
	}
}
