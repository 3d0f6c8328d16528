package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

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
	return s.putEngine(ctx, c, Engine{}, want, nil)
}

// Update implements crud.Store.
func (s *Store) Update(ctx context.Context, _, want Engine) (Engine, error) {
	c, unlock, err := s.lockCentral(ctx)
	if err != nil {
		return want, err
	}
	defer unlock()
	if !c.isRunning() {
		if err := s.startCentral(ctx, c); err != nil {
			return want, err
		}
		if c, err = s.lookAtCentral(ctx); err != nil {
			return want, err
		}
	}
	if !s.claim.Owns(c.mark) {
		return want, s.foreignError("OVN", c.host, c.mark)
	}
	s.claim = s.claim.Found(c.mark) // a read while the databases were stopped has not told whose they are
	if err := s.mayJoin(c); err != nil {
		return want, err
	}
	was, err := s.readEngine(ctx, c)
	if err != nil {
		return want, err
	}
	leaving, err := s.findLeaving(ctx, was, want)
	if err != nil {
		return want, err
	}
	if err := s.checkLeaving(ctx, c, leaving); err != nil {
		return want, err
	}
	// Before anything is done there: whoever goes back to fewer machines after an apply that broke finds what it did.
	if err := s.noteMembers(ctx, c, want); err != nil {
		return want, err
	}
	return s.putEngine(ctx, c, was, want, leaving)
}

// putEngine makes the machines have what is wanted: programs and units, then what is checked between machines, then the databases, and at last who
// follows them. The chassis that leave go at the end.
func (s *Store) putEngine(ctx context.Context, c central, was, want Engine, leaving map[string]chassisSeen) (Engine, error) {
	claim := s.claim
	s.claim = s.claim.Written()
	fail := func(err error) (Engine, error) { return want, &service.Unfinished{Err: err} }
	for _, m := range c.members {
		if m.err != nil || m.machine.Stored || !want.hasCentral(m.Endpoint) {
			continue
		}
		if err := m.host.Write(ctx, host.File{Path: madeNote, Content: []byte(claim.Mark().String() + "\n")}); err != nil {
			return fail(err)
		}
	}
	if err := s.prepareMachines(ctx, claim, c, was, want); err != nil {
		return fail(err)
	}
	c, err := s.lookAtCentral(ctx)
	if err == nil && !c.isRunning() {
		err = fmt.Errorf("the databases of OVN do not run on %s after they were started: see `journalctl -u ovn-ovsdb-server-nb` there", c.host)
	}
	if err != nil {
		return fail(err)
	}
	seen, err := s.lookAtAll(ctx, claim, want.Chassis)
	if err != nil {
		return fail(err)
	}
	want.Chassis = maps.Clone(want.Chassis)
	for name, chassis := range want.Chassis {
		chassis.ID = seen[name].settings[idKey]
		want.Chassis[name] = chassis
	}
	if err := want.checkIDs(); err != nil {
		return fail(err)
	}
	if err := openFirewalls(ctx, want.listOpenings(c, seen)); err != nil {
		return fail(err)
	}
	if want, err = s.checkUnderlay(ctx, seen, want); err != nil {
		return fail(err)
	}
	var signer authority
	if want.TLS {
		if signer, err = s.putAuthority(ctx, c, want); err != nil {
			return fail(err)
		}
	}
	if err := s.putCentral(ctx, c, claim, want, signer); err != nil {
		return fail(err)
	}
	if err := s.noteReplaced(ctx, c, was, want, leaving); err != nil {
		return fail(err)
	}
	if err := c.north.Forget(ctx, c.listDead(claim, want, leaving)...); err != nil {
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
	if err := s.awaitConnections(ctx, c, seen); err != nil {
		return fail(err)
	}
	if err := s.dropChassis(ctx, c, claim, was, want, leaving); err != nil {
		return fail(err)
	}
	return service.ReadBack(ctx, s.Get, nil)
}

// prepareMachines makes each machine have the programs and the units of its roles, and starts them. One that has been a member of the cluster and does
// not answer is left out, as the others go on without it.
func (s *Store) prepareMachines(ctx context.Context, claim owner.Claim, c central, was, want Engine) error {
	roles := want.listServices()
	machines, _ := each(roles, func(endpoint string, _ []string) (id string, err error) { // one that cannot be looked at is not prepared either
		h, err := s.machines.Host(ctx, endpoint)
		if err != nil {
			return "", err
		}
		seen, err := Look(ctx, h, netip.Addr{})
		return seen.ID, err
	})
	roles = want.mergeRoles(roles, machines)
	for endpoint, services := range roles {
		m, err := c.findMember(endpoint)
		if err == nil && m.err != nil && was.isCluster() && was.hasCentral(endpoint) && slices.Equal(services, centralServices) {
			s.addWarning("A machine with databases does not answer", "%s: %v. The databases go on by the others; it is made ready by an apply when it answers again.", endpoint, m.err)
			delete(roles, endpoint)
		}
	}
	_, failures := each(roles, func(endpoint string, services []string) (none struct{}, err error) {
		h, err := s.machines.Host(ctx, endpoint)
		if err != nil {
			return none, err
		}
		if name := want.findChassis(endpoint); name != "" && was.findChassis(endpoint) == "" {
			if err := s.noteBefore(ctx, h, claim, services, want.Chassis[name], want.Install); err != nil {
				return none, cmp.Or(firstForeign(map[string]error{name: err}), err)
			}
		}
		uses := services
		if c.hasMember(was, machines[endpoint]) && !slices.Contains(services, centralServices[0]) { // it has databases until it is out of the cluster
			uses = slices.Concat(services, centralServices)
		}
		if _, err := provision.Prepare(ctx, h, claim, uses, services, want.Install); err != nil {
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

// startCentral starts the databases on all machines that answer and have them already.
func (s *Store) startCentral(ctx context.Context, c central) error {
	starts := map[string]member{}
	for i, m := range c.members {
		if m.err == nil && (i == 0 || m.isClustered()) {
			starts[m.Endpoint] = m
		}
	}
	_, failures := each(starts, func(_ string, m member) (none struct{}, err error) {
		return none, s.startUnits(ctx, m.host, centralUnits)
	})
	return joinFailures(failures)
}

func (s *Store) startUnits(ctx context.Context, h host.Host, units []string) error {
	if _, err := runScript(ctx, h, true, append([]string{"start"}, units...)...); err != nil {
		return fmt.Errorf("start OVN on %s: %w", h, err)
	}
	return nil
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
		if addresses := strings.Fields(silent[name]); len(addresses) > 0 {
			return want, service.At([]any{"chassis", service.Key(name), "tunnel_ip"}, want.explainSilence(ctx, seen[name].host, name, addresses))
		}
	}
	return want, nil
}

// explainSilence says which chassis packets from one do not reach, at some addresses, and what to do about it: smaller ones reach them where the network
// between the machines carries less than their devices say.
func (e Engine) explainSilence(ctx context.Context, h host.Host, from string, addresses []string) error {
	var others []string
	for _, other := range slices.Sorted(maps.Keys(e.Chassis)) {
		if address := e.Chassis[other].TunnelIP.String(); slices.Contains(addresses, address) {
			others = append(others, fmt.Sprintf("%q (%s)", other, address))
		}
	}
	small := strconv.Itoa(smallestUnderlay)
	silent, err := runScript(ctx, h, true, append([]string{"reach", small}, addresses...)...)
	way := "small ones do: the network between them carries less than their devices say. Have it carry these, or write a smaller underlay_mtu"
	if err != nil || silent != "" {
		way = fmt.Sprintf("small ones do not either: look there whether `ping -M do -s %d %s` is answered, and whether both are on one network and no firewall is between them", e.UnderlayMTU-28, addresses[0])
	}
	return fmt.Errorf("packets of %d bytes from chassis %q (%s) do not reach %s, and %s", e.UnderlayMTU, from, e.Chassis[from].TunnelIP, strings.Join(others, ", "), way)
}

// putCentral has the databases note whose they are, and listen.
func (s *Store) putCentral(ctx context.Context, c central, claim owner.Claim, want Engine, signer authority) error {
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
	if err := s.noteMembers(ctx, c, want); err != nil {
		return err
	}
	for _, p := range s.listCentralProvers(c, want) {
		if err := putProof(ctx, want, signer, p); err != nil {
			return err
		}
	}
	if err := s.putCluster(ctx, c, claim, want); err != nil {
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
	all := Engine{Central: s.listNotedCentral(c.notes), Chassis: parseNotedChassis(c.notes)}.listServices()
	for _, m := range c.members {
		if m.err != nil && !m.isFirst(c) { // it is finished when it answers again
			delete(all, m.Endpoint)
		}
	}
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

func joinFailures(failures map[string]error) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(failures)) {
		errs = append(errs, fmt.Errorf("%s: %w", name, failures[name]))
	}
	return errors.Join(errs...)
}
