package hostnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// stateDir holds, while a machine's network changes, what puts it back: a directory for each change.
const stateDir = "/var/lib/virtcluster/network"

// Lock is the name of the lock that a change of a machine's network is made under: two at a time would undo each other.
const Lock = "network"

// Site is one machine whose network is changed.
type Site struct {
	Host host.Host
	// Fresh makes a new connection to the same machine: the proof that it can still be reached.
	Fresh func(ctx context.Context) (host.Host, error)
}

// File is a configuration file as it shall be.
type File struct {
	Path    string
	Content string
	// Mode's permission bits; zero means 0644.
	Mode fs.FileMode
	// Owner and Group are names on the machine; empty means root.
	Owner, Group string
	// Absent removes it.
	Absent bool
}

// Change is one change of a machine's network. It goes back by itself unless the machine can be reached when it is made.
type Change struct {
	// Files are written, or removed, before Do runs; what they replace is kept until the change has proven to work.
	Files []File
	// Do and Undo are POSIX shell scripts. Do ends at the first command that fails. Undo runs with the old files in place; each
	// of its commands is tried.
	Do, Undo string
	// GivenUp are gateways that need not answer when the change is made, as it takes away the way to them.
	GivenUp []netip.Addr
	// Timeout is when the machine has gone back by itself unless it was disarmed.
	Timeout time.Duration
}

// RunBatch is a script that has ip(8) run a batch; force goes on behind a command that fails.
func RunBatch(b Batch, force bool) string {
	if len(b) == 0 {
		return ""
	}
	flag := ""
	if force {
		flag = " -force"
	}
	return "ip" + flag + " -batch - <<'END'\n" + strings.Join(b, "\n") + "\nEND\n"
}

// Run makes a change with the rollback armed, and disarms it over a new connection. The lock is held by the caller.
func (s Site) Run(ctx context.Context, c Change) error {
	before, err := Look(ctx, s.Host)
	if err != nil {
		return err
	}
	gateways := s.answeringGateways(ctx, before, c.GivenUp)
	dir, err := s.arm(ctx, c)
	if err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, c.Timeout-undoTime(c.Timeout)-time.Second)
	defer cancel()
	if err = s.make(limit, dir, c.Files); err == nil {
		err = s.confirm(limit, dir, gateways)
	}
	if err != nil {
		return s.goBack(ctx, dir, err)
	}
	if _, err := s.Host.Run(ctx, host.Script("end the change", endScript, dir, unitName(dir))); err != nil {
		return fmt.Errorf("end the change of the network of %s: %w", s.Host, err)
	}
	return nil
}

// make writes the files and runs the change. Its script leaves its status behind, as the connection may not live to tell.
func (s Site) make(ctx context.Context, dir string, files []File) error {
	for _, f := range files {
		var err error
		if f.Absent {
			err = s.Host.Remove(ctx, f.Path)
		} else {
			err = s.Host.Write(ctx, host.File{Path: f.Path, Content: []byte(f.Content), Mode: f.Mode, Owner: f.Owner, Group: f.Group})
		}
		if err != nil {
			return fmt.Errorf("write %s on %s: %w", f.Path, s.Host, err)
		}
	}
	_, err := s.Host.Run(ctx, host.Script("change the network", doScript, dir))
	var exit *host.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		return nil // the connection broke: the new one asks for the status
	}
	return err
}

// confirm proves that the machine and what answered before can still be reached, then disarms.
func (s Site) confirm(ctx context.Context, dir string, gateways []netip.Addr) error {
	fresh, err := s.Fresh(ctx)
	if err != nil {
		return fmt.Errorf("reach %s over a new connection: %w", s.Host, err)
	}
	if c, ok := fresh.(io.Closer); ok {
		defer func() { _ = c.Close() }()
	}
	if _, err := fresh.Run(ctx, host.Script("change the network", statusScript, dir)); err != nil {
		return err
	}
	for _, gateway := range gateways {
		if err := ping(ctx, fresh, gateway, 4); err != nil {
			return fmt.Errorf("gateway %s answered before the change and does not any more: %w", gateway, err)
		}
	}
	if _, err := fresh.Run(ctx, host.Cmd{Argv: []string{"mv", dir + "/" + armed, dir + "/" + proven}}); err != nil {
		return fmt.Errorf("disarm the rollback: %w", err)
	}
	return nil
}

// goBack undoes at once what the armed rollback would undo later. Where the machine cannot be reached it goes back by itself.
func (s Site) goBack(ctx context.Context, dir string, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	_, err := s.Host.Run(ctx, host.Script("go back", backScript, dir, unitName(dir)))
	var exit *host.ExitError
	if err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("%w; %s goes back to what it had by itself when rollback_timeout is over", cause, s.Host)
	}
	return fmt.Errorf("%w; %s has what it had before", cause, s.Host)
}

// endEarlier has a change that another run left armed go back before anything is looked at: it would undo the next one when its time is
// over. The lock is held by the caller.
func (s Site) endEarlier(ctx context.Context) error {
	if _, err := s.Host.Run(ctx, host.Script("end earlier changes", earlierScript, stateDir)); err != nil {
		return fmt.Errorf("end what an earlier change of the network of %s left: %w", s.Host, err)
	}
	return nil
}

// answeringGateways are the machine's gateways that answer now: a change must not lose them, but for those that it gives up.
func (s Site) answeringGateways(ctx context.Context, m Machine, givenUp []netip.Addr) []netip.Addr {
	var gateways []netip.Addr
	for _, gateway := range m.Gateways("") {
		if !gateway.IsLinkLocalUnicast() && !slices.Contains(givenUp, gateway) && ping(ctx, s.Host, gateway, 2) == nil {
			gateways = append(gateways, gateway)
		}
	}
	return gateways
}

// ping asks an address until it answers, for some seconds at most.
func ping(ctx context.Context, h host.Host, a netip.Addr, seconds int) error {
	_, err := h.Run(ctx, host.Cmd{Argv: []string{"ping", "-n", "-c", "1", "-i", "0.3", "-w", fmt.Sprint(seconds), a.String()}})
	return err
}
