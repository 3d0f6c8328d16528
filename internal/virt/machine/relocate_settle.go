package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// removeDeparted removes from the store's hypervisor what is left there of a machine that has gone to another one.
func (s *Store) removeDeparted(ctx context.Context) error {
	if err := s.endPortMoves(ctx); err != nil {
		return err
	}
	d, err := s.client.Domain(ctx, s.known.UUID)
	if err != nil && !hypervisor.IsNotFound(err) {
		return err
	}
	if d == nil { // it goes last, but for its filters
		return removeFilters(ctx, s.client, s.known.UUID, nil)
	}
	known := *s.known
	known.Interfaces = slices.Clone(known.Interfaces)
	for _, plugged := range Read(d.Config).Interfaces { // as this hypervisor calls its networks
		if at := slices.IndexFunc(known.Interfaces, func(i InterfaceSpec) bool { return i.MAC == plugged.MAC }); at >= 0 {
			known.Interfaces[at].Network = plugged.Network
		}
	}
	s.known = &known
	left, err := s.collectLeftovers(ctx)
	if err != nil {
		return err
	}
	left.databases = nil // its ports of OVN went with it
	if err := storage.AwaitUnusedBeside(ctx, s.client, left.uuid, left.there); err != nil {
		return err
	}
	if err := s.removeMachine(ctx, left, 0); err != nil {
		return err
	}
	failpoint.Hit("node/left")
	return s.renewPeers(ctx, s.known.Name)
}

// settleMove brings to an end what a move to or from another hypervisor has left behind: on the other one, where the machine stays here or
// has come from there. It has the machine that was to go be what it was, and its mark say nothing of it any more.
func (s *Store) settleMove(ctx context.Context) error {
	d, err := s.findDomain(ctx)
	if errors.Is(err, service.ErrAbsent) {
		return nil
	}
	if err != nil {
		return err
	}
	m := Read(d.Config)
	if !m.Mark.isMoving() || !s.ownsDomain(m.Mark.ownerMark()) {
		return nil
	}
	if arrival := m.Mark.Arrival; arrival != nil {
		from, err := s.findHypervisor(arrival.From)
		if err != nil {
			return err
		}
		if err := s.openAt(from, s.known).removeDeparted(ctx); err != nil {
			return err
		}
		m.Mark.Arrival = nil
		return writeMark(ctx, s.client, m, d.Active())
	}
	departure := m.Mark.Departure
	to, err := s.findHypervisor(departure.To)
	if err != nil {
		return err
	}
	there, err := s.findArrived(ctx, to)
	if err != nil {
		return err
	}
	if there != nil && Read(there.Config).Mark.Arrival != nil {
		return fmt.Errorf("node %q has moved to %s: apply again, with a refresh", d.Name, plan.NameHypervisor(departure.To))
	}
	if err := s.openAt(to, s.known).removeAwaited(ctx, s.client, m); err != nil {
		return err
	}
	if err := s.endPortMoves(ctx); err != nil {
		return err
	}
	switch {
	case departure.Off && d.Active() && d.State != "running":
		if err := s.client.StopDomain(ctx, d.UUID, 0); err != nil {
			return err
		}
	case d.State == "paused":
		if err := s.client.StartDomain(ctx, d.UUID); err != nil {
			return err
		}
	}
	if err := s.client.SetDomainAutostart(ctx, d.UUID, s.known.Autostart); err != nil {
		return err
	}
	if d, err = s.client.Domain(ctx, d.UUID); err != nil {
		return err
	}
	return s.markDeparture(ctx, d, nil)
}

// removeAwaited removes what was made on the store's hypervisor for a machine that did not come from another one. A domain of its UUID that did not
// come by the move is somebody else's, and stays; so do disks that the machine has, and that both hypervisors see in one storage.
func (s *Store) removeAwaited(ctx context.Context, from *hypervisor.Client, m *Machine) error {
	departure := m.Mark.Departure
	left := Leftovers{uuid: s.known.UUID, claim: s.claim, owner: s.newVolumeOwner(nil)}
	var refs []VolumeRef
	for _, v := range departure.Volumes {
		ref := VolumeRef{v.Pool, v.Name}
		left.owner.named[ref] = v.Made
		there, err := findFirst(ctx, s.client.Volume, ref)
		own := false
		if err == nil && there != nil {
			own, err = isOnBoth(ctx, from, s.client, m, there)
		}
		if err != nil {
			return err
		}
		if !own {
			refs = append(refs, ref)
		}
	}
	sorted, err := left.owner.sortVolumes(ctx, refs)
	if err != nil {
		return err
	}
	left.volumes, left.there, left.given = sorted.own, sorted.there, sorted.others
	for _, departed := range departure.Interfaces {
		at := slices.IndexFunc(s.known.Interfaces, func(i InterfaceSpec) bool { return i.MAC == departed.MAC })
		if at >= 0 && departed.Network != "" {
			left.reservations = append(left.reservations, s.known.Interfaces[at].networkReservations(departed.Network)...)
		}
	}
	if err := storage.AwaitUnusedBeside(ctx, s.client, left.uuid, left.there); err != nil {
		return err
	}
	stranger, err := s.findStranger(ctx)
	if err != nil {
		return err
	}
	if stranger == nil {
		return s.removeMachine(ctx, left, 0)
	}
	if err := s.removeParts(ctx, left); err != nil {
		return err
	}
	return removeFilters(ctx, s.client, left.uuid, nil)
}

// findStranger returns a domain of the machine's UUID on the store's hypervisor that no move of this state has brought there, such as one that a
// person migrated; nil where there is none.
func (s *Store) findStranger(ctx context.Context) (*hypervisor.Domain, error) {
	d, err := s.client.Domain(ctx, s.known.UUID)
	if hypervisor.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if m := Read(d.Config).Mark; m.Arrival != nil && s.claim.Owns(m.ownerMark()) {
		return nil, nil
	}
	return d, nil
}

// newStrangerError says that a machine cannot move to where a domain of its UUID is.
func newStrangerError(d *hypervisor.Domain, on string) error {
	return fmt.Errorf("domain %q on %s has the UUID of the node (%s) and was not brought there by this state: where a person migrated the node, bring it back (virsh migrate), or make it persistent there and undefine it here; remove the domain otherwise",
		d.Name, on, d.UUID)
}
