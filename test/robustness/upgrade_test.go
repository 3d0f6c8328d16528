package robustness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// previous builds the provider of another commit, ROBUSTNESS_PREVIOUS or the one before this, and returns a configuration of the program
// that takes it.
func previous(ctx context.Context, t *testing.T) string {
	t.Helper()
	commit := "HEAD~1"
	if named := os.Getenv("ROBUSTNESS_PREVIOUS"); named != "" {
		commit = named
	}
	dir := t.TempDir()
	const script = `git -C "$1" archive "$2" | tar -x -C "$3" && cd "$3" && go build -o "$4/terraform-provider-virtcluster" .`
	source, built := filepath.Join(dir, "source"), filepath.Join(dir, "built")
	for _, each := range []string{source, built} {
		if err := os.Mkdir(each, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	repository := filepath.Dir(filepath.Dir(filepath.Dir(sandboxScript("on"))))
	if out, err := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", script, "bash", repository, commit, source, built).CombinedOutput(); err != nil {
		t.Fatalf("build the provider of %s: %v: %s", commit, err, out)
	}
	file := filepath.Join(dir, "cli.tfrc")
	text := fmt.Sprintf("disable_checkpoint = true\nprovider_installation {\n  dev_overrides {\n    \"virtcluster/virtcluster\" = %[1]q\n    \"hashicorp/virtcluster\" = %[1]q\n  }\n  direct {}\n}\n", built)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestAccUpgrade has states that the commit before this one made plan nothing under this one, and drift nowhere.
func TestAccUpgrade(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	ctx := context.Background()
	before := previous(ctx, t)
	w, err := newWorld(ctx, t, uint64(number("ROBUSTNESS_SEED", 1)), 2) //nolint:gosec // any seed will do
	if err != nil {
		t.Fatal(err)
	}
	if w.history, err = newHistory(""); err != nil {
		t.Fatal(err)
	}
	// One after the other: what one names the other may make.
	for _, s := range w.states {
		s.programConfig = before
		if err := w.play(ctx, round{Quiet: true, Operations: []operation{{State: s.name, Action: "apply", Config: w.oneOfEach(s)}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range w.states {
		s.programConfig = ""
	}
	if err := w.examineCalm(ctx); err != nil {
		t.Fatal(err)
	}
	if err := w.finish(ctx); err != nil {
		t.Fatal(err)
	}
	for _, v := range w.violations {
		t.Errorf("%s", v)
	}
}

// oneOfEach draws a resource of every kind, which nobody else has.
func (w *world) oneOfEach(s *state) configuration {
	var c configuration
	for _, name := range slices.Concat([]string{"dns_view", "dns_zone", "address_pool", "network", "storage_pool"}, names(kinds)) {
		for range 20 {
			a := kindNamed(name).draw(drawer{w.rng, s.number, c, nil})
			if a == nil {
				continue
			}
			r := resource{Type: name, Attributes: a}
			r.Key = keyOf(r)
			more := append(slices.Clone(c), r)
			if c.find(r.address()) < 0 && len(w.model.withoutTaken(s.name, more)) == len(more) && len(w.model.satisfiable(s.name, more, nil)) == len(more) {
				c = more
				break
			}
		}
	}
	for _, r := range c {
		w.model.give(s.name, r.address(), claimsOf(r.Type, r.Attributes))
	}
	return c
}

func names(all []kind) []string {
	var names []string
	for _, k := range all {
		names = append(names, k.name)
	}
	return names
}
