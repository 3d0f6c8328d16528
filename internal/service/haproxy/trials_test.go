package haproxy

import (
	"errors"
	"slices"
	"sync"
	"testing"
)

func TestTrialsFailAloneAndLeanOnEachOther(t *testing.T) {
	var trials Trials[string]
	var mu sync.Mutex
	checks := 0
	// "bad" is never taken, and "frontend" only together with "backend".
	check := func(edits []string) error {
		mu.Lock()
		defer mu.Unlock()
		checks++
		if slices.Contains(edits, "bad") {
			return errors.New("bad")
		}
		if slices.Contains(edits, "frontend") && !slices.Contains(edits, "backend") {
			return errors.New("no backend")
		}
		return nil
	}
	var wait sync.WaitGroup
	said := map[string]error{}
	for _, edit := range []string{"a", "bad", "frontend", "backend", "b"} {
		wait.Go(func() {
			err := trials.Try(t.Context(), "svc-1", edit, edit, check)
			mu.Lock()
			defer mu.Unlock()
			said[edit] = err
		})
	}
	wait.Wait()
	for edit, err := range said {
		if (err != nil) != (edit == "bad") {
			t.Errorf("%s: %v", edit, err)
		}
	}
	if err := trials.Try(t.Context(), "svc-1", "bad", "mended", check); err != nil {
		t.Errorf("a resource that was planned again: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if checks > 20 {
		t.Errorf("%d checks", checks)
	}
}
