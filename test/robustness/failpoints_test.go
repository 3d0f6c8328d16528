package robustness

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

var failpointName = regexp.MustCompile(`failpoint\.Hit\("([^"]+)"\)|(?m)^[ \t]*# failpoint (\S+)$`)

// listFailpoints returns the names of all failpoints in the provider's source.
func listFailpoints(t *testing.T) []string {
	t.Helper()
	var all []string
	root := filepath.Join(filepath.Dir(sandboxScript("on")), "../../internal")
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".sh") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range failpointName.FindAllStringSubmatch(string(text), -1) {
			all = append(all, found[1]+found[2])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// failpointsVisited names the file in which the provider notes the failpoints that it passes, and its scripts on each machine.
const (
	failpointsVisited = "VIRTCLUSTER_FAILPOINTS_VISITED"
	visitedFile       = "/var/tmp/failpoints-visited"
)

// useFailpoints has runs end at the provider's failpoints too, where it was built with them. What an earlier run passed on this machine, whose
// files outlive the sandbox, does not count.
func (w *world) useFailpoints(t *testing.T) {
	if os.Getenv("ROBUSTNESS_FAILPOINTS") == "" {
		return
	}
	w.failpoints = listFailpoints(t)
	if err := os.Remove(visitedFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	t.Setenv(failpointsVisited, visitedFile)
}

// tellUnvisited says which failpoints no run passed.
func (w *world) tellUnvisited(t *testing.T) {
	if len(w.failpoints) == 0 {
		return
	}
	var visited []string
	for _, machine := range slices.Concat([]string{"hypervisor"}, machines, farMachines()) {
		out, _ := acctest.Try(context.Background(), machine, "cat", visitedFile)
		visited = append(visited, strings.Fields(out)...)
	}
	var missing []string
	for _, name := range w.failpoints {
		if !slices.Contains(visited, name) {
			missing = append(missing, name)
		}
	}
	t.Logf("%d of %d failpoints were visited; not these: %s", len(w.failpoints)-len(missing), len(w.failpoints), strings.Join(missing, " "))
}

func TestFailpointsHaveNamesOfTheirOwn(t *testing.T) {
	all := listFailpoints(t)
	if n := len(all); len(slices.Compact(slices.Clone(all))) != n {
		t.Errorf("two have one name: %v", all)
	}
}
