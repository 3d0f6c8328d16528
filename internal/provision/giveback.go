package provision

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision/packages"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// GiveBack ends a service node's hold on services: those that nobody else uses, and in which nothing has an owner any more, get
// their configuration back as it was (see transaction.Engine.GiveBack), and their units are as enabled and as active as before.
// Packages stay, but for those that what they replaced comes back for. The warnings say what stays, and why.
func GiveBack(ctx context.Context, h host.Host, engine *transaction.Engine, user Claim, services []string) (warnings []string, err error) {
	return giveBack(ctx, h, engine, func(r Record) []string {
		keepsPackages := false
		for _, id := range r.listOwnUsers(user) {
			keepsPackages = keepsPackages || r.Users[id].KeepsPackages
		}
		r.addUser(user, slices.DeleteFunc(r.removeUser(user), func(name string) bool { return slices.Contains(services, name) }), keepsPackages)
		return services
	}, user)
}

// Leave gives back all services that a service node uses: those that its state knows, and those that the machine has noted, which
// a state does not know where they could not be made ready.
func Leave(ctx context.Context, h host.Host, engine *transaction.Engine, user Claim, known []string) (warnings []string, err error) {
	return giveBack(ctx, h, engine, func(r Record) []string {
		all := slices.Concat(known, r.removeUser(user))
		slices.Sort(all)
		return slices.Compact(all)
	}, user)
}

// giveBack gives back the services that end returns, which takes the service node's own out of the record.
func giveBack(ctx context.Context, h host.Host, engine *transaction.Engine, end func(Record) []string, user Claim) (warnings []string, err error) {
	unlock, err := h.Lock(ctx, lockName)
	if err != nil {
		return nil, err
	}
	defer unlock()
	inv, err := takeInventory(ctx, h, false)
	if err == nil {
		err = inv.Record.endUnits(ctx, h)
	}
	if err != nil {
		return nil, err
	}
	inv.Record.Ending = nil
	record := inv.Record.cloneRecord()
	services := end(record)
	var unused []string
	for _, name := range services {
		if others, unknown := record.otherUsers(user, name); len(others) > 0 {
			warning := fmt.Sprintf("%s on %s stays as it is: other service nodes use it (%s).", name, h, strings.Join(others, ", "))
			if unknown {
				warning += " One of them is of this very state. Where no resource has it, as after a run that was killed before it wrote the state, import the machine and destroy it once more."
			}
			warnings = append(warnings, warning)
			continue
		}
		unused = append(unused, name)
	}
	given, ended, said, errs := inv.giveBack(ctx, h, engine, unused)
	given, kept := inv.bringBack(ctx, h, given)
	warnings = append(append(warnings, said...), kept...)
	if err := inv.restoreUnits(ctx, h, given); err != nil {
		return warnings, errors.Join(append(errs, err)...)
	}
	for _, name := range ended {
		delete(record.Before, name)
		delete(record.Replaced, Services[name].Replaces)
	}
	if !record.isSame(inv.Record) {
		errs = append(errs, record.writeRecord(ctx, h))
	}
	if len(record.Before) == 0 {
		// Only what is empty goes: another configuration's transactions may keep something there.
		_, err := h.Run(ctx, host.Script("tidy up", `rmdir -- "$1" 2>/dev/null || :`, "/var/lib/virtcluster"))
		errs = append(errs, err)
	}
	return warnings, errors.Join(errs...)
}

// giveBack gives the configurations of services back, side by side, and returns those that ended well, and of these the
// ones (given) whose units are given back too: not one that did not run before and may serve what others wrote into its configuration since.
func (inv Inventory) giveBack(ctx context.Context, h host.Host, engine *transaction.Engine, services []string) (given, ended, warnings []string, errs []error) {
	failures, said, kept := make([]error, len(services)), make([][]string, len(services)), make([][]string, len(services))
	var wait sync.WaitGroup
	for i, name := range services {
		if daemon := Services[name].Daemon; daemon != nil { // one whose package was removed leaves its files
			wait.Go(func() { said[i], kept[i], failures[i] = engine.GiveBack(ctx, h, daemon) })
		}
	}
	wait.Wait()
	for i, name := range services {
		warnings = append(warnings, said[i]...)
		if inUse, ok := errors.AsType[*transaction.InUseError](failures[i]); ok {
			warnings = append(warnings, inUse.Error()+". Its unit stays as it is; destroy or import these to give it back.")
			continue
		}
		if failures[i] != nil {
			errs = append(errs, fmt.Errorf("give %s back: %w", name, failures[i]))
			continue
		}
		if before, ok := inv.Record.Before[name]; ok && len(kept[i]) > 0 && !before.isActive() && inv.Units[name].isActive() {
			warnings = append(warnings, fmt.Sprintf("%s on %s goes on, although it did not run before the provider came: others have written %s since. Where nothing there needs it, run `systemctl disable --now %s` there.",
				name, h, strings.Join(kept[i], ", "), Services[name].Unit))
			ended = append(ended, name)
			continue
		}
		given, ended = append(given, name), append(ended, name)
	}
	return given, ended, warnings, errs
}

// bringBack installs again what services that are given back replaced, which removes them. A service goes on where that fails, so that what it
// does is not left undone: it returns the others, and as warnings why.
func (inv Inventory) bringBack(ctx context.Context, h host.Host, services []string) (given, warnings []string) {
	for _, name := range services {
		r := Services[name].Replaces
		_, gone := inv.Record.Replaced[r]
		if _, there := inv.Versions[r]; gone && !there {
			if err := packages.Install(ctx, h, inv.Family, replaced[r].Packages[inv.Family], Services[name].Packages[inv.Family]); err != nil {
				warnings = append(warnings, fmt.Sprintf("%s on %s goes on, as %s, which it replaced, cannot be installed again: %s", name, h, r, err))
				continue
			}
		}
		given = append(given, name)
	}
	return given, warnings
}

// restoreUnits makes the units of services as they are recorded, and those of what came back for them.
func (inv Inventory) restoreUnits(ctx context.Context, h host.Host, services []string) error {
	var args []string
	for _, name := range services {
		s := Services[name]
		if before, recorded := inv.Record.Before[name]; recorded && !s.Aside {
			args = append(args, before.listRestoring(s)...)
		}
		if before, recorded := inv.Record.Replaced[s.Replaces]; recorded {
			args = append(args, before.listRestoring(replaced[s.Replaces])...)
		}
	}
	if args == nil {
		return nil
	}
	_, err := h.Run(ctx, host.RepeatableScript("restore the units of "+strings.Join(services, ", "), restoreScript, args...))
	return err
}

// listRestoring are restore.sh's arguments that make the unit of a service what it was like.
func (u UnitState) listRestoring(s Service) []string {
	enabled, active := "disable", "stop"
	if u.isEnabled() {
		enabled = "enable"
	}
	if u.isActive() {
		active = "start"
	}
	if s.AtBoot {
		active = "leave"
	}
	return []string{s.Unit, enabled, active}
}

// restoreScript makes units as enabled and as active as they were.
//
//go:embed restore.sh
var restoreScript string
