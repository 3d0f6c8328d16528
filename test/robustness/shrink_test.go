package robustness

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// shrink returns the fewest rounds, operations and resources of a history that still show its fault, by leaving out more and more:
// halves first, then less. It ends when nothing more can be left out, or when shows may not be asked any more.
func shrink(f found, shows func(found) bool) found {
	f = shrinkList(f, len(f.Rounds), func(f found, keep func(i int) bool) found {
		var rounds []round
		for i, r := range f.Rounds {
			if keep(i) {
				rounds = append(rounds, r)
			}
		}
		f.Rounds = rounds
		return f
	}, func(f found) int { return len(f.Rounds) }, shows)
	f = shrinkList(f, operationsOf(f), dropOperations, operationsOf, shows)
	return shrinkList(f, len(resourcesOf(f)), dropResources, func(f found) int { return len(resourcesOf(f)) }, shows)
}

// shrinkList leaves out chunks of a list of n, each half as long as those before.
func shrinkList(f found, n int, drop func(found, func(int) bool) found, count func(found) int, shows func(found) bool) found {
	for size := max(n/2, 1); n > 0; size /= 2 {
		for begin := 0; begin < n; {
			less := drop(f, func(i int) bool { return i < begin || i >= begin+size })
			if count(less) < n && shows(less) {
				f, n = less, count(less)
				continue
			}
			begin += size
		}
		if size == 1 {
			break
		}
	}
	return f
}

func operationsOf(f found) int {
	n := 0
	for _, r := range f.Rounds {
		n += len(r.Operations)
	}
	return n
}

func dropOperations(f found, keep func(int) bool) found {
	var rounds []round
	n := 0
	for _, r := range f.Rounds {
		var kept []operation
		for _, o := range r.Operations {
			if keep(n) {
				kept = append(kept, o)
			}
			n++
		}
		if len(kept) > 0 {
			rounds = append(rounds, round{Operations: kept, Quiet: r.Quiet})
		}
	}
	f.Rounds = rounds
	return f
}

// resourcesOf are the resources of all states by their state and address, whichever operations have them.
func resourcesOf(f found) []string {
	var all []string
	for _, r := range f.Rounds {
		for _, o := range r.Operations {
			for _, each := range o.Config {
				all = append(all, o.State+" "+each.address())
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func dropResources(f found, keep func(int) bool) found {
	all := resourcesOf(f)
	var rounds []round
	for _, r := range f.Rounds {
		operations := slices.Clone(r.Operations)
		for i, o := range operations {
			operations[i].Config = o.Config.without(func(each resource) bool { return !keep(slices.Index(all, o.State+" "+each.address())) })
		}
		rounds = append(rounds, round{Operations: operations, Quiet: r.Quiet})
	}
	f.Rounds = rounds
	return f
}

// TestShrinkFound shrinks the history that ROBUSTNESS_SHRINK names, each try in a fresh sandbox, for ROBUSTNESS_SECONDS at most, and writes
// what is left of it beside it.
func TestShrinkFound(t *testing.T) {
	path := os.Getenv("ROBUSTNESS_SHRINK")
	if path == "" {
		t.Skip("ROBUSTNESS_SHRINK names no history")
	}
	f := readFound(t, path)
	deadline := time.Now().Add(time.Duration(number("ROBUSTNESS_SECONDS", 1800)) * time.Second)
	try := filepath.Join(t.TempDir(), "try.json")
	best := strings.TrimSuffix(path, ".json") + ".shrunk.json"
	shows := func(less found) bool {
		if time.Now().After(deadline) {
			return false
		}
		text, _ := json.MarshalIndent(less, "", " ")
		if err := os.WriteFile(try, text, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), sandboxScript("enter"), "--service-nodes", "2", "--hypervisors", "2", "env", "TF_ACC=1", "ROBUSTNESS_REPLAY="+try,
			os.Args[0], "-test.v", "-test.run=^TestAccReplay$")
		out, _ := cmd.CombinedOutput()
		shown := strings.Contains(string(out), "SHOWN: ")
		t.Logf("%d rounds, %d operations, %d resources: shown: %t", len(less.Rounds), operationsOf(less), len(resourcesOf(less)), shown)
		if shown {
			_ = os.WriteFile(best, text, 0o600)
		}
		return shown
	}
	f = shrink(f, shows)
	t.Logf("%s: %s in %d operations", best, f.Violation, operationsOf(f))
}

func TestShrink(t *testing.T) {
	var f found
	for i := range 20 {
		r := round{}
		for _, s := range []string{"a", "b"} {
			r.Operations = append(r.Operations, operation{State: s, Action: fmt.Sprint(i), Config: configuration{{Type: "route", Key: "x"}, {Type: "route", Key: "y"}}})
		}
		f.Rounds = append(f.Rounds, r)
	}
	asked := 0
	// Shown by what state b does in round 7, before what state a does in round 13 with the route y.
	got := shrink(f, func(f found) bool {
		asked++
		began := false
		for _, r := range f.Rounds {
			for _, o := range r.Operations {
				began = began || o.State == "b" && o.Action == "7"
				if began && o.State == "a" && o.Action == "13" && o.Config.find("virtcluster_route.y") >= 0 {
					return true
				}
			}
		}
		return false
	})
	if n := operationsOf(got); n != 2 || len(resourcesOf(got)) != 1 {
		t.Errorf("%d operations and %v are left after %d tries", n, resourcesOf(got), asked)
	}
}
