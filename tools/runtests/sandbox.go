package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// answer is a line that a worker prints: that it is ready, with the ID 0, or what came of a job.
type answer struct {
	ID      int
	Output  string
	Failed  bool
	Seconds int
}

// serveJobs runs the jobs that it reads, one a line, beside each other, and answers each. It ends at the end of what it reads.
func serveJobs(in io.Reader, out io.Writer) error {
	var turn sync.Mutex
	say := func(a answer) {
		turn.Lock()
		defer turn.Unlock()
		_ = json.NewEncoder(out).Encode(a) // who does not listen any more ends the sandbox
	}
	say(answer{})
	for jobs := json.NewDecoder(in); ; {
		var j job
		if err := jobs.Decode(&j); err != nil {
			return nil //nolint:nilerr // this is how it ends
		}
		go func() { say(runJob(j)) }()
	}
}

// runJob runs tests as `go test` does, in the package's directory, where its testdata is.
func runJob(j job) answer {
	began := time.Now()
	log, err := os.CreateTemp("", "job") // a pipe would wait for whoever holds it open
	if err != nil {
		return answer{ID: j.ID, Output: err.Error(), Failed: true}
	}
	defer os.Remove(log.Name())
	// The sandbox has a copy of the program that begins faster.
	if own := filepath.Join(os.Getenv("SANDBOX_STATE"), "bin", j.CLI); os.Getenv("SANDBOX_STATE") != "" {
		if _, err := os.Stat(own); err == nil {
			j.Program = own
		}
	}
	// Each program takes a source without a host for its own registry's, and the tests serve the provider under that name.
	registry := map[string]string{"terraform": "registry.terraform.io", "tofu": "registry.opentofu.org"}[j.CLI]
	cmd := exec.Command("timeout", "--kill-after=10", strconv.Itoa(j.Limit), j.Binary,
		"-test.v=test2json", "-test.parallel", "4", "-test.run", "^("+strings.Join(j.Tests, "|")+")$"+j.Subtest)
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(j.Root, j.Package), log, log
	cmd.Env = append(os.Environ(), "TF_ACC=1", "TF_ACC_PROVIDER_NAMESPACE=virtcluster", "TF_ACC_PROVIDER_HOST="+registry, "TF_ACC_TERRAFORM_PATH="+j.Program)
	err = cmd.Run()
	text, readErr := os.ReadFile(log.Name())
	return answer{ID: j.ID, Output: string(text), Failed: cmp.Or(err, readErr) != nil, Seconds: int(time.Since(began).Seconds())}
}

// worker is a process that runs jobs, as serveJobs does.
type worker struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	turn  sync.Mutex
	asked map[int]chan answer // by job, and 0 for being ready; nil and closed when the worker ended
}

// startWorker starts a worker, and returns it when it is ready. What it prints else goes to w.
func startWorker(w io.Writer, argv ...string) (*worker, error) {
	ready := make(chan answer, 1)
	wk := &worker{cmd: exec.Command(argv[0], argv[1:]...), asked: map[int]chan answer{0: ready}}
	wk.cmd.Stderr = os.Stderr
	in, err := wk.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := wk.cmd.StdoutPipe()
	if wk.in = in; err == nil {
		err = wk.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	go wk.readAnswers(w, out)
	if _, ok := <-ready; !ok {
		return nil, fmt.Errorf("%s: %w", argv[0], cmp.Or(wk.cmd.Wait(), io.EOF))
	}
	return wk, nil
}

func (wk *worker) readAnswers(w io.Writer, out io.Reader) {
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		var a answer
		switch {
		case err != nil:
			wk.turn.Lock()
			defer wk.turn.Unlock()
			for _, waits := range wk.asked {
				close(waits)
			}
			wk.asked = nil
			return
		case json.Unmarshal([]byte(line), &a) != nil:
			fmt.Fprint(w, line)
		default:
			wk.turn.Lock()
			if waits := wk.asked[a.ID]; waits != nil {
				waits <- a
				delete(wk.asked, a.ID)
			}
			wk.turn.Unlock()
		}
	}
}

// run has the worker run a job; false where it ended meanwhile, or before.
func (wk *worker) run(j *job) (answer, bool) {
	waits := make(chan answer, 1)
	wk.turn.Lock()
	if wk.asked == nil {
		wk.turn.Unlock()
		return answer{}, false
	}
	wk.asked[j.ID] = waits
	err := json.NewEncoder(wk.in).Encode(j)
	wk.turn.Unlock()
	if err != nil {
		return answer{}, false
	}
	a, ok := <-waits
	return a, ok
}

// end ends the worker and waits for that.
func (wk *worker) end() {
	_ = wk.in.Close()
	_ = wk.cmd.Wait() // the jobs' answers say what failed
}

// runLanes takes jobs of a queue until there are none for it. A lane takes those of its kinds, such as "networks,alone", one after the
// other, in this order of kinds. The lanes of one stage run beside each other, those of the next when all before have ended.
func runLanes(w io.Writer, q *queue, runJob func(*job) bool, stages ...[]string) {
	for _, stage := range stages {
		var lanes sync.WaitGroup
		for _, kinds := range stage {
			lanes.Go(func() {
				began, busy := time.Now(), time.Duration(0)
				for j := q.takeJob(strings.Split(kinds, ",")); j != nil; j = q.takeJob(strings.Split(kinds, ",")) {
					from := time.Now()
					if !runJob(j) {
						break
					}
					busy += time.Since(from)
				}
				fmt.Fprintf(w, "lane %s: %.0f s of tests, ended after %.0f s\n", kinds, busy.Seconds(), time.Since(began).Seconds())
			})
		}
		lanes.Wait()
	}
}
