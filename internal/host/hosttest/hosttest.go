// Package hosttest is a machine in memory: files, locks and scripted commands, with failures at will.
package hosttest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

var _ host.Host = (*Host)(nil)

// Op is a kind of operation on a Host.
type Op string

// The operations that can be told to fail. Any is each of them.
const (
	Run       Op = "run"
	Read      Op = "read"
	Write     Op = "write"
	Remove    Op = "remove"
	Lock      Op = "lock"
	ReadGlobs Op = "read globs"
	WriteAll  Op = "write all"
	Any       Op = "any"
)

// Handler answers a command; it may change the machine through m, whose lock it must not hold.
type Handler func(ctx context.Context, h *Host, cmd host.Cmd) ([]byte, error)

// Host is one process's view of a machine; Another makes a second one on the same machine.
type Host struct {
	*machine
	mu     sync.Mutex
	counts map[Op]int
	faults []*fault
	log    []string
	held   map[string]*lease
}

type machine struct {
	name     string
	mu       sync.Mutex
	files    map[string]host.File
	handlers []handler
	locks    map[string]chan struct{}
	full     bool
}

// lease is a lock that a process holds.
type lease struct{ release func() }

type handler struct {
	match []string
	do    Handler
}

type fault struct {
	op    Op
	nth   int
	after bool
	err   error
}

// New makes a machine that holds the files.
func New(files ...host.File) *Host {
	m := &machine{name: "root@test", files: map[string]host.File{}, locks: map[string]chan struct{}{}}
	for _, f := range files {
		m.files[f.Path] = f
	}
	return m.newView()
}

func (m *machine) newView() *Host {
	return &Host{machine: m, counts: map[Op]int{}, held: map[string]*lease{}}
}

// Another is the same machine as a second process sees it: own faults and own log, same files and locks.
func (h *Host) Another() *Host { return h.machine.newView() }

// String names the machine.
func (h *Host) String() string { return h.name }

// On answers every command whose arguments begin with argv; what was registered last is asked first. A
// handler that returns ErrPass leaves the command to the next.
func (h *Host) On(do Handler, argv ...string) {
	h.machine.mu.Lock()
	defer h.machine.mu.Unlock()
	h.handlers = append(h.handlers, handler{match: argv, do: do})
}

// ErrPass is how a handler leaves a command to the handlers before it.
var ErrPass = errors.New("not mine")

// Answer is a handler that always answers the same: status 0 is success.
func Answer(stdout string, status int, stderr string) Handler {
	return func(_ context.Context, h *Host, cmd host.Cmd) ([]byte, error) {
		if status == 0 {
			return []byte(stdout), nil
		}
		return []byte(stdout), h.Exit(cmd, status, stderr)
	}
}

// Exit is a command's failure, as a real Host would report it.
func (h *Host) Exit(cmd host.Cmd, status int, stderr string) error {
	return &host.ExitError{Host: h.name, Cmd: cmd.String(), Code: status, Stderr: cmd.Mask(stderr)}
}

// Fail makes the n-th operation from now on (1 is the next) fail before it does anything.
func (h *Host) Fail(op Op, n int, err error) { h.addFault(&fault{op: op, err: err}, n) }

// FailAfter makes the n-th operation from now on do its work and fail all the same, as a connection does
// that breaks before the answer.
func (h *Host) FailAfter(op Op, n int, err error) {
	h.addFault(&fault{op: op, err: err, after: true}, n)
}

func (h *Host) addFault(f *fault, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f.nth = h.counts[f.op] + n
	h.faults = append(h.faults, f)
}

// Full makes every write fail for want of space, or no longer.
func (h *Host) Full(full bool) {
	h.machine.mu.Lock()
	defer h.machine.mu.Unlock()
	h.full = full
}

// LoseLocks takes all locks away that this process holds, as a connection does that breaks.
func (h *Host) LoseLocks() {
	h.mu.Lock()
	lost := h.held
	h.held = map[string]*lease{}
	h.mu.Unlock()
	for _, l := range lost {
		l.release()
	}
}

// Log lists what was done: "run rndc reload", "write /etc/x".
func (h *Host) Log() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.log)
}

// Count says how many operations in the log begin so.
func (h *Host) Count(prefix string) int {
	n := 0
	for _, line := range h.Log() {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

// Files returns a copy of all files by path.
func (h *Host) Files() map[string]host.File {
	h.machine.mu.Lock()
	defer h.machine.mu.Unlock()
	return maps.Clone(h.files)
}

// Content returns a file's content; absent is "".
func (h *Host) Content(path string) string { return string(h.Files()[path].Content) }

// Put sets a file behind the Host's back, as a person would by hand.
func (h *Host) Put(path, content string) {
	h.machine.mu.Lock()
	defer h.machine.mu.Unlock()
	f := h.files[path]
	f.Path, f.Content = path, []byte(content)
	h.files[path] = f
}

// Delete removes a file, or a directory with all in it, behind the Host's back.
func (h *Host) Delete(p string) {
	h.machine.mu.Lock()
	defer h.machine.mu.Unlock()
	for name := range h.files {
		if name == p || strings.HasPrefix(name, strings.TrimSuffix(p, "/")+"/") {
			delete(h.files, name)
		}
	}
}

// Rename moves a file, or a directory with all in it, behind the Host's back; it says whether there was one.
func (h *Host) Rename(from, to string) bool {
	h.machine.mu.Lock()
	defer h.machine.mu.Unlock()
	found := false
	for name, f := range maps.Clone(h.files) {
		if rest, below := strings.CutPrefix(name, from); below && (rest == "" || rest[0] == '/') {
			delete(h.files, name)
			f.Path = to + rest
			h.files[f.Path] = f
			found = true
		}
	}
	return found
}

// runOperation runs one operation under the faults that were set.
func (h *Host) runOperation(ctx context.Context, op Op, what string, work func() error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s %s on %s: %w", op, what, h, err)
	}
	h.mu.Lock()
	h.counts[op]++
	h.counts[Any]++
	h.log = append(h.log, string(op)+" "+what)
	var hit *fault
	for _, f := range h.faults {
		if (f.op == op || f.op == Any) && f.nth == h.counts[f.op] {
			hit = f
		}
	}
	h.mu.Unlock()
	if hit != nil && !hit.after {
		return fmt.Errorf("%s %s on %s: %w", op, what, h, hit.err)
	}
	err := work()
	if hit != nil {
		return fmt.Errorf("%s %s on %s: %w", op, what, h, hit.err)
	}
	return err
}

// matchGlob says whether a shell would expand the pattern to the path: a leading dot is matched by a dot alone.
func matchGlob(glob, name string) bool {
	if ok, err := path.Match(glob, name); err != nil || !ok {
		return false
	}
	globs, names := strings.Split(glob, "/"), strings.Split(name, "/")
	for i := range names {
		if strings.HasPrefix(names[i], ".") && !strings.HasPrefix(globs[i], ".") {
			return false
		}
	}
	return true
}

func absentError(op, path string) error {
	return &fs.PathError{Op: op, Path: path, Err: fs.ErrNotExist}
}
