package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// lockName is held on the machine with the databases while OVN is brought up, changed or taken down.
const lockName = "ovn"

// Create implements crud.Store.
func (s *Store) Create(ctx context.Context, want Engine) (Engine, error) {
	c, unlock, err := s.lockCentral(ctx)
	if err != nil {
		return want, err
	}
	defer unlock()
	if err := s.MayCreate(ctx); err != nil {
		return want, err
	}
	return s.putEngine(ctx, c, Engine{}, want)
}

// Update implements crud.Store.
func (s *Store) Update(ctx context.Context, _, want Engine) (Engine, error) {
	c, unlock, err := s.lockCentral(ctx)
	if err != nil {
		return want, err
	}
	defer unlock()
	if !c.isRunning() {
		if err := s.startUnits(ctx, c.host, centralUnits); err != nil {
			return want, err
		}
		if c, err = s.lookAtCentral(ctx); err != nil {
			return want, err
		}
	}
	if !s.claim.Owns(c.mark) {
		return want, s.foreignError("OVN", c.host, c.mark)
	}
	was, err := s.readEngine(ctx, c)
	if err != nil {
		return want, err
	}
	if err := s.checkLeaving(ctx, c, was, want); err != nil {
		return want, err
	}
	return s.putEngine(ctx, c, was, want)
}

func (s *Store) lockCentral(ctx context.Context) (c central, unlock func(), err error) {
	h, err := s.machines.Host(ctx, s.known.Central[0])
	if err != nil {
		return c, nil, err
	}
	if unlock, err = h.Lock(ctx, lockName); err != nil {
		return c, nil, err
	}
	if c, err = s.lookAtCentral(ctx); err != nil {
		unlock()
	}
	return c, unlock, err
}

// putEngine makes the machines have what is wanted: programs and units, then what is checked between machines, then the databases, and at last who
// follows them. What is left goes at the end.
func (s *Store) putEngine(ctx context.Context, c central, was, want Engine) (Engine, error) {
	claim := s.claim
	s.claim = s.claim.Written()
	fail := func(err error) (Engine, error) { return want, &service.Unfinished{Err: err} }
	if !c.machine.Stored {
		if err := c.host.Write(ctx, host.File{Path: madeNote, Content: []byte(claim.Mark().String() + "\n")}); err != nil {
			return fail(err)
		}
	}
	if err := s.prepareMachines(ctx, claim, was, want); err != nil {
		return fail(err)
	}
	c, err := s.lookAtCentral(ctx)
	if err == nil && !c.isRunning() {
		err = fmt.Errorf("the databases of OVN do not run on %s after they were started: see `journalctl -u ovn-ovsdb-server-nb` there", c.host)
	}
	if err != nil {
		return fail(err)
	}
	seen, err := s.lookAtAll(ctx, want.Chassis)
	if err != nil {
		return fail(err)
	}
	want.Chassis = maps.Clone(want.Chassis)
	for name, chassis := range want.Chassis {
		chassis.ID = seen[name].settings[idKey]
		want.Chassis[name] = chassis
	}
	if err := openFirewalls(ctx, want.listOpenings(c, seen)); err != nil {
		return fail(err)
	}
	if want, err = s.checkUnderlay(ctx, seen, want); err != nil {
		return fail(err)
	}
	var signer authority
	if want.TLS {
		if signer, err = s.putAuthority(ctx, c); err != nil {
			return fail(err)
		}
	}
	if err := s.putCentral(ctx, c, want, signer); err != nil {
		return fail(err)
	}
	_, failures := each(want.Chassis, func(name string, _ Chassis) (none struct{}, err error) {
		return none, s.putChassis(ctx, name, seen[name], want, signer)
	})
	if err := joinFailures(failures); err != nil {
		return fail(err)
	}
	if err := s.awaitFollowers(ctx, c, want.Chassis); err != nil {
		return fail(err)
	}
	if err := s.dropChassis(ctx, c, claim, was, want); err != nil {
		return fail(err)
	}
	return service.ReadBack(ctx, s.Get, nil)
}

// prepareMachines makes each machine have the programs and the units of its roles, and starts them.
func (s *Store) prepareMachines(ctx context.Context, claim owner.Claim, was, want Engine) error {
	_, failures := each(want.listServices(), func(endpoint string, services []string) (none struct{}, err error) {
		h, err := s.machines.Host(ctx, endpoint)
		if err != nil {
			return none, err
		}
		if name := want.findChassis(endpoint); name != "" && was.findChassis(endpoint) == "" {
			if err := s.noteBefore(ctx, h, claim, services, want.Chassis[name], want.Install); err != nil {
				return none, err
			}
		}
		if _, err := provision.Prepare(ctx, h, claim, services, services, want.Install); err != nil {
			return none, err
		}
		var units []string
		if slices.Contains(services, chassisServices[0]) {
			units = append(units, switchUnits...)
		}
		if slices.Contains(services, centralServices[0]) {
			units = append(units, centralUnits...)
		}
		return none, s.startUnits(ctx, h, units)
	})
	return joinFailures(failures)
}

func (s *Store) startUnits(ctx context.Context, h host.Host, units []string) error {
	if _, err := runScript(ctx, h, true, append([]string{"start"}, units...)...); err != nil {
		return fmt.Errorf("start OVN on %s: %w", h, err)
	}
	return nil
}

// lookAtAll looks at the machines of chassis, of which each has to be free to be one.
func (s *Store) lookAtAll(ctx context.Context, want map[string]Chassis) (map[string]chassisSeen, error) {
	seen, failures := each(want, func(_ string, c Chassis) (chassisSeen, error) {
		is, err := s.lookAtChassis(ctx, c)
		if err == nil {
			err = s.mayTakeChassis(is)
		}
		return is, err
	})
	if err := firstForeign(failures); err != nil {
		return nil, err
	}
	return seen, joinFailures(failures)
}

// checkUnderlay finds tunnel addresses that are not there, and packets that do not arrive, and completes the sizes of packets.
func (s *Store) checkUnderlay(ctx context.Context, seen map[string]chassisSeen, want Engine) (Engine, error) {
	least := int64(0)
	for _, name := range slices.Sorted(maps.Keys(want.Chassis)) {
		m, at := seen[name].machine, []any{"chassis", service.Key(name), "tunnel_ip"}
		if m.Device == "" {
			return want, service.At(at, fmt.Errorf("%s has no address %s", seen[name].host, want.Chassis[name].TunnelIP))
		}
		if want.UnderlayMTU > m.MTU {
			return want, service.At([]any{"underlay_mtu"}, fmt.Errorf("%s of chassis %q takes packets of %d bytes: write %d at most", m.Device, name, m.MTU, m.MTU))
		}
		if least == 0 || m.MTU < least {
			least = m.MTU
		}
	}
	if want.UnderlayMTU == 0 {
		want.UnderlayMTU = least
	}
	if want.UnderlayMTU == 0 {
		return want, nil // there is no chassis yet
	}
	if want.UnderlayMTU < smallestUnderlay {
		return want, service.At([]any{"underlay_mtu"}, fmt.Errorf("the underlay takes packets of %d bytes, and tunnels need %d at least", want.UnderlayMTU, smallestUnderlay))
	}
	want.MTU = want.UnderlayMTU - ovn.Tunnel
	silent, failures := each(want.Chassis, func(name string, c Chassis) (string, error) {
		args := []string{"reach", strconv.FormatInt(want.UnderlayMTU, 10)}
		for other, o := range want.Chassis {
			if other != name {
				args = append(args, o.TunnelIP.String())
			}
		}
		return runScript(ctx, seen[name].host, true, args...)
	})
	if err := joinFailures(failures); err != nil {
		return want, err
	}
	for _, name := range slices.Sorted(maps.Keys(silent)) {
		if silent[name] != "" {
			return want, service.At([]any{"chassis", service.Key(name), "tunnel_ip"}, fmt.Errorf(
				"packets of %d bytes from %s do not reach %q: look whether the underlay carries them, and write a smaller underlay_mtu where it does not", want.UnderlayMTU, want.Chassis[name].TunnelIP, silent[name]))
		}
	}
	return want, nil
}

// putCentral has the databases note whose they are, and listen.
func (s *Store) putCentral(ctx context.Context, c central, want Engine, signer authority) error {
	notes := map[string]string{
		ovn.MarkKey: s.claim.Mark().String(), addressNote: want.Address.String(), datapathNot: want.Datapath, underlayKey: "", ovn.MTUKey: "", keepsKey: "",
		validNote: want.Certificates.ValidFor, renewNote: want.Certificates.RenewBefore,
	}
	if want.UnderlayMTU != 0 {
		notes[underlayKey], notes[ovn.MTUKey] = strconv.FormatInt(want.UnderlayMTU, 10), strconv.FormatInt(want.MTU, 10)
	}
	if !want.Install {
		notes[keepsKey] = "true"
	}
	if err := c.north.Note(ctx, notes); err != nil {
		return err
	}
	if err := putProof(ctx, want, signer, prover{centralRole, c.host, c.machine, centralName, want.Address}); err != nil {
		return err
	}
	pair := ovn.KeyPair{}
	if want.TLS {
		pair = centralRole.keyPair()
	}
	if err := c.north.SetKeyPair(ctx, pair); err != nil {
		return err
	}
	return c.north.Listen(ctx, want.newListener())
}

// putChassis has a machine follow the databases, and those know of it. It is noted before it follows.
func (s *Store) putChassis(ctx context.Context, name string, seen chassisSeen, want Engine, signer authority) error {
	chassis := want.Chassis[name]
	for physical, bridge := range chassis.BridgeMappings {
		if !slices.Contains(seen.bridges, bridge) {
			return fmt.Errorf("%s has no bridge %q of Open vSwitch for %q: make it by `ovs-vsctl add-br %s` and `ovs-vsctl add-port %s DEVICE`", seen.host, bridge, physical, bridge, bridge)
		}
	}
	north, err := s.machines.Northbound(ctx, want.Central[0])
	if err != nil {
		return err
	}
	if chassis.ID == "" {
		return fmt.Errorf("the settings of Open vSwitch on %s have no system-id: start it by its package's unit", seen.host)
	}
	// Chassis are put side by side, and each changes the notes.
	for err = ovn.ErrChanged; errors.Is(err, ovn.ErrChanged) && ctx.Err() == nil; {
		err = north.Note(ctx, map[string]string{chassisKey + name: chassis.formatNote()})
	}
	if err != nil {
		return err
	}
	if err := putProof(ctx, want, signer, seen.newProver()); err != nil {
		return err
	}
	if want.Datapath != Userspace && seen.readDatapath() == Userspace {
		if err := restoreDatapath(ctx, seen.host); err != nil {
			return err
		}
	}
	settings, pair := want.listSettings(chassis), ovn.KeyPair{}
	settings[ovn.MarkKey] = s.claim.Mark().String()
	if want.TLS {
		pair = chassisRole.keyPair()
	}
	_, err = onSwitch(seen.host, func(d *ovn.Database) (none struct{}, err error) {
		if err = ovn.SetSwitchKeyPair(ctx, d, pair); err == nil {
			err = ovn.Set(ctx, d, settings)
		}
		return none, err
	})
	if err != nil {
		return err
	}
	if err := s.startUnits(ctx, seen.host, chassisUnits); err != nil {
		return err
	}
	if want.Datapath == Userspace {
		if err := putDatapath(ctx, seen.host); err != nil {
			return err
		}
	}
	if _, err := runScript(ctx, seen.host, true, "connected"); err != nil {
		return fmt.Errorf("%s does not reach the southbound database: %w\n\nLook there at /var/log/ovn/ovn-controller.log, and whether a firewall lets TCP port %d of %s pass", seen.host, err, southboundPort, want.Address)
	}
	return nil
}

func (s *Store) forgetChassis(ctx context.Context, c central, name string, chassis Chassis) error {
	if err := c.north.Forget(ctx, chassis.ID); err != nil {
		return err
	}
	return c.north.Note(ctx, map[string]string{chassisKey + name: ""})
}

// releaseChassis has a machine not be a chassis any more, and puts its units back as they were; stays are the services that each machine takes on.
func (s *Store) releaseChassis(ctx context.Context, claim owner.Claim, chassis Chassis, stays map[string][]string) error {
	seen, err := s.lookAtChassis(ctx, chassis)
	if err != nil {
		return err
	}
	if seen.isOwned(claim) || seen.isOwned(s.claim) {
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
		if err := restoreDatapath(ctx, seen.host); err != nil {
			return err
		}
		_, err = onSwitch(seen.host, func(d *ovn.Database) (none struct{}, err error) {
			if !before.Integrated {
				err = ovn.RemoveIntegration(ctx, d)
			}
			if err == nil {
				err = ovn.SetSwitchKeyPair(ctx, d, ovn.KeyPair{})
			}
			if err == nil {
				err = ovn.Set(ctx, d, settings)
			}
			return none, err
		})
		if err != nil {
			return err
		}
		if _, err := runScript(ctx, seen.host, true, "forget-keys", string(chassisRole)); err != nil {
			return err
		}
		if err := closeFirewall(ctx, seen.host, chassisRole); err != nil {
			return err
		}
	}
	for endpoint := range stays {
		if host.SameReference(endpoint, chassis.Endpoint) {
			_, err := provision.GiveBack(ctx, seen.host, s.engine, s.claim, chassisServices)
			return err
		}
	}
	warnings, err := provision.Leave(ctx, seen.host, s.engine, s.claim, chassisServices)
	for _, w := range warnings {
		s.addWarning("A chassis is not as it was", "%s", w)
	}
	return err
}

// FinishMark implements crud.Owned.
func (s *Store) FinishMark(ctx context.Context) error {
	finished := s.claim.Finished()
	c, err := s.lookAtCentral(ctx)
	if err != nil || !c.isRunning() || !s.claim.Owns(c.mark) {
		return err
	}
	_, failures := each(parseNotedChassis(c.notes), func(_ string, chassis Chassis) (none struct{}, err error) {
		seen, err := s.lookAtChassis(ctx, chassis)
		if err != nil || !seen.isOwned(s.claim) {
			return none, err
		}
		return onSwitch(seen.host, func(d *ovn.Database) (none struct{}, err error) {
			return none, ovn.Set(ctx, d, map[string]string{ovn.MarkKey: finished.Mark().String()})
		})
	})
	if err := joinFailures(failures); err != nil {
		return err
	}
	all := Engine{Central: s.known.Central, Chassis: parseNotedChassis(c.notes)}.listServices()
	_, failures = each(all, func(endpoint string, _ []string) (none struct{}, err error) {
		h, err := s.machines.Host(ctx, endpoint)
		if err == nil {
			err = provision.Finish(ctx, h, s.claim.Mark())
		}
		return none, err
	})
	if err := joinFailures(failures); err != nil {
		return err
	}
	if err := c.north.Note(ctx, map[string]string{ovn.MarkKey: finished.Mark().String()}); err != nil {
		return err
	}
	s.claim = finished
	return nil
}

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
	return fmt.Errorf("OVN on %s has %d networks and routers, such as %s: remove them first", c.host, len(used), used[0])
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
		if err := s.startUnits(ctx, c.host, centralUnits); err != nil {
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
	if isMarked {
		if err := s.clearCentral(ctx, c); err != nil {
			return err
		}
	}
	if isMarked || used {
		return s.giveCentralBack(ctx, c)
	}
	return nil
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
		if err := s.releaseChassis(ctx, s.claim, all[name], Engine{Central: s.known.Central}.listServices()); err != nil {
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

func joinFailures(failures map[string]error) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(failures)) {
		errs = append(errs, fmt.Errorf("%s: %w", name, failures[name]))
	}
	return errors.Join(errs...)
}
