package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// event is a line of what `go test -json` and `go tool test2json` print.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// result is what came of one test, with what it and its subtests printed. One without a test's name has what the package printed else.
type result struct {
	pkg, test string
	verdict   string // pass, fail or skip; "" where it did not end
	seconds   float64
	output    strings.Builder
}

// readResults reads events. The results are in the order in which tests began.
func readResults(r io.Reader) ([]*result, error) {
	var all []*result
	named := map[[2]string]*result{}
	for events := json.NewDecoder(r); ; {
		var e event
		if err := events.Decode(&e); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return all, fmt.Errorf("read the events of go test: %w", err)
		}
		test, _, isSubtest := strings.Cut(e.Test, "/")
		pkg, _, _ := strings.Cut(e.Package+e.ImportPath, " ") // what is built is "PACKAGE [PACKAGE.test]"
		of := named[[2]string{pkg, test}]
		if of == nil {
			of = &result{pkg: pkg, test: test}
			named[[2]string{pkg, test}] = of
			all = append(all, of)
		}
		of.output.WriteString(e.Output)
		if ended := e.Action == "pass" || e.Action == "fail" || e.Action == "skip"; ended && !isSubtest {
			of.verdict, of.seconds = e.Action, e.Elapsed
		}
	}
}

// convertOutput reads the results from what a package's tests printed with -test.v=test2json.
func convertOutput(pkg, output string) ([]*result, error) {
	cmd := exec.Command("go", "tool", "test2json", "-t", "-p", pkg)
	cmd.Stdin = strings.NewReader(output)
	events, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go tool test2json: %w", err)
	}
	return readResults(bytes.NewReader(events))
}

// printOutput prints what a test printed, without what the framework always logs.
func (r *result) printOutput(w io.Writer) {
	for line := range strings.Lines(r.output.String()) {
		if !strings.Contains(line, " sdk.proto: Response contains ") {
			fmt.Fprint(w, line)
		}
	}
}

// printSkip names a test that was skipped, and why: a check that did not run is not a check that passed.
func (r *result) printSkip(w io.Writer) {
	for line := range strings.Lines(r.output.String()) {
		if !strings.HasPrefix(line, "=== ") {
			fmt.Fprint(w, "  "+line)
		}
	}
}
