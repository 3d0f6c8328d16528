package hosttest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// Run implements host.Host: the handlers answer, and rm, mv and mkdir do to the files what they say. A
// command that nobody answers is an error.
func (h *Host) Run(ctx context.Context, cmd host.Cmd) (out []byte, err error) {
	err = h.runOperation(ctx, Run, strings.Join(cmd.Argv, " "), func() error {
		if cmd.Lock != "" && !h.holdsLock(cmd.Lock) {
			return fmt.Errorf("%s on %s: lock %q: %w", cmd, h, cmd.Lock, host.ErrLockLost)
		}
		out, err = h.answerCommand(ctx, cmd)
		return err
	})
	return out, err
}

func (h *Host) answerCommand(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	h.machine.mu.Lock()
	handlers := slices.Clone(h.handlers)
	h.machine.mu.Unlock()
	for _, candidate := range slices.Backward(handlers) {
		if len(candidate.match) > len(cmd.Argv) || !slices.Equal(candidate.match, cmd.Argv[:len(candidate.match)]) {
			continue
		}
		if out, err := candidate.do(ctx, h, cmd); !errors.Is(err, ErrPass) {
			return out, err
		}
	}
	return nil, h.runBuiltin(cmd)
}

func (h *Host) runBuiltin(cmd host.Cmd) error {
	operands := slices.DeleteFunc(slices.Clone(cmd.Argv[1:]), func(arg string) bool { return strings.HasPrefix(arg, "-") })
	switch cmd.Argv[0] {
	case "true", "mkdir", "sync":
		return nil
	case "rm":
		for _, operand := range operands {
			h.Delete(operand)
		}
		return nil
	case "mv":
		if len(operands) != 2 || !h.Rename(operands[0], operands[1]) {
			return h.Exit(cmd, 1, "mv: cannot stat: No such file or directory")
		}
		return nil
	}
	return fmt.Errorf("hosttest: nobody answers the command %q", cmd.Argv)
}

// Read implements host.Host.
func (h *Host) Read(ctx context.Context, path string) (content []byte, err error) {
	err = h.runOperation(ctx, Read, path, func() error {
		f, ok := h.Files()[path]
		if !ok {
			return absentError("read", path)
		}
		content = f.Content
		return nil
	})
	return content, err
}

// Write implements host.Host.
func (h *Host) Write(ctx context.Context, f host.File) error {
	return h.runOperation(ctx, Write, f.Path, func() error { return h.storeFile("write "+f.Path, f) })
}

// Remove implements host.Host.
func (h *Host) Remove(ctx context.Context, path string) error {
	return h.runOperation(ctx, Remove, path, func() error {
		h.machine.mu.Lock()
		defer h.machine.mu.Unlock()
		delete(h.files, path)
		return nil
	})
}

// ReadGlobs is host.ReadGlobs.
func (h *Host) ReadGlobs(ctx context.Context, globs []string) (files map[string]host.File, err error) {
	err = h.runOperation(ctx, ReadGlobs, strings.Join(globs, " "), func() error {
		files = h.Files()
		for name := range files {
			if !slices.ContainsFunc(globs, func(glob string) bool { return matchGlob(glob, name) }) {
				delete(files, name)
			}
		}
		return nil
	})
	return files, err
}

// WriteAll is host.WriteAll.
func (h *Host) WriteAll(ctx context.Context, root string, files []host.File) error {
	return h.runOperation(ctx, WriteAll, root, func() error {
		for _, f := range files {
			f.Path = path.Join(root, f.Path)
			if err := h.storeFile("write below "+root, f); err != nil {
				return err
			}
		}
		return nil
	})
}

func (h *Host) storeFile(what string, f host.File) error {
	h.machine.mu.Lock()
	defer h.machine.mu.Unlock()
	if h.full {
		return h.Exit(host.Cmd{Name: what}, 1, "cat: write error: No space left on device")
	}
	f.Mode = f.Perm()
	h.files[f.Path] = f
	return nil
}

// Lock implements host.Host.
func (h *Host) Lock(ctx context.Context, name string) (unlock func(), err error) {
	err = h.runOperation(ctx, Lock, name, func() error {
		h.machine.mu.Lock()
		turn, ok := h.locks[name]
		if !ok {
			turn = make(chan struct{}, 1)
			h.locks[name] = turn
		}
		h.machine.mu.Unlock()
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return fmt.Errorf("lock %q on %s is held by another process: %w", name, h, ctx.Err())
		}
		held := &lease{release: sync.OnceFunc(func() { <-turn })}
		h.mu.Lock()
		h.held[name] = held
		h.mu.Unlock()
		unlock = func() {
			h.mu.Lock()
			if h.held[name] == held {
				delete(h.held, name)
			}
			h.mu.Unlock()
			held.release()
		}
		return nil
	})
	if err != nil && unlock != nil {
		unlock()
		unlock = nil
	}
	return unlock, err
}

func (h *Host) holdsLock(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held[name] != nil
}

// CutOff is a machine whose connection is lost, for good, as soon as the command of a name has run: as that of a provider that is
// killed then.
type CutOff struct {
	host.Host
	// After is the name of that command.
	After string
	// Ran is when each command, by its name, had run.
	Ran map[string]time.Time
}

// NewCutOff returns one that nothing was run on yet.
func NewCutOff(h host.Host, after string) *CutOff {
	return &CutOff{Host: h, After: after, Ran: map[string]time.Time{}}
}

// Run implements host.Host.
func (c *CutOff) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	if _, gone := c.Ran[c.After]; gone {
		return nil, errors.New("killed")
	}
	out, err := c.Host.Run(ctx, cmd)
	c.Ran[cmd.Name] = time.Now()
	return out, err
}
