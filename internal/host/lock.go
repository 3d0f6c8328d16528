package host

import (
	"bufio"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// LockDir holds the locks of a machine: NAME.lock is the file that is locked, NAME.holder says by whom. It is root's alone,
// below a directory that is: where others may write they lay links for root to follow, and where they may read they take
// a lock and keep it.
const LockDir = "/run/virtcluster"

// LockDirScript makes the directory $1 for locks, or ends the script with the reason why it cannot be trusted.
//
//go:embed lockdir.sh
var LockDirScript string

// The holder of a lock gives a sign of life every heartbeat; without one for two minutes (in lock.sh) the machine takes the lock back. So a
// holder whose network went away keeps it for two minutes at most; one whose connection ended keeps it no longer than that.
const heartbeat = 10 * time.Second

// lockScript holds a lock for as long as it reads signs of life. It begins with LockDirScript.
//
//go:embed lock.sh
var lockScript string

// longestLine is the longest that lockScript prints: many times what Holder returns.
const longestLine = 64 << 10

const (
	signOfLife = "."
	goodbye    = "q"
)

// exitLockLost is how guardScript says that another process holds the lock now.
const exitLockLost = 244

// guardScript ends, and with it the script that it begins, when the lock's holder is another one by now.
//
//go:embed guard.sh
var guardScript string

// Process is a running command that reads its standard input. The input does not end: a command must know by
// what it reads when to, or be killed.
type Process struct {
	Stdin  io.Writer
	Stdout io.Reader
	// Wait waits for the end and returns what Run would; Kill ends it from here.
	Wait func() error
	Kill func()
}

// Starter starts a command and leaves it running; the context bounds the start alone.
type Starter interface {
	fmt.Stringer
	Start(ctx context.Context, cmd Cmd) (*Process, error)
}

// Locks are the locks of one machine, as one process takes them: by turns within the process, and by
// flock(1) on the machine, so that it holds one session a lock at most. The zero value is ready.
type Locks struct {
	mu    sync.Mutex
	turns map[string]chan struct{}
	held  map[string]*lease
}

// lease is a lock that is held on the machine.
type lease struct {
	holder string
	proc   *Process
	gone   chan struct{} // closed when the process that holds it there ended

	saying sync.Mutex
	left   bool // goodbye was said
}

var lockName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@-]*$`)

// Lock implements Host.Lock by a command that goes on running while the lock is held.
func (l *Locks) Lock(ctx context.Context, s Starter, name string) (unlock func(), err error) {
	if !lockName.MatchString(name) {
		return nil, fmt.Errorf("%q is no name for a lock", name)
	}
	turn := l.turnOf(name)
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("lock %q on %s: another resource of this run holds it: %w", name, s, context.Cause(ctx))
	}
	held, err := takeOnMachine(ctx, s, name)
	if err != nil {
		<-turn
		return nil, err
	}
	l.setLease(name, held)
	return sync.OnceFunc(func() {
		l.setLease(name, nil)
		held.releaseLock()
		<-turn
	}), nil
}

// Guard wraps a command so that it runs only under its lock; a command without one stays as it is. A lock
// that is known to be lost, or was never taken, is ErrLockLost.
func (l *Locks) Guard(cmd Cmd) (Cmd, error) {
	if cmd.Lock == "" {
		return cmd, nil
	}
	l.mu.Lock()
	held := l.held[cmd.Lock]
	l.mu.Unlock()
	if held == nil {
		return cmd, fmt.Errorf("%s: lock %q: %w", cmd, cmd.Lock, ErrLockLost)
	}
	select {
	case <-held.gone:
		return cmd, fmt.Errorf("%s: lock %q: %w", cmd, cmd.Lock, ErrLockLost)
	default:
	}
	script, name, args := `exec "$@"`, "sh", cmd.Argv
	if len(cmd.Argv) > 2 && cmd.Argv[0] == "sh" && cmd.Argv[1] == "-c" { // one shell is enough
		script, args = cmd.Argv[2], cmd.Argv[3:]
		if len(args) > 0 {
			name, args = args[0], args[1:]
		}
	}
	guarded := cmd
	guarded.Name = cmd.String()
	guarded.Argv = append([]string{"sh", "-c", guardScript + script, name, LockDir + "/" + cmd.Lock + ".holder", held.holder}, args...)
	return guarded, nil
}

// LockError turns the status of a guarded command that did not run into ErrLockLost.
func LockError(cmd Cmd, err error) error {
	var exit *ExitError
	if cmd.Lock != "" && errors.As(err, &exit) && exit.Code == exitLockLost {
		return fmt.Errorf("%s on %s: lock %q: %w", cmd, exit.Host, cmd.Lock, ErrLockLost)
	}
	return err
}

func (l *Locks) turnOf(name string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turns == nil {
		l.turns, l.held = map[string]chan struct{}{}, map[string]*lease{}
	}
	if l.turns[name] == nil {
		l.turns[name] = make(chan struct{}, 1)
	}
	return l.turns[name]
}

func (l *Locks) setLease(name string, held *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if held == nil {
		delete(l.held, name)
		return
	}
	l.held[name] = held
}

// takeOnMachine takes the lock on the machine and logs for whom it waits.
func takeOnMachine(ctx context.Context, s Starter, name string) (*lease, error) {
	held := &lease{holder: Holder(), gone: make(chan struct{})}
	proc, err := s.Start(ctx, Script("lock "+name, LockDirScript+lockScript, LockDir, name, held.holder))
	if err != nil {
		return nil, fmt.Errorf("lock %q on %s: %w", name, s, err)
	}
	held.proc = proc
	stop := context.AfterFunc(ctx, proc.Kill)
	defer stop()

	other := ""
	for lines := bufio.NewReaderSize(proc.Stdout, longestLine); ; {
		line, err := lines.ReadSlice('\n')
		word, rest, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		switch {
		case err != nil && ctx.Err() != nil:
			go func() { _ = proc.Wait() }() // it was killed: only what it holds is to be freed
			return nil, fmt.Errorf("lock %q on %s is held by %s: %w", name, s, describeHolder(other), context.Cause(ctx))
		case errors.Is(err, bufio.ErrBufferFull):
			proc.Kill()
			return nil, fmt.Errorf("lock %q on %s: unexpected answer %.80q", name, s, line)
		case err != nil:
			if err := proc.Wait(); err != nil {
				return nil, fmt.Errorf("lock %q on %s: %w", name, s, err)
			}
			return nil, fmt.Errorf("lock %q on %s: %w", name, s, ErrCut)
		case word == "wait":
			other = rest
			tflog.Info(ctx, fmt.Sprintf("waiting for lock %q on %s, held by %s", name, s, describeHolder(other)))
		case word == "held":
			go held.keepAlive()
			return held, nil
		}
	}
}

// keepAlive gives signs of life until the process that holds the lock ends.
func (h *lease) keepAlive() {
	go func() {
		_ = h.proc.Wait() // however it ended, the lock is gone
		close(h.gone)
	}()
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-h.gone:
			return
		case <-tick.C:
			if err := h.sendWord(signOfLife); err != nil {
				h.proc.Kill()
				return
			}
		}
	}
}

// sendWord passes a word to the process, unless goodbye was said: what nobody reads there is read by who comes next.
func (h *lease) sendWord(word string) error {
	h.saying.Lock()
	defer h.saying.Unlock()
	if h.left {
		return nil
	}
	h.left = word == goodbye
	_, err := io.WriteString(h.proc.Stdin, word)
	return err
}

// releaseLock gives the lock back and waits until the machine has it.
func (h *lease) releaseLock() {
	if err := h.sendWord(goodbye); err != nil {
		h.proc.Kill()
	}
	select {
	case <-h.gone:
	case <-time.After(5 * time.Second):
		h.proc.Kill()
	}
}

// Holder describes this process to others that wait for a lock; the first word tells leases apart.
func Holder() string {
	who := "unknown"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	client, _ := os.Hostname()
	return fmt.Sprintf("%s %s@%s, pid %d, since %s, Terraform provider virtcluster",
		rand.Text()[:12], who, client, os.Getpid(), time.Now().UTC().Format(time.RFC3339))
}

// describeHolder cuts the word off a holder that only tells leases apart.
func describeHolder(holder string) string {
	_, words, ok := strings.Cut(holder, " ")
	if !ok {
		return "another process"
	}
	return words
}
