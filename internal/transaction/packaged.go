package transaction

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

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
