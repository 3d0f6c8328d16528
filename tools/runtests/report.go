package main

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

// report is what came of the jobs of one program: every planned test, with what came of each try.
type report struct {
	cli   string
	mutex sync.Mutex
	jobs  []*Job
	tries map[[2]string][]*result // by package and test
	died  map[*Job]bool
}

func newReport(cli string, jobs []*Job) *report {
	return &report{cli: cli, jobs: jobs, tries: map[[2]string][]*result{}, died: map[*Job]bool{}}
}

// addAnswer notes what came of a job, and prints its failures and a line for it.
func (r *report) addAnswer(w io.Writer, j *Job, a Answer) {
	if a.Failed {
		a.Output += "\nFAIL\n" // the last result is not known before a line like this one, which a process that dies does not print
	}
	all, err := convertOutput(j.Package, a.Output)
	var said bytes.Buffer // so that it stays together
	r.mutex.Lock()
	defer r.mutex.Unlock()
	verdict, failed := "ok", false
	for _, of := range all {
		if of.test != "" {
			failed = r.noteResult(&said, j.Package, of) || failed
		}
	}
	if a.Failed || err != nil {
		verdict = "FAIL"
		// A package that was stopped, or died, has no failed test to show for it.
		if r.died[j] = !failed || strings.Contains("\n"+a.Output, "\npanic: "); !failed {
			lines := strings.Split(a.Output, "\n")
			fmt.Fprintf(&said, "%s\npanic: %s ended early\n", strings.Join(lines[max(0, len(lines)-40):], "\n"), j.Package)
		}
	}
	fmt.Fprintf(&said, "%s\t%s\t%s %.0fs\n", verdict, j.Package, j.CLI, a.Seconds)
	_, _ = said.WriteTo(w)
}

// noteResult notes what came of a test, and prints what a failed one printed. It says whether it failed.
func (r *report) noteResult(w io.Writer, pkg string, of *result) bool {
	r.tries[[2]string{pkg, of.test}] = append(r.tries[[2]string{pkg, of.test}], of)
	if of.verdict == "fail" {
		of.printOutput(w)
	}
	return of.verdict == "fail"
}

// lastVerdict is that of a test's last try; "" where it never ended, or did not run.
func (r *report) lastVerdict(pkg, test string) string {
	tries := r.tries[[2]string{pkg, test}]
	if len(tries) == 0 {
		return ""
	}
	return tries[len(tries)-1].verdict
}

// listAgain makes jobs of the tests that failed. What died is not tried again: what ended it is a fault of its own.
func (r *report) listAgain() (again []*Job) {
	for _, j := range r.jobs {
		second := *j
		second.Tests = slices.DeleteFunc(slices.Clone(j.Tests), func(test string) bool { return r.lastVerdict(j.Package, test) != "fail" })
		if !r.died[j] && len(second.Tests) > 0 {
			again = append(again, &second)
		}
	}
	return again
}

// dropJobs takes jobs out of what was planned, and names their tests.
func (r *report) dropJobs(w io.Writer, dropped []*Job, minutes int) {
	r.jobs = slices.DeleteFunc(r.jobs, func(j *Job) bool {
		isDropped := slices.Contains(dropped, j)
		if isDropped {
			fmt.Fprintf(w, "not begun within %d minutes with %s, %s: %s\n", minutes, j.CLI, j.Package, strings.Join(j.Tests, " "))
		}
		return isDropped
	})
}

// slowest is how many tests are named: what takes longest is where a run is made shorter.
const slowest = 12

// printSummary names the slowest tests, those that passed at the second try only, were skipped, failed or were lost, and counts all by their last
// verdicts. It returns how many did not pass.
func (r *report) printSummary(w io.Writer) (failed int) {
	var passed []*result
	skipped := 0
	var said strings.Builder
	for _, j := range r.jobs {
		for _, test := range j.Tests {
			tries := r.tries[[2]string{j.Package, test}]
			switch r.lastVerdict(j.Package, test) {
			case "pass":
				passed = append(passed, tries[len(tries)-1])
				if len(tries) > 1 {
					fmt.Fprintln(&said, "passed at the second try:", test)
				}
			case "skip":
				skipped++
				tries[len(tries)-1].printSkip(&said)
			case "fail":
				failed++
				fmt.Fprintln(&said, "failed:", cmp.Or(test, j.Package))
			default:
				failed++
				fmt.Fprintln(&said, "did not end:", test)
			}
		}
	}
	slices.SortStableFunc(passed, func(a, b *result) int { return cmp.Compare(b.seconds, a.seconds) })
	for i, of := range passed[:min(slowest, len(passed))] {
		fmt.Fprintf(w, "%s%s %.0f s", map[bool]string{true: "slowest: ", false: ", "}[i == 0], of.test, of.seconds)
	}
	fmt.Fprintf(w, "\n%s%s: %d skipped\n%d passed, %d failed\n", said.String(), r.cli, skipped, len(passed), failed)
	return failed
}

// junitCase is a test as programs that show results of tests read it: the tries that failed before the last one are in it by themselves.
type junitCase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Seconds float64  `xml:"time,attr"`
	Failure string   `xml:"failure,omitempty"`
	Flaky   []string `xml:"flakyFailure"`
	Rerun   []string `xml:"rerunFailure"`
	Skipped *string  `xml:"skipped"`
}

type junitSuite struct {
	Name  string      `xml:"name,attr"`
	Cases []junitCase `xml:"testcase"`
}

// writeJUnit writes what came of all tests to a file.
func writeJUnit(file string, reports []*report) error {
	var all struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	for _, r := range reports {
		suite := junitSuite{Name: r.cli}
		for _, j := range r.jobs {
			for _, test := range j.Tests {
				suite.Cases = append(suite.Cases, r.describeCase(j.Package, test))
			}
		}
		all.Suites = append(all.Suites, suite)
	}
	text, err := xml.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

func (r *report) describeCase(pkg, test string) junitCase {
	c := junitCase{Class: pkg, Name: test}
	tries := r.tries[[2]string{pkg, test}]
	if len(tries) == 0 {
		c.Failure = "did not end"
		return c
	}
	last, before := tries[len(tries)-1], &c.Rerun
	c.Seconds = last.seconds
	switch output := last.output.String(); last.verdict {
	case "pass":
		before = &c.Flaky
	case "skip":
		c.Skipped = &output
	default:
		c.Failure = "did not pass:\n" + output
	}
	for _, try := range tries[:len(tries)-1] {
		*before = append(*before, try.output.String())
	}
	return c
}
