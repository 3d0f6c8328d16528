package engine

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
)

// MayDelete implements crud.Keeper.
func (s *Store) MayDelete(ctx context.Context) error {
	if c, err := s.lookAtCentral(ctx); err == nil && c.isRunning() {
		return s.findUsers(ctx, c)
	}
	return nil // the apply says what is wrong
}

// findUsers returns an error where the databases hold what is not this resource's.
func (s *Store) findUsers(ctx context.Context, c central) error {
	used, err := c.north.Used(ctx)
	if err != nil || len(used) == 0 {
		return err
	}
	return fmt.Errorf("OVN on %s has %d things, such as %s: remove them first", c.host, len(used), used[0])
}

// Delete implements crud.Store. Databases without a mark are those of a create that broke, or of nobody: they are put back to how they were.
func (s *Store) Delete(ctx context.Context) error {
	c, unlock, err := s.lockCentral(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	used, err := provision.IsUser(ctx, c.host, s.claim, centralServices[0])
	if err != nil {
		return err
	}
	if used && !c.isRunning() && c.machine.Stored {
		if err := s.startCentral(ctx, c); err != nil {
			return err
		}
		if c, err = s.lookAtCentral(ctx); err != nil {
			return err
		}
	}
	isMarked := c.mark != (owner.Mark{})
	if isMarked && !s.claim.Owns(c.mark) {
		return s.foreignError("OVN", c.host, c.mark)
	}
	if c.isRunning() && (isMarked || used) {
		if err := s.findUsers(ctx, c); err != nil {
			return err
		}
	}
	if err := s.deleteChassis(ctx, c, isMarked); err != nil {
		return err
	}
	if !isMarked && !used {
		return nil
	}
	if err := s.disbandCluster(ctx, c, s.claim, Engine{}); err != nil {
		return err
	}
	c.host, c.machine = c.first().host, c.first().machine
	if isMarked {
		if err := s.clearCentral(ctx, c); err != nil {
			return err
		}
	}
	return s.giveCentralBack(ctx, c)
}

// deleteChassis has the machines that the databases have noted, where these are marked, not be chassis any more, and those that a create
// broke off at before it noted them.
func (s *Store) deleteChassis(ctx context.Context, c central, isMarked bool) error {
	all := map[string]Chassis{}
	if isMarked {
		all = parseNotedChassis(c.notes)
	}
	for name, chassis := range s.known.Chassis {
		h, err := s.machines.Host(ctx, chassis.Endpoint)
		if _, isNoted := all[name]; isNoted || err != nil {
			continue
		}
		if used, err := provision.IsUser(ctx, h, s.claim, chassisServices[0]); err == nil && used {
			all[name] = chassis
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := s.releaseChassis(ctx, s.claim, all[name]); err != nil {
			return fmt.Errorf("put the machine of chassis %q back: %w\n\nIf it is gone for good, take it out of `chassis` first", name, err)
		}
		if !isMarked {
			continue
		}
		if err := s.forgetChassis(ctx, c, name, all[name]); err != nil {
			return err
		}
	}
	return nil
}

// clearCentral takes away what the databases have.
func (s *Store) clearCentral(ctx context.Context, c central) error {
	if err := c.north.Listen(ctx, ovn.Listener{}); err != nil {
		return err
	}
	if err := c.north.SetKeyPair(ctx, ovn.KeyPair{}); err != nil {
		return err
	}
	if _, err := runScript(ctx, c.host, true, "forget-keys", string(centralRole), authorityFile); err != nil {
		return err
	}
	gone := map[string]string{}
	for key := range c.notes {
		if key == ovn.MarkKey || len(key) > len(ovn.MarkKey) && key[:len(ovn.MarkKey)+1] == ovn.MarkKey+"-" {
			gone[key] = ""
		}
	}
	return c.north.Note(ctx, gone)
}

// giveCentralBack puts the machine with the databases back to how it was, without them where they were made for this owner.
func (s *Store) giveCentralBack(ctx context.Context, c central) error {
	c.north.Close()
	if err := closeFirewall(ctx, c.host, centralRole); err != nil {
		return err
	}
	warnings, err := provision.Leave(ctx, c.host, s.engine, s.claim, centralServices)
	for _, w := range warnings {
		s.addWarning("OVN's machine is not as it was", "%s", w)
	}
	if err != nil || !c.machine.Made {
		return err
	}
	if after, err := Look(ctx, c.host, netip.Addr{}); err != nil || after.hasRunning(centralUnits[0]) {
		return err
	}
	_, err = runScript(ctx, c.host, true, "forget")
	return err
}

// releaseChassis has a machine not be a chassis any more, and puts its units back as they were.
func (s *Store) releaseChassis(ctx context.Context, claim owner.Claim, chassis Chassis) error {
	seen, err := s.lookAtChassis(ctx, chassis)
	if err != nil {
		return err
	}
	if !seen.machine.hasRunning(switchUnits[0]) { // whose it is, and what it was before, its Open vSwitch says that does not run
		used, err := provision.IsUser(ctx, seen.host, claim, chassisServices[0])
		_, isInstalled := seen.machine.Versions["openvswitch"]
		switch {
		case err != nil || !used:
		case !isInstalled: // a person removed it, and what it had goes with it
			err = removeChassisFiles(ctx, seen.host)
		default:
			if err = s.startUnits(ctx, seen.host, switchUnits); err == nil {
				seen, err = s.lookAtChassis(ctx, chassis)
			}
		}
		if err != nil {
			return err
		}
	}
	if seen.isOwned(claim) || seen.isOwned(s.claim) {
		if err := dismissChassis(ctx, seen); err != nil {
			return err
		}
	}
	return s.giveServicesBack(ctx, seen.host, chassisServices)
}

// dismissChassis has a machine follow nobody, and be as it was before. Its mark goes last: whoever ends before that is followed by one who does the rest.
func dismissChassis(ctx context.Context, seen chassisSeen) error {
	if _, err := runScript(ctx, seen.host, true, append([]string{"leave"}, chassisUnits...)...); err != nil {
		return err
	}
	before, err := seen.parseBefore()
	if err != nil {
		return err
	}
	settings := map[string]string{ovn.MarkKey: "", beforeKey: ""}
	for key := range (Engine{}).listSettings(Chassis{}) {
		settings[key] = before.Settings[key]
	}
	if err := removeChassisFiles(ctx, seen.host); err != nil {
		return err
	}
	_, err = onSwitch(seen.host, func(d *ovn.Database) (none struct{}, err error) {
		err = ovn.RestoreZeroSNAT(ctx, d)
		if err == nil {
			err = ovn.RemovePatches(ctx, d)
		}
		switch {
		case err != nil:
		case before.Integration == nil:
			err = ovn.RemoveIntegration(ctx, d)
		default:
			err = ovn.RestoreIntegration(ctx, d, *before.Integration)
		}
		if err == nil {
			err = ovn.SetSwitchKeyPair(ctx, d, ovn.KeyPair{})
		}
		if err == nil {
			err = ovn.Set(ctx, d, settings)
		}
		return none, err
	})
	return err
}

// removeChassisFiles removes what a chassis has beside its Open vSwitch: its key pair, the rules of its firewall, and files of units.
func removeChassisFiles(ctx context.Context, h host.Host) error {
	if _, err := runScript(ctx, h, true, "forget-keys", string(chassisRole)); err != nil {
		return err
	}
	if err := closeFirewall(ctx, h, chassisRole); err != nil {
		return err
	}
	return removeDatapathUnit(ctx, h)
}

func (s *Store) forgetChassis(ctx context.Context, c central, name string, chassis Chassis) error {
	if err := c.north.Forget(ctx, chassis.ID); err != nil {
		return err
	}
	return c.north.Note(ctx, map[string]string{chassisKey + name: ""})
}
