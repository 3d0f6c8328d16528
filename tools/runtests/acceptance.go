package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// acceptance is a run of the acceptance tests in fresh sandboxes: all of them with the first program, and with the second those that
// acctest.BothCLIs marks. PACKAGES narrows it to packages (./internal/resources/network), RUN to tests (a regular expression, for both),
// ACC_SKIP leaves tests out, CLIS names programs. With ACC_MINUTES nothing is begun later than that, and what was not is named: a machine
// that is too slow for its time still tells something. ACC_TIMEOUT is how many seconds a job may take. ACC_JUNIT names a file for the results.
type acceptance struct {
	w       io.Writer
	root    string
	work    string // a directory for what is compiled
	minutes int
	whole   bool   // neither PACKAGES nor RUN
	broken  string // a line for each package that does not build, or whose tests are not listed
	reports map[string]*report
}

func runAcceptance(w io.Writer, root string) error {
	_ = os.Unsetenv("TF_ACC") // where the tests are listed none of them runs
	a := &acceptance{w: &lockedWriter{w: w}, root: root, whole: os.Getenv("PACKAGES")+os.Getenv("RUN") == "", reports: map[string]*report{}}
	var err error
	if minutes := os.Getenv("ACC_MINUTES"); minutes != "" {
		if a.minutes, err = strconv.Atoi(minutes); err != nil {
			return fmt.Errorf("ACC_MINUTES: %w", err)
		}
	}
	if a.work, err = os.MkdirTemp("", "acceptance"); err != nil {
		return err
	}
	defer os.RemoveAll(a.work)
	clis, err := findCLIs(root)
	if err != nil {
		return err
	}
	packages, err := a.compilePackages()
	if err != nil {
		return err
	}
	all := &queue{}
	for i, cli := range clis {
		if err := a.planCLI(all, cli, packages, i == 0 || os.Getenv("RUN") != ""); err != nil {
			return err
		}
	}
	return a.runJobs(all, clis)
}

// runJobs has two sandboxes take from one queue until it is empty. One has a lane for each of machines and services; the other one, with a
// single lane, begins with the hunt and the histories, which have sandboxes of their own, and goes on with what must be alone and with
// networks, which wait most of the time. More at a time would take longer: processes begin one after the other, however many processors
// there are.
func (a *acceptance) runJobs(all *queue, clis []program) error {
	all.limitJobs(a.minutes)
	several := len(all.jobs) > 1
	var shares []string
	var second sync.WaitGroup
	second.Go(func() {
		if a.whole {
			shares = append(shares, a.runShare("hunt", a.root, 5, 600, "HUNT_SEED=1", "HUNT_SAMPLE=40", "HUNT_SECONDS=60"),
				a.runShare("robustness", filepath.Join(a.root, "test/robustness"), 2, 900, "ROBUSTNESS_SEED=1", "ROBUSTNESS_SECONDS=100", "ROBUSTNESS_HISTORIES_SECONDS=100"))
		}
		if several {
			if all.hasKind(hypervisorsKind) {
				a.useSandbox(all, []string{hypervisorsKind})
			}
			a.useSandbox(all, []string{"alone,networks"}, []string{"services,machines"})
		}
	})
	a.useSandbox(all, []string{"machines", "services"}, []string{"alone,networks"})
	second.Wait()
	// Where a sandbox did not come up, there was time left, and the tests count as lost.
	dropped := all.dropWaiting()

	// Real daemons on a busy machine miss a deadline now and then. What failed gets one more try, in the open and in a fresh sandbox, where
	// nothing is left of the first: both outputs are shown, and a second failure counts.
	again := &queue{}
	for _, cli := range clis {
		a.reports[cli.name].dropJobs(a.w, dropped, a.minutes)
		again.jobs = append(again.jobs, a.reports[cli.name].listAgain()...)
	}
	if len(again.jobs) > 0 {
		said := "again, in a fresh sandbox:"
		for _, j := range again.jobs {
			said += " " + strings.Join(j.Tests, " ")
			if a.minutes > 0 {
				j.Limit = 600
			}
		}
		fmt.Fprintln(a.w, said)
		again.limitJobs(min(a.minutes, 5))
		a.useSandbox(again, []string{"machines,services,networks,alone,hypervisors"})
	}
	failed := strings.Count(a.broken, "\n")
	var reports []*report
	for _, cli := range clis {
		failed += a.reports[cli.name].printSummary(a.w)
		reports = append(reports, a.reports[cli.name])
	}
	fmt.Fprint(a.w, a.broken)
	for _, log := range shares {
		fmt.Fprint(a.w, log)
		if !strings.HasSuffix(log, "\n1 passed, 0 failed\n") {
			failed++
		}
	}
	if file := os.Getenv("ACC_JUNIT"); file != "" {
		if err := writeJUnit(file, reports); err != nil {
			return err
		}
	}
	if failed > 0 {
		return errFailed
	}
	return nil
}

// useSandbox runs jobs of a queue in a fresh sandbox, which has further hypervisors where the stages have tests that take them. Those that it
// does not come to are left, or lost.
func (a *acceptance) useSandbox(q *queue, stages ...[]string) {
	if q.countWaiting() == 0 {
		return
	}
	hypervisors := "0"
	if strings.Contains(fmt.Sprint(stages), hypervisorsKind) && q.hasKind(hypervisorsKind) {
		hypervisors = "3"
	}
	a.useWorker(q, []string{a.sandboxProgram(), "--service-nodes", "3", "--hypervisors", hypervisors, os.Args[0], "worker"}, stages...)
}

// runShare runs a seeded part of the tests in a directory below test, in a sandbox of its own, and returns what it printed and whether it
// passed. The environment may say other values of its settings.
func (a *acceptance) runShare(name, directory string, nodes, seconds int, settings ...string) string {
	var log bytes.Buffer
	run := func(directory string, argv ...string) error {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = directory, &log, &log
		return cmd.Run()
	}
	for i, setting := range settings {
		key, value, _ := strings.Cut(setting, "=")
		settings[i] = key + "=" + cmp.Or(os.Getenv(key), value)
	}
	binary := filepath.Join(a.work, name)
	err := run(a.root, "go", "test", "-c", "-o", binary, "./test/"+name)
	if err == nil {
		argv := []string{"timeout", "--kill-after=10", strconv.Itoa(seconds), a.sandboxProgram(), "--service-nodes", strconv.Itoa(nodes)}
		argv = append(argv, "--hypervisors", "2", "env", "TF_ACC=1", fewCollections)
		argv = append(append(argv, settings...), binary)
		if name == "robustness" {
			argv = append(argv, "-test.v", "-test.run", "^TestAcc(Robustness|Histories)$")
		}
		err = run(directory, argv...)
	}
	if err != nil {
		return log.String() + "\n0 passed, 1 failed\n"
	}
	return log.String() + "\n1 passed, 0 failed\n"
}

// lockedWriter has those who write at the same time write one after the other.
type lockedWriter struct {
	turn sync.Mutex
	w    io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.turn.Lock()
	defer l.turn.Unlock()
	return l.w.Write(p)
}

func (a *acceptance) sandboxProgram() string { return filepath.Join(a.root, "test/sandbox/enter") }
