package hostnet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
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
	// Files are written, or removed, before Do runs and with the rollback armed; what they replace is kept until the change has proven to
	// work.
	Files []File
	// Do and Undo are POSIX shell scripts, which have the functions of steps.sh. Do ends at the first command that fails. Undo runs with
	// the old files in place; each of its commands is tried.
	Do, Undo string
	// GivenUp are gateways that need not answer when the change is made, as it takes away the way to them.
	GivenUp []netip.Addr
	// Taken are the addresses that the change puts on devices: it goes back where another machine has taken one at the same time.
	Taken map[string][]netip.Prefix
	// Timeout is when the machine has gone back by itself unless it was disarmed.
	Timeout time.Duration
}

// Run makes a change with the rollback armed, and disarms it over a new connection. The lock is held by the caller.
func (s Site) Run(ctx context.Context, c Change) error {
	before, err := Look(ctx, s.Host)
	if err != nil {
		return err
	}
	gateways := s.answeringGateways(ctx, before, c.GivenUp)
	dir, err := s.armChange(ctx, c)
	by := time.Now().Add(c.Timeout)
	failpoint.Hit("hostnet/armed")
	if err == nil {
		limit, cancel := context.WithTimeout(ctx, c.Timeout-undoTime(c.Timeout)-time.Second)
		defer cancel()
		if err = s.runChange(limit, dir); err == nil {
			failpoint.Hit("hostnet/made")
			err = s.confirmReachable(limit, dir, gateways, c.Taken)
		}
	}
	if err != nil {
		if err = s.settleFailed(ctx, dir, by, err); err != nil {
			return err
		}
	}
	failpoint.Hit("hostnet/proven")
	end := scriptStep("end the change", "end", dir)
	end.Repeatable = true
	if _, err := s.Host.Run(ctx, end); err != nil {
		// The change stays, and the next one removes what is left of it.
		tflog.Warn(ctx, fmt.Sprintf("end the change of the network of %s: %s", s.Host, err))
	}
	return nil
}

// runChange writes the files and runs the change.
func (s Site) runChange(ctx context.Context, dir string) error {
	_, err := s.Host.Run(ctx, scriptStep("change the network", "make", dir))
	var exit *host.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		return nil // the connection broke: the new one asks for the status
	}
	return err
}

// confirmReachable proves that the machine and what answered before can still be reached, and that it alone has the addresses that it has taken; then
// it disarms.
func (s Site) confirmReachable(ctx context.Context, dir string, gateways []netip.Addr, taken map[string][]netip.Prefix) error {
	return s.withFreshConnection(ctx, func(fresh host.Host) error {
		status := scriptStep("change the network", "status", dir)
		status.Repeatable = true
		if _, err := fresh.Run(ctx, status); err != nil {
			return err
		}
		for _, gateway := range gateways {
			if err := awaitAnswer(ctx, fresh, gateway, 4); err != nil {
				return fmt.Errorf("gateway %s answered before the change and does not any more: %w", gateway, err)
			}
		}
		if err := CheckAlone(ctx, fresh, taken); err != nil {
			return err
		}
		prove := scriptStep("disarm the rollback", "prove", dir)
		prove.Repeatable = true
		if _, err := fresh.Run(ctx, prove); err != nil {
			return fmt.Errorf("disarm the rollback: %w", err)
		}
		return nil
	})
}

// endEarlier has a change that another run left armed go back before anything is looked at: it would undo the next one when its time is
// over. The lock is held by the caller.
func (s Site) endEarlier(ctx context.Context) error {
	if _, err := s.Host.Run(ctx, scriptStep("end earlier changes", "earlier", stateDir)); err != nil {
		return fmt.Errorf("end what an earlier change of the network of %s left: %w", s.Host, err)
	}
	return nil
}

// answeringGateways are the machine's gateways that answer now: a change must not lose them, but for those that it gives up.
func (s Site) answeringGateways(ctx context.Context, m Machine, givenUp []netip.Addr) []netip.Addr {
	var gateways []netip.Addr
	for _, gateway := range m.Gateways("") {
		if !gateway.IsLinkLocalUnicast() && !slices.Contains(givenUp, gateway) && awaitAnswer(ctx, s.Host, gateway, 2) == nil {
			gateways = append(gateways, gateway)
		}
	}
	return gateways
}

// awaitAnswer asks an address until it answers, for some seconds at most.
func awaitAnswer(ctx context.Context, h host.Host, a netip.Addr, seconds int) error {
	_, err := h.Run(ctx, host.Cmd{Argv: []string{"ping", "-n", "-c", "1", "-i", "0.3", "-w", fmt.Sprint(seconds), a.String()}})
	return err
}
