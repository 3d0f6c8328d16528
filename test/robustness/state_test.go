package robustness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// state is a directory with a configuration and a state, and the program that works on it.
type state struct {
	name    string
	number  int
	program string
	dir     string
	// backend keeps the state by HTTP with a password, nil where it is a file.
	backend map[string]any
	store   *store
	config  configuration
	// wrote are all resources that it ever had in its configuration, by their addresses.
	wrote map[string]resource
	// services are what its service nodes run, which they keep until a destroy.
	services map[string][]string
	// programConfig is the program's configuration where it is not that of the sandbox: with another provider.
	programConfig string
	// forgetful says that the state may lack what was made and finished, for people to import: a state of before was put back, or the
	// program was killed between the provider's answer and its own writing.
	forgetful bool
	// unsettled says that its last run did not end well.
	unsettled bool
}

// runLimit is how long one run of a program may take: longer than any default timeout of the provider.
const runLimit = 15 * time.Minute

func newState(ctx context.Context, number int, program, dir string, remote bool) (*state, error) {
	s := &state{name: letter(number), number: number, program: program, dir: filepath.Join(dir, letter(number)), wrote: map[string]resource{}}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	if err := writeImages(s.dir); err != nil {
		return nil, err
	}
	if !remote {
		return s, s.write(nil)
	}
	s.store = &store{path: s.file()}
	url, err := s.store.serve()
	if err != nil {
		return nil, err
	}
	s.backend = map[string]any{"address": url, "username": "robot", "password": secret}
	if err := s.write(nil); err != nil {
		return nil, err
	}
	if r := s.run(ctx, nil, "init", "-no-color", "-input=false"); r.Err != "" {
		return nil, fmt.Errorf("init of state %s: %s: %s", s.name, r.Err, r.Output)
	}
	return s, nil
}

func (s *state) file() string { return filepath.Join(s.dir, "terraform.tfstate") }

func (s *state) write(c configuration) error {
	s.config = c
	for _, r := range c {
		s.wrote[r.address()] = r
	}
	// A service node that a killed run made and that the state lacks is only taken over by a configuration that has it.
	if s.services = c.services(s.services); len(c) == 0 && !s.forgetful && !s.unsettled {
		s.services = nil
	}
	text, err := c.render(s.backend, s.services)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, "main.tf.json"), text, 0o600)
}

// has returns what the state believes to have.
func (s *state) has() ([]believed, error) {
	text, err := os.ReadFile(s.file())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return parseState(text)
}

// result is how a run of a program ended.
type result struct {
	Argv   []string      `json:"argv"`
	Took   time.Duration `json:"took"`
	Status int           `json:"status"`
	Err    string        `json:"err,omitempty"`
	Output string        `json:"-"`
	// Memory is the most that the program or the provider had, in MiB.
	Memory int64 `json:"memory"`
	Late   bool  `json:"late,omitempty"`
	Killed bool  `json:"killed,omitempty"`
}

// kill is the end of a run at a moment, or at one of the provider's failpoints.
type kill struct {
	After     time.Duration  `json:"after,omitempty"`
	Signal    syscall.Signal `json:"signal,omitempty"`
	Provider  bool           `json:"provider,omitempty"`
	Failpoint string         `json:"failpoint,omitempty"`
}

// run runs the program; a kill ends it, or its provider, after a time.
func (s *state) run(ctx context.Context, k *kill, argv ...string) result {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, argv...)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, &out, &out
	cmd.Env = append(os.Environ(), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
	if k != nil && k.Failpoint != "" {
		cmd.Env = append(cmd.Env, "VIRTCLUSTER_FAILPOINT="+k.Failpoint)
	}
	if s.programConfig != "" {
		cmd.Env = append(cmd.Env, "TF_CLI_CONFIG_FILE="+s.programConfig)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	r := result{Argv: append([]string{filepath.Base(s.program)}, argv...)}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		r.Err, r.Status = err.Error(), -1
		return r
	}
	ended := make(chan struct{})
	var killing sync.WaitGroup
	if k != nil && k.Failpoint == "" {
		killing.Go(func() {
			select {
			case <-ended:
			case <-time.After(k.After):
				r.Killed = end(cmd.Process.Pid, *k)
			}
		})
	}
	err := cmd.Wait()
	close(ended)
	killing.Wait()
	r.Took, r.Output, r.Status = time.Since(began), out.String(), cmd.ProcessState.ExitCode()
	r.Late = ctx.Err() != nil
	if k != nil && k.Failpoint != "" && r.Status != 0 {
		r.Killed = true
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.Memory = usage.Maxrss / 1024
	}
	if err != nil {
		r.Err = err.Error()
	}
	return r
}

// end sends a signal to a program or to its provider, and says whether it was there.
func end(pid int, k kill) bool {
	if !k.Provider {
		return syscall.Kill(pid, k.Signal) == nil
	}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		for _, field := range strings.Fields(string(children)) {
			name, _ := os.ReadFile("/proc/" + field + "/cmdline")
			if child, _ := strconv.Atoi(field); strings.Contains(string(name), "terraform-provider-virtcluster") {
				return syscall.Kill(child, k.Signal) == nil
			}
		}
	}
	return false
}

// lines are what the program says, without the frames that it draws.
func (r result) lines() []string {
	var lines []string
	for line := range strings.SplitSeq(r.Output, "\n") {
		if line = strings.Trim(line, "│╷╵ \t"); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// flat is what the program says in one line.
func (r result) flat() string { return strings.Join(r.lines(), " ") }

// message is what the program says went wrong, shortened.
func (r result) message() string {
	lines := r.lines()
	i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "Error") })
	if i < 0 {
		i = max(0, len(lines)-5)
	}
	text := strings.Join(lines[i:], " ")
	return text[:min(len(text), 700)]
}

// store keeps a state by HTTP, as the backend of that name does, and behind a password.
type store struct {
	path string
	mu   sync.Mutex
}

func (s *store) serve() (url string, err error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0") //nolint:noctx // there is nothing to wait for
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	return "http://robot:" + secret + "@" + l.Addr().String() + "/state", nil
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Method {
	case http.MethodGet:
		text, err := os.ReadFile(s.path)
		if err != nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = w.Write(text)
	case http.MethodPost:
		text, _ := io.ReadAll(r.Body)
		_ = os.WriteFile(s.path, text, 0o600)
	case http.MethodDelete:
		_ = os.Remove(s.path)
	}
}
