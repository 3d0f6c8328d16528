package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"golang.org/x/sync/errgroup"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// makeMachine makes the machine, with the UUID that state has of a domain that is gone or a new one for "", and starts it. When it
// fails, what was made is removed again; where that fails too, and the domain is there, it is returned with the error.
func (s *Store) makeMachine(ctx context.Context, want *Spec, id string) (*blueprint, error) {
	if err := s.removeInterrupted(ctx, want); err != nil {
		return nil, err
	}
	r := &resolver{client: s.client, cache: s.cache, spec: want, owner: s.claim.Mark(), northbounds: s.northbounds}
	b, err := r.resolveMachine(ctx, cmp.Or(id, uuid.NewString()))
	if err != nil {
		return nil, err
	}
	if id == "" {
		if err := s.checkStore(ctx, b.machine); err != nil {
			return nil, err
		}
	}
	s.cache.creating.Store(b.machine.UUID, true)
	volumes := s.newVolumeOwner(nil)
	volumes.uuid = b.machine.UUID
	made := Leftovers{uuid: b.machine.UUID, claim: s.claim, owner: volumes, databases: listDatabases(want.Interfaces, nil)}
	defined := false
	undo := func(err error) (*blueprint, error) {
		defer s.cache.creating.Delete(b.machine.UUID)
		left := s.removeMachine(context.WithoutCancel(ctx), made, 0)
		if left != nil && defined {
			return b, errors.Join(err, left)
		}
		return nil, errors.Join(err, left)
	}
	b.machine.Mark.Creating = r.owner.Creating
	b.machine.Mark.setMaking(b.volumes)
	domain, err := Render(b.machine)
	if err != nil {
		return undo(err)
	}
	if err := s.client.DefineDomain(ctx, domain); err != nil {
		return undo(err)
	}
	defined = true
	failpoint.Hit("node/defined")
	if err := checkPatch(ctx, s.client, b.machine.UUID, want.Patch); err != nil {
		return undo(err)
	}
	b.machine.Mark.Creating = ""
	b.machine.Mark.setMaking(nil)
	err = s.createParts(ctx, volumes, b, want)
	failpoint.Hit("node/furnished")
	made.volumes, made.reservations = listCreatedVolumes(b.volumes), b.reservations
	if err == nil && want.Running {
		err = s.client.StartDomain(ctx, b.machine.UUID)
	}
	if err != nil {
		return undo(err)
	}
	return b, nil
}

// checkStore refuses a file of UEFI variables where libvirt would have that of a new machine, by its name: it is what somebody kept of another
// machine, and would be used, and go with this one.
func (s *Store) checkStore(ctx context.Context, m *Machine) error {
	if m.Firmware == "bios" || !strings.Contains(s.client.URI(), "/system") {
		return nil
	}
	for _, format := range []string{".fd", ".qcow2"} {
		path := storeDirectory + m.Name + "_VARS" + format
		has, err := s.client.HasFile(ctx, path)
		if err != nil {
			return err
		}
		if has {
			return fmt.Errorf("%s is there already on %s: UEFI variables that somebody kept of another machine of this name. Give the node another name, or move the file away", path, s.client.URI())
		}
	}
	return nil
}

// createParts makes what the defined domain refers to. Of a create that is interrupted the domain has the UUID by which its filters are its own.
func (s *Store) createParts(ctx context.Context, volumes *volumeOwner, b *blueprint, want *Spec) error {
	if err := b.defineFilters(ctx, s.client); err != nil {
		return err
	}
	failpoint.Hit("node/filtered")
	var group errgroup.Group
	group.Go(func() error { return volumes.createVolumes(ctx, b.volumes) })
	for _, r := range b.reservations {
		group.Go(func() error { return s.makeReservation(ctx, r, network.Reservations.Add, func() error { return nil }) })
	}
	group.Go(func() error { return s.putPorts(ctx, b.ports) })
	if want.Autostart {
		group.Go(func() error { return s.client.SetDomainAutostart(ctx, b.machine.UUID, true) })
	}
	return group.Wait()
}

// removeInterrupted removes what an interrupted create of this machine left behind. A domain of that name that is not such a
// leftover of the same workspace is somebody's.
func (s *Store) removeInterrupted(ctx context.Context, want *Spec) error {
	d, err := s.client.DomainByName(ctx, want.Name)
	if hypervisor.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	got := Read(d.Config)
	if _, ours := s.cache.creating.Load(d.UUID); ours {
		return fmt.Errorf("another resource of this apply makes a node %q too: give one of them another name", d.Name)
	}
	found := got.Mark.ownerMark()
	if !got.Mark.IsPresent() || got.Mark.Creating == "" || !s.claim.MayTake(found) {
		return s.newForeignError(d, found)
	}
	tflog.Warn(ctx, "removing what an interrupted create left behind", map[string]any{"node": d.Name, "uuid": d.UUID})
	volumes := s.newVolumeOwner(got)
	volumes.owns = func(m owner.Mark) bool { return m.ID == found.ID }
	left := Leftovers{uuid: d.UUID, claim: s.claim.Of(found), owner: volumes}
	sorted, err := volumes.sortVolumes(ctx, got.Mark.listVolumes())
	if err != nil {
		return err
	}
	left.volumes, left.given = sorted.own, sorted.others
	// Its reservations are those of the machine that is about to be made, or are found by its MAC addresses.
	reservations, err := findReservations(ctx, s.client, got)
	left.reservations = reservations
	left.databases = listDatabases(nil, got.Mark.Interfaces)
	return errors.Join(err, s.removeMachine(ctx, left, 0))
}
