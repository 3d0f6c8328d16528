package provision

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision/packages"
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
		return text + "; install them there by hand: which packages of this distribution have them is not known here"
	}
	return text + fmt.Sprintf("; run %q there, or set install_packages = true", e.Family.Command(e.Packages))
}

// Prepare makes services ready: installs what is missing if it may, enables the units, and starts those that
// work without a configuration. What the machine was like before, and that a service node uses all of its services, is
// recorded on it first. The warnings are daemons that did not start.
func Prepare(ctx context.Context, h host.Host, user Claim, all, services []string, install bool) (warnings []string, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	return provisionServices(ctx, h, services, install, func(r Record) { r.addUser(user, all, !install) })
}

// provisionServices is Prepare, and has users add to the record who uses the services.
func provisionServices(ctx context.Context, h host.Host, services []string, install bool, users func(Record)) (warnings []string, err error) {
	unlock, err := h.Lock(ctx, lockName)
	if err != nil {
		return nil, err
	}
	defer unlock()
	inv, err := Look(ctx, h)
	if err != nil {
		return nil, err
	}
	if err := inv.findMasked(h, services); err != nil {
		return nil, err
	}
	missing := inv.findMissing(h, services)
	if missing != nil && (!install || missing.Family == packages.Unknown) {
		return nil, missing
	}
	record, err := inv.recordUnits(ctx, h, services, users)
	if err != nil {
		return nil, err
	}
	if missing != nil {
		err := packages.Install(ctx, h, inv.Family, missing.Packages, inv.listReplaced(services))
		if errors.As(err, new(*host.ExitError)) {
			err = errors.Join(err, record.forgetMissing(ctx, h, inv.Record, missing.Services))
		}
		if err != nil {
			return nil, err
		}
	}
	if err := record.endUnits(ctx, h); err != nil {
		return nil, err
	}
	return inv.enableUnits(ctx, h, services)
}

// Finish notes on the machine that a service node is not being made any more.
func Finish(ctx context.Context, h host.Host, user owner.Mark) error {
	unlock, err := h.Lock(ctx, lockName)
	if err != nil {
		return err
	}
	defer unlock()
	text, err := h.Read(ctx, recordPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it uses no services
	}
	if err != nil {
		return err
	}
	record, err := parseRecord(text)
	if err != nil || !record.finishUser(user) {
		return err
	}
	return record.writeRecord(ctx, h)
}

// IsUser says whether a machine has noted that the owner of a claim uses a service of it.
func IsUser(ctx context.Context, h host.Host, user Claim, service string) (bool, error) {
	text, err := h.Read(ctx, recordPath)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	record, err := parseRecord(text)
	if err != nil {
		return false, err
	}
	own := record.listOwnUsers(user)
	return slices.ContainsFunc(own, func(id string) bool { return slices.Contains(record.Users[id].Services, service) }), nil
}

// CheckInstalled returns a *MissingError where some of services are not installed on a machine, and changes nothing there.
func CheckInstalled(ctx context.Context, h host.Host, services []string) error {
	inv, err := Look(ctx, h)
	if err != nil {
		return err
	}
	if missing := inv.findMissing(h, services); missing != nil {
		return missing
	}
	return nil
}

// findMissing is nil when all services are installed. The family is unknown where it has no packages of one of them that are known.
func (inv Inventory) findMissing(h host.Host, services []string) *MissingError {
	m := &MissingError{Host: h.String(), Family: inv.Family}
	for _, name := range services {
		if _, installed := inv.Versions[name]; installed {
			continue
		}
		m.Services = append(m.Services, name)
		m.Packages = append(m.Packages, Services[name].Packages[inv.Family]...)
		if len(Services[name].Packages[inv.Family]) == 0 {
			m.Family = packages.Unknown
		}
	}
	if m.Services == nil {
		return nil
	}
	return m
}

// listReplaced lists the packages that have to go where those of services that are missing are installed.
func (inv Inventory) listReplaced(services []string) (all []string) {
	for _, name := range services {
		_, installed := inv.Versions[name]
		if r := Services[name].Replaces; !installed && r != "" && len(replaced[r].Packages[inv.Family]) > 0 {
			all = append(all, r)
		}
	}
	return all
}

// findMasked returns a *transaction.MissingError for the first service that is installed and whose unit somebody has masked. That of a package
// that was removed is masked by Debian, until the package is there again.
func (inv Inventory) findMasked(h host.Host, services []string) error {
	for _, name := range services {
		if _, installed := inv.Versions[name]; installed && !Services[name].Aside && inv.Units[name].Load == "masked" {
			return &transaction.MissingError{Daemon: name, Host: h.String(), Masked: Services[name].Unit}
		}
	}
	return nil
}

// Missing says of each service that a machine cannot run any more why, and what to do about it.
func (inv Inventory) Missing(h host.Host, services []string) []string {
	var all []string
	for _, name := range services {
		if missing := inv.findMissing(h, []string{name}); missing != nil {
			all = append(all, fmt.Sprintf("%s. Until then what is configured there is not served", missing))
		} else if err := inv.findMasked(h, []string{name}); err != nil {
			all = append(all, err.Error())
		}
	}
	return all
}

// recordUnits records the units as they are, where nothing is recorded yet, those that are about to be replaced or come along, and who uses them,
// which users adds.
func (inv Inventory) recordUnits(ctx context.Context, h host.Host, services []string, users func(Record)) (Record, error) {
	record := inv.Record.cloneRecord()
	users(record)
	for _, name := range services {
		if _, known := record.Before[name]; !known {
			record.Before[name] = inv.Units[name]
		}
		_, installed := inv.Versions[name]
		if !installed && Services[name].comesWithUnit() && inv.Family == packages.Debian && !slices.Contains(record.Ending, name) { // which starts what it installs
			record.Ending = append(record.Ending, name)
		}
	}
	for _, name := range inv.listReplaced(services) {
		if _, installed := inv.Versions[name]; installed {
			record.Replaced[name] = inv.Units[name]
		}
	}
	if record.isSame(inv.Record) {
		return record, nil
	}
	return record, record.writeRecord(ctx, h)
}

// forgetMissing takes out of the record what was noted for services that an installation, which has ended, did not bring: what a person installs
// then is the person's. was is the record before, of which stays what it has of units.
func (r Record) forgetMissing(ctx context.Context, h host.Host, was Record, services []string) error {
	now, err := takeInventory(ctx, h, false)
	if err != nil {
		return err
	}
	for _, name := range services {
		if _, installed := now.Versions[name]; installed {
			continue
		}
		if _, known := was.Before[name]; !known {
			delete(r.Before, name)
		}
		if _, stays := now.Versions[Services[name].Replaces]; stays {
			delete(r.Replaced, Services[name].Replaces)
		}
		r.Ending = slices.DeleteFunc(r.Ending, func(ending string) bool { return ending == name })
	}
	return r.writeRecord(ctx, h)
}

// endUnits ends the units that came with packages, and are in the way of the provider's own, be it that the run which had these installed was
// killed.
func (r Record) endUnits(ctx context.Context, h host.Host) error {
	if len(r.Ending) == 0 {
		return nil
	}
	var args []string
	for _, name := range r.Ending {
		args = append(args, UnitState{}.listRestoring(Services[name])...)
	}
	if _, err := h.Run(ctx, host.RepeatableScript("end what came with "+strings.Join(r.Ending, ", "), restoreScript, args...)); err != nil {
		return err
	}
	r.Ending = nil
	return r.writeRecord(ctx, h)
}

// enableUnits enables the units that are not (which costs systemd a reload) and starts those that can be; a daemon
// that does not start is a warning only, as it may want the very configuration that comes next. What was
// installed since the inventory counts as neither.
func (inv Inventory) enableUnits(ctx context.Context, h host.Host, services []string) (warnings []string, err error) {
	var enable []string
	for _, name := range services {
		if !Services[name].Aside && !inv.Units[name].isEnabled() {
			enable = append(enable, Services[name].Unit)
		}
	}
	if enable != nil {
		if _, err := h.Run(ctx, host.Cmd{Argv: append([]string{"systemctl", "enable", "--quiet"}, enable...), Repeatable: true}); err != nil {
			return nil, err
		}
	}
	for _, name := range services {
		if !Services[name].Start || inv.Units[name].isActive() {
			continue
		}
		_, err := h.Run(ctx, host.RepeatableScript("start "+name, startScript, Services[name].Unit))
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

// startScript starts a unit; its failure carries the daemon's own last words.
//
//go:embed start.sh
var startScript string
