package host

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
)

// PlaceFunctions are a script's functions for files that it replaces: lead, inherit, place and finish.
//
//go:embed place.sh
var PlaceFunctions string

// The scripts by which files are replaced and removed.
var (
	//go:embed replace.sh
	replaceScript string
	//go:embed remove.sh
	removeScript string
)

// ErrEdited says that a file is not what it was when it was read, so that nothing was written.
var ErrEdited = errors.New("somebody else has changed it meanwhile")

// exitEdited is how the scripts say ErrEdited.
const exitEdited = 76

// What the scripts are told to find, beside a SHA-256.
const (
	anything = "any"
	nothing  = "none"
)

// ByCommands are the files and the locks of a Host, which embeds it, by what the Machine runs: the Host itself.
type ByCommands struct {
	Machine interface {
		Runner
		Starter
	}
	Locks Locks
}

// Read implements Host.
func (b *ByCommands) Read(ctx context.Context, path string) ([]byte, error) {
	return ReadFile(ctx, b.Machine, path)
}

// Write implements Host.
func (b *ByCommands) Write(ctx context.Context, f File) error { return WriteFile(ctx, b.Machine, f) }

// Remove implements Host.
func (b *ByCommands) Remove(ctx context.Context, path string) error {
	return RemoveFile(ctx, b.Machine, path)
}

// Lock implements Host.
func (b *ByCommands) Lock(ctx context.Context, name string) (func(), error) {
	return b.Locks.Lock(ctx, b.Machine, name)
}

// WriteFile implements Host.Write by one command: one round trip.
func WriteFile(ctx context.Context, r Runner, f File) error {
	owner, err := f.checkOwner()
	if err != nil {
		return err
	}
	return writeFile(ctx, r, f, formatMode(f.Perm()), owner, anything)
}

// RemoveFile implements Host.Remove by a command.
func RemoveFile(ctx context.Context, r Runner, path string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	return removeFile(ctx, r, path, anything)
}

// Rewrite gives a file another content, nil to remove it, where it still has the one that was read, nil for a file that was not there; it
// is ErrEdited otherwise. Mode, owner and all else of the file stay.
func Rewrite(ctx context.Context, r Runner, path string, was, content []byte) error {
	if err := checkPath(path); err != nil {
		return err
	}
	before := nothing
	if was != nil {
		before = sumOf(was)
	}
	if content == nil {
		return removeFile(ctx, r, path, before)
	}
	return writeFile(ctx, r, File{Path: path, Content: content}, "", "", before)
}

// writeFile runs replaceScript.
func writeFile(ctx context.Context, r Runner, f File, mode, owner, was string) error {
	cmd := ScriptWithInput("write "+f.Path, PlaceFunctions+replaceScript, f.Content, f.Path, mode, owner, was)
	return runReplacing(ctx, r, cmd)
}

// removeFile runs removeScript.
func removeFile(ctx context.Context, r Runner, path, was string) error {
	return runReplacing(ctx, r, Script("remove "+path, removeScript, path, was))
}

// runReplacing runs a command that compares what is there first, so that once is as good as twice.
func runReplacing(ctx context.Context, r Runner, cmd Cmd) error {
	cmd.Repeatable = true
	_, err := r.Run(ctx, cmd)
	if exit, ok := errors.AsType[*ExitError](err); ok && exit.Code == exitEdited {
		return fmt.Errorf("%s on %s: %w", cmd, r, ErrEdited)
	}
	return err
}
