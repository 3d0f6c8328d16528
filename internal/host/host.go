// Package host is one machine, seen from outside: run commands on it, replace files on it, take turns on it.
// The implementations are sshhost, localhost and agenthost; hosttest is an in-memory one for faults.
package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// ErrCut says that the connection broke while a command ran: it is unknown whether the command ran to its
// end, or at all.
var ErrCut = errors.New("connection lost")

// ErrLockLost says that a command did not run, because the lock that it was to run under is gone.
var ErrLockLost = errors.New("the lock was lost")

// Host is one machine. Implementations are safe for concurrent use; paths are absolute.
type Host interface {
	// String names the machine in messages: "root@10.0.0.100", "localhost".
	fmt.Stringer

	// Run runs a command as root and returns its standard output. A non-zero exit is an *ExitError;
	// any other error means that it is unknown whether the command ran.
	Run(ctx context.Context, cmd Cmd) ([]byte, error)

	// Read returns a file's content; an absent file is fs.ErrNotExist.
	Read(ctx context.Context, path string) ([]byte, error)

	// Write replaces a file: temporary file beside it, mode and owner, fsync, rename. Missing parent
	// directories are made with mode 0755. A symbolic link stays: what it leads to is replaced.
	Write(ctx context.Context, f File) error

	// Remove removes a file; an absent one is no error.
	Remove(ctx context.Context, path string) error

	// Lock takes the named lock among the goroutines of this process and among all processes that work
	// on the machine. While it waits it logs for whom. It is released by calling the returned function
	// or when the connection or the process dies.
	Lock(ctx context.Context, name string) (unlock func(), err error)
}

// Cmd is a command as a list of arguments; no shell is involved unless Argv names one.
type Cmd struct {
	Argv  []string
	Stdin []byte
	// Secrets are strings that never appear in an error or a log; each is replaced by "***".
	Secrets []string
	// Name is what messages call the command, where its arguments say little, as those of a script do.
	Name string
	// Lock names a lock, held by this Host, without which the command must not start: when another process
	// took it since, because the connection broke, the command does not run and the error is ErrLockLost.
	Lock string
	// Repeatable says that running the command twice is as good as once: when the connection breaks, it
	// is run again on a new one.
	Repeatable bool
}

// String renders the command for messages, secrets masked.
func (c Cmd) String() string {
	if c.Name != "" {
		return c.Mask(c.Name)
	}
	return c.Mask(strings.Join(c.Argv, " "))
}

// Mask replaces the command's secrets in a text.
func (c Cmd) Mask(text string) string {
	for _, s := range c.Secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "***")
		}
	}
	return text
}

// File is a regular file with what it takes to put it in place.
type File struct {
	Path    string
	Content []byte
	// Mode's permission bits; zero means 0644.
	Mode fs.FileMode
	// Owner and Group are names on the machine; empty means root.
	Owner, Group string
}

// Perm returns the permission bits that the file is written with.
func (f File) Perm() fs.FileMode {
	if f.Mode.Perm() == 0 {
		return 0o644
	}
	return f.Mode.Perm()
}

// ExitError is a command that ran and failed. Stdout and Stderr are whole, secrets masked.
type ExitError struct {
	Host   string
	Cmd    string
	Code   int
	Stdout string
	Stderr string
}

// Error carries the command's own words.
func (e *ExitError) Error() string {
	words := strings.TrimSpace(e.Stderr)
	if words == "" {
		words = strings.TrimSpace(e.Stdout)
	}
	if words == "" {
		return fmt.Sprintf("%s on %s: exit status %d", e.Cmd, e.Host, e.Code)
	}
	return fmt.Sprintf("%s on %s: exit status %d: %s", e.Cmd, e.Host, e.Code, words)
}

// MaxAnswer bounds what a machine may answer to one command, on each of its outputs: many times what the largest
// configuration takes, and little enough to be held in memory.
const MaxAnswer = 64 << 20

// ErrTooLong says that a machine answered more than MaxAnswer; the command was ended.
var ErrTooLong = fmt.Errorf("the answer is longer than %d MiB, which is the most that is taken from a machine", MaxAnswer>>20)

// Answer is what a command prints, up to MaxAnswer. The zero value is ready. It is kept in pieces: one buffer that grows would take three times
// as much memory when it does, just where a machine answers too much to several commands at a time.
type Answer struct {
	// TooLong is called when more arrives; may be nil.
	TooLong func()
	pieces  [][]byte
	length  int
}

// pieceSize is how much of an answer lies in one piece.
const pieceSize = 1 << 20

// Write implements io.Writer.
func (a *Answer) Write(p []byte) (int, error) {
	if a.length+len(p) > MaxAnswer {
		if a.TooLong != nil {
			a.TooLong()
		}
		return 0, ErrTooLong
	}
	last := len(a.pieces) - 1
	if last < 0 || len(a.pieces[last])+len(p) > pieceSize {
		// The first one grows as any other: most answers are short.
		a.pieces = append(a.pieces, nil)
		last++
	}
	a.pieces[last] = append(a.pieces[last], p...)
	a.length += len(p)
	return len(p), nil
}

// Bytes returns what was printed.
func (a *Answer) Bytes() []byte {
	if len(a.pieces) == 1 {
		return a.pieces[0]
	}
	return slices.Concat(a.pieces...)
}

// String returns what was printed.
func (a *Answer) String() string { return string(a.Bytes()) }
