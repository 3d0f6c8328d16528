package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// portsLimit is how long guests may take to leave a chassis that goes: those of the same apply may be on their way.
const portsLimit = 20 * time.Second

// findLeaving returns the chassis that go, by the names that they have had, as their machines show them: those are none of the machines that are to be
// chassis, whatever these are called, and however their endpoints are written. Of one that does not answer there is what the databases noted.
func (s *Store) findLeaving(ctx context.Context, was, want Engine) (map[string]chassisSeen, error) {
	leaving := want.listUnnamed(was.Chassis)
	if len(leaving) == 0 {
		return nil, nil
	}
	stays, failures := each(want.Chassis, func(_ string, chassis Chassis) (chassisSeen, error) { return s.lookAtChassis(ctx, chassis) })
	if err := joinFailures(failures); err != nil {
		return nil, fmt.Errorf("tell chassis that go from those that stay: %w", err)
	}
	seen, failures := each(leaving, func(_ string, chassis Chassis) (chassisSeen, error) { return s.lookAtChassis(ctx, chassis) })
	for name := range failures {
		seen[name] = chassisSeen{chassis: leaving[name]}
	}
	maps.DeleteFunc(seen, func(_ string, is chassisSeen) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(stays)), is.isSameMachine)
	})
	return seen, nil
}

// listUnnamed returns those of some chassis whose endpoints no chassis of an engine has.
func (e Engine) listUnnamed(all map[string]Chassis) map[string]Chassis {
	unnamed := maps.Clone(all)
	maps.DeleteFunc(unnamed, func(_ string, one Chassis) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(e.Chassis)), func(other Chassis) bool { return host.SameReference(one.Endpoint, other.Endpoint) })
	})
	return unnamed
}

// isSameMachine says whether two chassis are one machine: by what Open vSwitch calls it, which tells machines apart that were copied with their
// /etc/machine-id, and by that where one of them has no such name yet.
func (c chassisSeen) isSameMachine(other chassisSeen) bool {
	if c.chassis.ID != "" && other.chassis.ID != "" {
		return c.chassis.ID == other.chassis.ID
	}
	return c.machine.ID != "" && c.machine.ID == other.machine.ID
}

// GuestsError says that a chassis that is to go has guests.
type GuestsError struct {
	Chassis string
	Ports   []string
}

func (e *GuestsError) Error() string {
	return fmt.Sprintf("chassis %q has guests on these ports: %s. Move them to another chassis, or remove them first", e.Chassis, strings.Join(e.Ports, ", "))
}

// shownPorts is how many ports a message names.
const shownPorts = 10

// mayLeave returns a *GuestsError where a chassis has ports, and a *ovn.GatewayError where routers lead out by it and cannot by another one.
func (s *Store) mayLeave(ctx context.Context, c central, name string, leaving map[string]chassisSeen) error {
	id := leaving[name].chassis.ID
	bound, err := c.north.ListBound(ctx, id)
	if err != nil {
		return err
	}
	bound = slices.DeleteFunc(bound, ovn.Binding.IsGateway)
	var ports []string
	for i, b := range bound {
		if i == shownPorts {
			ports = append(ports, fmt.Sprintf("and %d more", len(bound)-i))
			break
		}
		ports = append(ports, c.north.DescribePort(ctx, b.Port))
	}
	if ports != nil {
		return &GuestsError{name, ports}
	}
	return c.north.CheckHandOver(ctx, id, listIDs(leaving))
}

func listIDs(all map[string]chassisSeen) (ids []string) {
	for _, seen := range all {
		ids = append(ids, seen.chassis.ID)
	}
	return ids
}

// checkLeaving refuses to take chassis away that others need, before anything is changed. A machine that is gone, or is somebody else's by now, hands
// nothing over.
func (s *Store) checkLeaving(ctx context.Context, c central, leaving map[string]chassisSeen) error {
	for _, name := range slices.Sorted(maps.Keys(leaving)) {
		if !leaving[name].isOwned(s.claim) {
			continue
		}
		err := s.mayLeave(ctx, c, name, leaving)
		for end := time.Now().Add(portsLimit); errors.As(err, new(*GuestsError)) && time.Now().Before(end) && ctx.Err() == nil; err = s.mayLeave(ctx, c, name, leaving) {
			time.Sleep(100 * time.Millisecond)
		}
		if err != nil {
			return service.At([]any{"chassis"}, fmt.Errorf("take chassis %q away: %w", name, err))
		}
	}
	return nil
}

// WarnOfLeaving says while a change is planned what would keep chassis from going. What the same apply removes may be among it, so the apply decides.
func (s *Store) WarnOfLeaving(ctx context.Context, was Engine) (problems []service.Problem) {
	leaving, err := s.findLeaving(ctx, was, s.known)
	if err != nil || len(leaving) == 0 {
		return nil // the apply says what cannot be asked
	}
	c, err := s.lookAtCentral(ctx)
	if err != nil || !c.isRunning() {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(leaving)) {
		if !leaving[name].isOwned(s.claim) {
			continue
		}
		if err := s.mayLeave(ctx, c, name, leaving); errors.As(err, new(*GuestsError)) || errors.As(err, new(*ovn.GatewayError)) {
			problems = append(problems, service.Warningf([]any{"chassis"}, "A chassis that is needed", "Chassis %q cannot go as it is: %v. The apply waits %s for it, and is refused then.", name, err, portsLimit))
		}
	}
	return problems
}

// noteReplaced has the databases note chassis that go, and whose names are given to other machines, by their ids: an apply that ends before they have gone
// leaves them to the next one.
func (s *Store) noteReplaced(ctx context.Context, c central, was, want Engine, leaving map[string]chassisSeen) error {
	notes := map[string]string{}
	for name := range leaving {
		if _, isGiven := want.Chassis[name]; isGiven {
			notes[chassisKey+was.Chassis[name].ID] = was.Chassis[name].formatNote()
		}
	}
	return c.north.Note(ctx, notes)
}

// listDead returns the ids that the databases have noted of chassis that are none any more: of those that leave and hand nothing over, and of machines that have
// another id by now, as one that was installed anew. What the southbound database has of them would keep their tunnel addresses from others.
func (c central) listDead(claim owner.Claim, want Engine, leaving map[string]chassisSeen) (ids []string) {
	noted := parseNotedChassis(c.notes)
	unnamed := want.listUnnamed(noted)
	for name, was := range noted {
		seen, leaves := leaving[name]
		_, isGiven := want.Chassis[name]
		_, isElsewhere := unnamed[name]
		isReplaced := !leaves && (isGiven || !isElsewhere)
		stays := slices.ContainsFunc(slices.Collect(maps.Values(want.Chassis)), func(one Chassis) bool { return one.ID == was.ID })
		if was.ID != "" && !stays && (isReplaced || leaves && !seen.isOwned(claim)) {
			ids = append(ids, was.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// dropChassis takes away who does not follow any more, once others are the way out of what leads out by them, and names that nobody has any more. A machine
// that is gone is taken out of the databases all the same.
func (s *Store) dropChassis(ctx context.Context, c central, claim owner.Claim, was, want Engine, leaving map[string]chassisSeen) error {
	for _, name := range slices.Sorted(maps.Keys(leaving)) {
		if seen := leaving[name]; seen.isOwned(claim) {
			if err := c.north.HandOver(ctx, seen.chassis.ID, listIDs(leaving)); err != nil {
				return fmt.Errorf("take chassis %q away: %w", name, err)
			}
		}
		if err := s.releaseChassis(ctx, claim, was.Chassis[name]); err != nil {
			s.addWarning("A chassis is not as it was", "Chassis %q is out of OVN's databases, and its machine was not put back: %v", name, err)
		}
		if err := s.forgetChassis(ctx, c, was.Chassis[name].ID, was.Chassis[name]); err != nil {
			return err
		}
	}
	gone := map[string]string{}
	for name := range was.Chassis {
		if _, isGiven := want.Chassis[name]; !isGiven {
			gone[chassisKey+name] = ""
		}
	}
	return c.north.Note(ctx, gone)
}

// beforeKey is the key of external_ids in Open_vSwitch that notes what a machine had of a chassis' settings, in JSON, before it was one.
const beforeKey = ovn.MarkKey + "-before"

// chassisBefore is what a machine had before it was a chassis.
type chassisBefore struct {
	// Settings are those of listSettings that were there, and Integration is the bridge of ovn-controller, where that was.
	Settings    map[string]string `json:"settings,omitempty"`
	Integration *ovn.Integration  `json:"integration,omitempty"`
}

// noteBefore has a machine that is to be a chassis note what it was before, under the owner's mark. That is before ovn-controller is started, which makes its
// bridge at once, and changes one that is there.
func (s *Store) noteBefore(ctx context.Context, h host.Host, claim owner.Claim, services []string, chassis Chassis, install bool) error {
	early := slices.DeleteFunc(slices.Clone(services), func(service string) bool { return service == chassisServices[1] })
	if _, err := provision.Prepare(ctx, h, claim, services, early, install); err != nil {
		return err
	}
	if err := s.startUnits(ctx, h, switchUnits); err != nil {
		return err
	}
	seen, err := s.lookAtChassis(ctx, chassis)
	if err == nil {
		err = s.mayTakeChassis(claim, seen)
	}
	if err != nil || seen.settings[ovn.MarkKey] != "" {
		return err
	}
	_, err = onSwitch(h, func(d *ovn.Database) (none struct{}, err error) {
		return none, ovn.Set(ctx, d, map[string]string{ovn.MarkKey: s.claim.Mark().String(), beforeKey: seen.formatBefore()})
	})
	return err
}

// formatBefore returns what to note of a machine that is to be a chassis, "" for nothing.
func (c chassisSeen) formatBefore() string {
	before := chassisBefore{Settings: map[string]string{}, Integration: c.integration}
	for key := range (Engine{}).listSettings(Chassis{}) {
		if value := c.settings[key]; value != "" {
			before.Settings[key] = value
		}
	}
	if len(before.Settings) == 0 && before.Integration == nil {
		return ""
	}
	text, _ := json.Marshal(before) // texts always can be
	return string(text)
}

// parseBefore reads what formatBefore wrote. Nothing that is noted is nothing that was there.
func (c chassisSeen) parseBefore() (before chassisBefore, err error) {
	if text := c.settings[beforeKey]; text != "" {
		err = json.Unmarshal([]byte(text), &before)
	}
	if err != nil {
		err = fmt.Errorf("read %s in external_ids of Open_vSwitch on %s: %w", beforeKey, c.host, err)
	}
	return before, err
}
