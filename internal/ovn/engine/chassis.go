package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// lookAtAll looks at the machines of chassis, of which each has to be free to be one.
func (s *Store) lookAtAll(ctx context.Context, claim owner.Claim, want map[string]Chassis) (map[string]chassisSeen, error) {
	seen, failures := each(want, func(_ string, c Chassis) (chassisSeen, error) {
		is, err := s.lookAtChassis(ctx, c)
		if err == nil {
			err = s.mayTakeChassis(claim, is)
		}
		return is, err
	})
	if err := firstForeign(failures); err != nil {
		return nil, err
	}
	return seen, joinFailures(failures)
}

// checkIDs finds two chassis that OVN cannot tell apart: machines that were copied with what Open vSwitch calls them, or one by two ways to it.
func (e Engine) checkIDs() error {
	names := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(e.Chassis)) {
		id := e.Chassis[name].ID
		if other, twice := names[id]; twice && id != "" {
			return service.At([]any{"chassis", service.Key(name), "endpoint"}, fmt.Errorf("chassis %q and %q have one system-id in Open vSwitch, %s: where they are two machines, remove /etc/openvswitch/system-id.conf from one of them and start openvswitch-switch there anew", other, name, id))
		}
		names[id] = name
	}
	return nil
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
	return want.awaitConnection(ctx, seen.host)
}

func (e Engine) awaitConnection(ctx context.Context, h host.Host) error {
	if _, err := runScript(ctx, h, true, "connected"); err != nil {
		return fmt.Errorf("%s does not reach the southbound database: %w\n\nLook there at /var/log/ovn/ovn-controller.log, and whether a firewall lets TCP port %d of %s pass", h, err, southboundPort, e.Address)
	}
	return nil
}

// awaitConnections waits until chassis follow by the connections that they are to have: one that is told of other databases says that it is connected until
// it has heard that. Those that do not follow are not waited for: what they lack shows as it is read back.
func (s *Store) awaitConnections(ctx context.Context, c central, seen map[string]chassisSeen) error {
	if err := c.north.Sync(ctx); err != nil && !errors.As(err, new(*ovn.LagError)) {
		return err
	}
	_, failures := each(seen, func(_ string, is chassisSeen) (none struct{}, err error) {
		return none, s.known.awaitConnection(ctx, is.host)
	})
	return joinFailures(failures)
}
