package provision

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/packages"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// lockName is taken while the machine's units and packages change.
const lockName = "service-node"

// MissingError says which services are not installed and what installs them.
type MissingError struct {
	Host     string
	Services []string
	Packages []string
	Family   packages.Family
}

// Error names the command that installs what is missing.
func (e *MissingError) Error() string {
	text := fmt.Sprintf("not installed on %s: %s", e.Host, strings.Join(e.Services, ", "))
	if e.Family == packages.Unknown {
		return text + "; install them there by hand: only the families of Debian and of Fedora are known here"
	}
	return text + fmt.Sprintf("; run %q there, or set install_packages = true", e.Family.Command(e.Packages))
}

// Prepare makes services ready: installs what is missing if it may, enables the units, and starts those that
// work without a configuration. What the machine was like before is recorded on it first. The warnings are
// daemons that did not start.
func Prepare(ctx context.Context, h host.Host, services []string, install bool) (warnings []string, err error) {
	if len(services) == 0 {
		return nil, nil
	}
	unlock, err := h.Lock(ctx, lockName)
	if err != nil {
		return nil, err
	}
	defer unlock()
	inv, err := Look(ctx, h)
	if err != nil {
		return nil, err
	}
	missing := inv.missing(h, services)
	if missing != nil && (!install || missing.Family == packages.Unknown) {
		return nil, missing
	}
	if err := inv.remember(ctx, h, services); err != nil {
		return nil, err
	}
	if missing != nil {
		if err := packages.Install(ctx, h, inv.Family, missing.Packages); err != nil {
			return nil, err
		}
	}
	return enable(ctx, h, services)
}

// missing is nil when all services are installed.
func (inv Inventory) missing(h host.Host, services []string) *MissingError {
	m := &MissingError{Host: h.String(), Family: inv.Family}
	for _, name := range services {
		if _, installed := inv.Versions[name]; !installed {
			m.Services = append(m.Services, name)
			m.Packages = append(m.Packages, Services[name].Packages[inv.Family]...)
		}
	}
	if m.Services == nil {
		return nil
	}
	return m
}

// remember records the units as they are, where nothing is recorded yet.
func (inv Inventory) remember(ctx context.Context, h host.Host, services []string) error {
	record := Record{Before: maps.Clone(inv.Record.Before)}
	if record.Before == nil {
		record.Before = map[string]UnitState{}
	}
	for _, name := range services {
		if _, known := record.Before[name]; !known {
			record.Before[name] = inv.Units[name]
		}
	}
	if maps.Equal(record.Before, inv.Record.Before) {
		return nil
	}
	return record.store(ctx, h)
}

// enable enables units and starts those that can be; a daemon that does not start is a warning only, as it
// may want the very configuration that comes next.
func enable(ctx context.Context, h host.Host, services []string) (warnings []string, err error) {
	var units []string
	for _, name := range services {
		units = append(units, Services[name].Unit)
	}
	cmd := host.Script("enable "+strings.Join(units, " "), enableScript, units...)
	cmd.Repeatable = true
	if _, err := h.Run(ctx, cmd); err != nil {
		return nil, err
	}
	for _, name := range services {
		if !Services[name].Start {
			continue
		}
		cmd := host.Script("start "+name, startScript, Services[name].Unit)
		cmd.Repeatable = true
		_, err := h.Run(ctx, cmd)
		var exit *host.ExitError
		switch {
		case errors.As(err, &exit):
			warnings = append(warnings, exit.Error())
		case err != nil:
			return warnings, err
		}
	}
	return warnings, nil
}

// enableScript enables the units that are not: enabling one that is costs a reload of systemd for nothing.
const enableScript = `for unit; do
  shift
  systemctl is-enabled --quiet "$unit" 2>/dev/null || set -- "$@" "$unit"
done
[ $# = 0 ] || exec systemctl enable --quiet "$@"`

// startScript starts a unit; its failure carries the daemon's own last words.
const startScript = `systemctl is-active --quiet "$1" && exit 0
systemctl start "$1" && exit 0
journalctl -q --no-pager -o cat -n 10 -u "$1" >&2
exit 1`

// GiveBack ends the provider's hold on services: their configuration becomes what it was (see
// transaction.Engine.GiveBack), their units are as enabled and as active as before. Packages stay.
func GiveBack(ctx context.Context, h host.Host, engine *transaction.Engine, services []string) error {
	unlock, err := h.Lock(ctx, lockName)
	if err != nil {
		return err
	}
	defer unlock()
	inv, err := Look(ctx, h)
	if err != nil {
		return err
	}
	record := Record{Before: maps.Clone(inv.Record.Before)}
	var errs []error
	for _, name := range slices.Sorted(slices.Values(services)) {
		if err := giveBack(ctx, h, engine, name, inv); err != nil {
			errs = append(errs, fmt.Errorf("give %s back: %w", name, err))
			continue
		}
		delete(record.Before, name)
	}
	if !maps.Equal(record.Before, inv.Record.Before) {
		errs = append(errs, record.store(ctx, h))
	}
	if len(record.Before) == 0 {
		// Only what is empty goes: another configuration's transactions may keep something there.
		_, err := h.Run(ctx, host.Script("tidy up", `rmdir -- "$1" 2>/dev/null || :`, "/var/lib/virtcluster"))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func giveBack(ctx context.Context, h host.Host, engine *transaction.Engine, name string, inv Inventory) error {
	s := Services[name]
	if _, installed := inv.Versions[name]; installed && s.Daemon != nil {
		if err := engine.GiveBack(ctx, h, s.Daemon); err != nil {
			return err
		}
	}
	before, recorded := inv.Record.Before[name]
	if !recorded {
		return nil
	}
	enabled, active := "disable", "stop"
	if before.enabled() {
		enabled = "enable"
	}
	if before.active() {
		active = "start"
	}
	cmd := host.Script("restore "+s.Unit, restoreScript, s.Unit, enabled, active)
	cmd.Repeatable = true
	_, err := h.Run(ctx, cmd)
	return err
}

// restoreScript makes a unit ($1) as enabled ($2) and as active ($3) as it was. A unit that is gone, with its
// package, has nothing to restore; one that cannot be enabled (static) needs no restoring.
const restoreScript = `[ "$(systemctl show --property=LoadState --value "$1")" = loaded ] || exit 0
case $(systemctl show --property=UnitFileState --value "$1"),$2 in
enabled,enable | disabled,disable | static,* | indirect,* | generated,*) ;;
*) systemctl "$2" --quiet "$1" || exit 1 ;;
esac
case $(systemctl show --property=ActiveState --value "$1"),$3 in
active,start | inactive,stop) ;;
*) systemctl "$3" "$1" || exit 1 ;;
esac`
