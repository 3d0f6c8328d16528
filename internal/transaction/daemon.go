// Package transaction changes the configuration of a running daemon so that it either serves the new one
// or goes on serving the old one: stage, check with the daemon's own checker, swap, reload, verify, or put
// everything back. Commits to one daemon on one machine that arrive together go as one.
package transaction

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// ErrAbsent says that a part is proven not to be in the configuration that the daemon serves.
var ErrAbsent = errors.New("not in the configuration")

// Daemon is what a transaction needs to know about BIND, HAProxy or keepalived. Implementations hold no
// state of a machine: one value serves every machine.
type Daemon interface {
	// Name is the daemon's name in messages and locks: "haproxy".
	Name() string

	// Globs are the shell patterns of the files that make up the configuration, on any distribution.
	// Every file that an Edit may add must match one of them.
	Globs() []string

	// Check runs the daemon's own checker over the staged configuration. stage is a directory on the
	// machine that holds every file of next below it at its full path ("STAGE/etc/haproxy/haproxy.cfg").
	// The error carries the checker's words. A refusal is a *host.ExitError or a *RefusedError; any other
	// error means that the checker could not be asked.
	Check(ctx context.Context, h host.Host, stage string, next Tree) error

	// Activate makes the running daemon serve next, which is in place on disk already, and starts the
	// daemon if it does not run. It chooses the gentlest way: nothing, a runtime command, a reload of one
	// zone, a reload of all.
	Activate(ctx context.Context, h host.Host, prev, next Tree) error

	// Verify proves that the daemon runs and serves next.
	Verify(ctx context.Context, h host.Host, next Tree) error

	// Running says whether the daemon is up. One that is stopped serves nothing, but has not lost its configuration:
	// whoever starts it has all of it back.
	Running(ctx context.Context, h host.Host) (bool, error)
}

// Prober is a Daemon that can be asked whether it takes orders. It is asked before anything is written.
type Prober interface {
	// Probe returns why the daemon, which runs, cannot be told to load another configuration.
	Probe(ctx context.Context, h host.Host) error
}

// Selective is a Daemon of several programs, of which a change is about some: those that it is not about may be others', which do not run.
type Selective interface {
	// VerifyChange is Verify of what a change from prev to next is about; of all where that changes nothing.
	VerifyChange(ctx context.Context, h host.Host, prev, next Tree) error
}

// Witness is a Daemon that learns, while it verifies, what those who read after the commit would Ask.
type Witness interface {
	// Witness is Verify, and returns the answer that Ask with its type would get.
	Witness(ctx context.Context, h host.Host, next Tree) (answer any, err error)
}

// Edit is one resource's change. Apply sees the configuration as the edits before it in the group left it
// and is called again from a fresh tree when a group is split or a lock was lost; it does no I/O.
type Edit struct {
	// Owner names the resource in messages: `HAProxy backend "api"`.
	Owner string
	Apply func(t Tree) error
	// Secrets never appear in an error.
	Secrets []string
	// Removes says that the edit only takes out: a daemon that is stopped is not started for it.
	Removes bool
	// Cut is set where the edit changes notes alone, which no daemon reads: it returns a file's content without them. Where a group
	// changes nothing else, the daemon is neither asked about it nor told to load it.
	Cut func(content []byte) []byte
	// Warn takes what the user must know of a commit, whether it succeeds or not; may be nil.
	Warn func(text string)
}

// Follower is a Daemon whose files name others, wherever these lie. Follow returns paths, or patterns of them, that a tree
// names and does not have; what does not exist is asked for once.
type Follower interface{ Follow(t Tree) []string }

// Keeper is a Daemon that keeps in another place what a person wrote where a change leaves it none. Kept says what a change from prev to
// next put where, as warnings.
type Keeper interface {
	Kept(prev, next Tree) []string
}

// Sharer is an Exclusive Daemon that serves more than what is in the provider's files. ServesBesides returns where that is said, as messages
// name it.
type Sharer interface {
	ServesBesides(ctx context.Context, h host.Host) ([]string, error)
}

// Exclusive is a Daemon whose files nobody but the provider writes: there was nothing before its first commit that could be
// given back, and what commits keep goes with the last file.
type Exclusive interface{ Exclusive() }

// Packaged is a Daemon that comes with a package: the program whose presence proves that it is installed, and the unit that systemd
// starts, "" where it needs none.
type Packaged interface{ Package() (program, unit string) }

// MissingError is a daemon that cannot be started at all, so that nothing was changed: it is not installed any more, or its unit is masked.
type MissingError struct {
	Daemon, Host string
	// Masked is the unit that somebody has masked, "" where the daemon's program is missing.
	Masked string
}

func (e *MissingError) Error() string {
	if e.Masked != "" {
		return fmt.Sprintf("%s is masked on %s, so %s cannot be started: run `systemctl unmask %[1]s` there", e.Masked, e.Host, e.Daemon)
	}
	return fmt.Sprintf("%s is not installed on %s any more: an apply of the virtcluster_service_node that has it among its services installs it, where install_packages is true; else install it there by hand", e.Daemon, e.Host)
}

// missingScript prints "missing" or "masked", of a daemon's program $1 and its unit $2.
//
//go:embed missing.sh
var missingScript string

// findMissing returns a *MissingError where the daemon cannot be started at all, for which there is no need to ask while it runs.
func findMissing(ctx context.Context, h host.Host, d Daemon) error {
	p, ok := d.(Packaged)
	if !ok {
		return nil
	}
	program, unit := p.Package()
	out, err := h.Run(ctx, host.RepeatableScript("look for "+program, missingScript, program, unit))
	switch said := strings.TrimSpace(string(out)); {
	case err != nil:
		return fmt.Errorf("ask whether %s is installed: %w", d.Name(), err)
	case said == "missing":
		return &MissingError{Daemon: d.Name(), Host: h.String()}
	case said == "masked":
		return &MissingError{Daemon: d.Name(), Host: h.String(), Masked: unit}
	}
	return nil
}

// isUnable says whether an error is that of a daemon that cannot be told anything: what it has to serve fails, and what is taken out of its
// files does not.
func isUnable(err error) bool {
	return errors.As(err, new(*UnfitError)) || errors.As(err, new(*MissingError))
}

// isGone says whether an error is that of a daemon that is not installed.
func isGone(err error) bool {
	missing, ok := errors.AsType[*MissingError](err)
	return ok && missing.Masked == ""
}
