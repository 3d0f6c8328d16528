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
	r := newReport("unit", nil)
	for _, module := range []string{root, filepath.Join(root, "tools")} {
		vet := exec.Command("go", "vet", "./...")
		vet.Dir, vet.Stdout, vet.Stderr = module, w, os.Stderr
		failed = errors.Join(failed, vet.Run())
		test := exec.Command("go", "test", "-json", "-skip", "^TestAcc", "./...")
		test.Dir, test.Stderr = module, os.Stderr
		out, err := test.Output()
		all, readErr := readResults(bytes.NewReader(out))
		failed = errors.Join(failed, err, readErr)
		for _, of := range all {
			isPackage := of.test == ""
			if isPackage && of.verdict != "skip" {
				lines := strings.Split(strings.TrimSpace(of.output.String()), "\n")
				fmt.Fprintln(w, lines[len(lines)-1])
			}
			// A package that did not compile has no failed test to show for it, and counts as one.
			if isPackage && (of.verdict != "fail" || slices.ContainsFunc(all, func(t *result) bool {
				return t.pkg == of.pkg && t.test != "" && t.verdict != "pass" && t.verdict != "skip"
			})) {
				continue
			}
			r.jobs = append(r.jobs, &Job{Package: of.pkg, Tests: []string{of.test}})
			r.noteResult(w, of.pkg, of)
		}
	}
	if r.printSummary(w) > 0 || failed != nil {
		return errFailed
	}
	return nil
}
