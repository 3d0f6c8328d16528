package main

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// serveJobs runs jobs for the process that listens at a socket, until that one ends the connection.
func serveJobs(socket string) error {
	outside, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	if err := rpc.Register(Worker{}); err != nil {
		return err
	}
	rpc.ServeConn(outside)
	return nil
}

// fewCollections has the programs in Go, which are the tests, the provider and the programs that apply, collect what they do not need any
// more at five times of what they do: of the tests' time on processors, a quarter less, for 30 MB each.
const fewCollections = "GOGC=400"

// Worker runs jobs, several beside each other.
type Worker struct{}

// Answer is what came of a job.
type Answer struct {
	Output  string
	Failed  bool
	Seconds float64
}

// Run runs tests as `go test` does, in the package's directory, where its testdata is.
func (Worker) Run(j Job, got *Answer) error {
	began := time.Now()
	log, err := os.CreateTemp("", "job") // a pipe would wait for whoever holds it open
	if err != nil {
		return err
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
	cmd.Env = append(os.Environ(), fewCollections, "TF_ACC=1", "TF_ACC_PROVIDER_NAMESPACE=virtcluster", "TF_ACC_PROVIDER_HOST="+registry, "TF_ACC_TERRAFORM_PATH="+j.Program)
	err = cmd.Run()
	text, readErr := os.ReadFile(log.Name())
	*got = Answer{Output: string(text), Failed: cmp.Or(err, readErr) != nil, Seconds: time.Since(began).Seconds()}
	return nil
}

// useWorker runs jobs of a queue by a worker that a command starts, which gets the socket to connect to as its last argument. The jobs that
// it does not come to are left; that which it has when it dies is lost.
func (a *acceptance) useWorker(q *queue, argv []string, stages ...[]string) {
	directory, err := os.MkdirTemp(a.work, "")
	if err != nil {
		fmt.Fprintln(a.w, err)
		return
	}
	socket := filepath.Join(directory, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		fmt.Fprintln(a.w, err)
		return
	}
	cmd := exec.Command(argv[0], append(argv[1:], socket)...)
	cmd.Stdout, cmd.Stderr = a.w, os.Stderr
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Run()
		_ = listener.Close()
	}()
	inside, err := listener.Accept()
	if err != nil {
		fmt.Fprintf(a.w, "a sandbox did not come up: %s: %v\n", argv[0], <-ended)
		return
	}
	worker := rpc.NewClient(inside)
	runLanes(a.w, q, func(j *Job) bool {
		var got Answer
		if worker.Call("Worker.Run", j, &got) != nil {
			return false
		}
		a.reports[j.CLI].addAnswer(a.w, j, got)
		return true
	}, stages...)
	_ = worker.Close()
	<-ended // the answers say what failed
}

// runLanes takes jobs of a queue until there are none for it. A lane takes those of its kinds, such as "networks,alone", one after the
// other, in this order of kinds. The lanes of one stage run beside each other, those of the next when all before have ended.
func runLanes(w io.Writer, q *queue, run func(*Job) bool, stages ...[]string) {
	for _, stage := range stages {
		var lanes sync.WaitGroup
		for _, kinds := range stage {
			lanes.Go(func() {
				began, busy := time.Now(), time.Duration(0)
				for j := q.takeJob(strings.Split(kinds, ",")); j != nil; j = q.takeJob(strings.Split(kinds, ",")) {
					from := time.Now()
					if !run(j) {
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
