package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// runUnit runs go vet and every test that needs no sandbox, in this module too, and prints what failed and the count.
func runUnit(w io.Writer, root string) error {
	_ = os.Unsetenv("TF_ACC")
	var failed error
	var all []*result
	for _, module := range []string{root, filepath.Join(root, "tools")} {
		vet := exec.Command("go", "vet", "./...")
		vet.Dir, vet.Stdout, vet.Stderr = module, w, os.Stderr
		failed = errors.Join(failed, vet.Run())
		test := exec.Command("go", "test", "-json", "-skip", "^TestAcc", "./...")
		test.Dir, test.Stderr = module, os.Stderr
		out, err := test.Output()
		failed = errors.Join(failed, err)
		results, err := readResults(bytes.NewReader(out))
		failed = errors.Join(failed, err)
		all = append(all, results...)
	}
	passed, broken, skipped := 0, 0, 0
	for _, r := range all {
		switch {
		case r.test == "" && r.verdict != "skip":
			lines := strings.Split(strings.TrimSpace(r.output.String()), "\n")
			fmt.Fprintln(w, lines[len(lines)-1])
			// One that did not compile has no failed test to show for it.
			if r.verdict == "fail" && !slices.ContainsFunc(all, func(t *result) bool {
				return t.pkg == r.pkg && t.test != "" && t.verdict != "pass" && t.verdict != "skip"
			}) {
				broken++
				r.printOutput(w)
			}
		case r.test == "":
		case r.verdict == "pass":
			passed++
		case r.verdict == "skip":
			skipped++
		default:
			broken++
			r.printOutput(w)
		}
	}
	for _, r := range all {
		if r.test != "" && r.verdict == "skip" {
			r.printSkip(w)
		}
	}
	fmt.Fprintf(w, "unit: %d skipped\n%d passed, %d failed\n", skipped, passed, broken)
	if failed != nil || broken > 0 {
		return errFailed
	}
	return nil
}
