package faults

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflogtest"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// client starts this binary again as a process that does what TestClient does with the arguments.
func client(opts sshhost.Options, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestClient$")
	cmd.Env = append(os.Environ(), "FAULTS_CLIENT="+strings.Join(args, " "), "FAULTS_KNOWN_HOSTS="+opts.KnownHostsFile)
	return cmd
}

// TestClient is not a test but what client starts.
func TestClient(t *testing.T) {
	args := strings.Fields(os.Getenv("FAULTS_CLIENT"))
	if len(args) == 0 {
		return
	}
	h := machine(t, sshhost.Options{PrivateKeyFile: os.Getenv("SANDBOX_SSH_KEY"), KnownHostsFile: os.Getenv("FAULTS_KNOWN_HOSTS")})
	n, err := strconv.Atoi(args[2])
	if err != nil {
		t.Fatal(err)
	}
	engine := new(transaction.Engine)
	switch args[0] {
	case "killed": // DAEMON STEP
		s := subjects[slices.IndexFunc(subjects, func(s subject) bool { return s.Name() == args[1] })]
		err = engine.Commit(t.Context(), hosttest.NewFuse(h, n), s.Daemon, s.edit(after, nil))
	case "killed-exposing": // CHANGE STEP
		err = engine.Commit(t.Context(), hosttest.NewFuse(h, n), exposureSubject.Daemon, exposureChanges[args[1]].edit)
	case "killed-in-reload": // DAEMON 0
		s := subjects[slices.IndexFunc(subjects, func(s subject) bool { return s.Name() == args[1] })]
		die := func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }
		err = engine.Commit(t.Context(), h, &meddled{Daemon: s.Daemon, before: die}, s.edit(after, nil))
	case "frontends": // PREFIX NUMBER
		for i := range n {
			edit := transaction.Edit{Owner: args[1], Apply: func(tree transaction.Tree) error {
				return haproxy.SetProxy(tree, saying(args[1]+strconv.Itoa(i), port(args[1], i), args[1]), owner.Mark{})
			}}
			if err = engine.Commit(t.Context(), h, haproxy.Daemon{}, edit); err != nil {
				break
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// port is where the i-th frontend of a client listens.
func port(client string, i int) int64 { return 18000 + 100*int64(client[0]-'a') + int64(i) }

func TestAccProviderKilledAtEveryStepOfACommit(t *testing.T) {
	opts := begin(t)
	for _, s := range subjects {
		t.Run(s.Name(), func(t *testing.T) {
			h := s.start(t, opts)
			step := 1
			for ; ; step++ {
				out, err := client(opts, "killed", s.Name(), strconv.Itoa(step)).CombinedOutput()
				if err == nil {
					break
				}
				when := fmt.Sprintf("killed at step %d", step)
				if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("%s: %v: %s", when, err, out)
				}
				s.serves(t, when, before, after)
				s.converges(t, h)
				if err := s.commit(t, h, s.edit(before, nil)); err != nil {
					t.Fatal(err)
				}
			}
			if step < 15 {
				t.Errorf("only %d steps: the fuse does not burn", step)
			}
			t.Logf("%d steps", step-1)
		})
	}
}

func TestAccTwoProcessesLoseNothingOfEachOther(t *testing.T) {
	opts := begin(t)
	h := haproxySubject.start(t, opts)
	const each = 5
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		wg.Go(func() {
			if out, err := client(opts, "frontends", name, strconv.Itoa(each)).CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", name, err, out)
			}
		})
	}
	wg.Wait()
	tree, err := new(transaction.Engine).Snapshot(t.Context(), h, haproxy.Daemon{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		for i := range each {
			if _, err := haproxy.FindFrontend(tree, name+strconv.Itoa(i)); err != nil {
				t.Error(err)
			}
			url := fmt.Sprintf("http://%s:%d/", acctest.ServiceNodes(t, 1)[0], port(name, i))
			if got, err := acctest.Try(t.Context(), "hypervisor", "curl", "-sS", "--max-time", "3", url); got != name {
				t.Errorf("%s answers %q, %v", url, got, err)
			}
		}
	}
	haproxySubject.clean(t, "two processes")
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func TestAccProcessThatWaitsSaysForWhom(t *testing.T) {
	opts := begin(t)
	s := haproxySubject
	h := s.start(t, opts)
	unlock, err := machine(t, opts).Lock(t.Context(), s.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	log := &syncBuffer{}
	committed := make(chan error, 1)
	go func() {
		committed <- new(transaction.Engine).Commit(tflogtest.RootLogger(t.Context(), log), h, s.Daemon, s.edit(after, nil))
	}()
	for start := time.Now(); !strings.Contains(log.String(), "waiting for lock"); time.Sleep(50 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("no word about the lock: %s", log)
		}
	}
	host, _ := os.Hostname()
	if who := fmt.Sprintf("@%s, pid %d, since ", host, os.Getpid()); !strings.Contains(log.String(), who) {
		t.Errorf("want %q in %s", who, log)
	}
	s.serves(t, "while it waits", before)
	unlock()
	if err := <-committed; err != nil {
		t.Error(err)
	}
	s.serves(t, "once it had its turn", after)
}
