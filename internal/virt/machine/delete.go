package machine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	"golang.org/x/sync/errgroup"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/snapshot"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// Delete stops the guest and removes the domain last, so that an interrupted destroy can be taken up again. A domain that became
// somebody else's stays, with an *owner.ForeignError.
func (s *Store) Delete(ctx context.Context) error {
	s.cache.RememberNode(s.known)
	defer s.cache.noteDestroy()()
	defer guest.Lock(s.client, s.known.UUID)()
	left, err := s.collectLeftovers(ctx)
	if err != nil {
		return err
	}
	with := slices.Clone(left.there)
	for _, t := range left.snapshots {
		with = append(with, t.Layers()...)
	}
	if err := storage.AwaitUnusedBeside(ctx, s.client, left.uuid, with); err != nil {
		return err
	}
	for _, t := range left.snapshots {
		err := t.MergeLayers(ctx, func(v *hypervisor.Volume) bool { return !slices.Contains(left.volumes, VolumeRef{v.Pool, v.Name()}) })
		if err != nil {
			return fmt.Errorf("have the volumes that stay hold what the node wrote since snapshot %q: %w", t.Name(), err)
		}
	}
	if err := s.removeMachine(ctx, left, s.known.shutdownGrace()); err != nil {
		return err
	}
	return s.renewPeers(ctx, s.known.Name)
}

// Leftovers are what a machine consists of on its hypervisor.
type Leftovers struct {
	uuid string
	// claim is what the reservations are owned by.
	claim owner.Claim
	// owner is what the volumes are owned by; there are those of them that are there, and given others by their names, which stay.
	owner        *volumeOwner
	volumes      []VolumeRef
	there        []*hypervisor.Volume
	given        []VolumeRef
	reservations []Reservation
	// snapshots are those of this state.
	snapshots []snapshot.Taken
	// interfaces are where leases may be left.
	interfaces []Interface
	// databases are those of OVN where the machine may have ports: references to their machines.
	databases []string
	// reclaim is the configuration that names a UEFI variable store which the machine's own does not name any more.
	reclaim *libvirtxml.Domain
}

// collectLeftovers collects what the machine in state consists of: the domain's own word where there is a domain, and what
// state knows where it vanished.
func (s *Store) collectLeftovers(ctx context.Context) (Leftovers, error) {
	left := Leftovers{uuid: s.known.UUID, claim: s.claim, owner: s.newVolumeOwner(nil)}
	for n := range s.known.Interfaces {
		i := &s.known.Interfaces[n]
		if i.Network != "" {
			left.reservations = append(left.reservations, i.networkReservations(i.Network)...)
			left.interfaces = append(left.interfaces, Interface{MAC: i.MAC, Network: i.Network})
		}
	}
	left.databases = listDatabases(s.known.Interfaces, nil)
	d, err := s.client.Domain(ctx, left.uuid)
	switch {
	case hypervisor.IsNotFound(err):
		return left, s.collectVolumes(ctx, &left, s.known.VolumeNames())
	case err != nil:
		return left, err
	}
	m, err := readLocatedMachine(ctx, s.client, d)
	if err != nil {
		return left, err
	}
	if err := s.CheckOwned(d); err != nil {
		return left, err
	}
	if left.snapshots, err = s.listSnapshots(ctx, d); err != nil {
		return left, err
	}
	left.databases = listDatabases(s.known.Interfaces, m.Mark.Interfaces)
	if ReclaimStore(d.Config) {
		left.reclaim = d.Config
	}
	left.owner = s.newVolumeOwner(m)
	imported, err := findImportedVolumes(ctx, s.client, m, s.known)
	if err != nil {
		return left, err
	}
	for _, ref := range imported {
		left.owner.named[ref] = true
	}
	return left, s.collectVolumes(ctx, &left, append(m.Mark.listVolumes(), imported...))
}

// collectVolumes sorts the volumes that a machine may have. Those that another machine has stay: of a domain that is gone, they are
// known by their names alone, and somebody may have made another machine of them.
func (s *Store) collectVolumes(ctx context.Context, left *Leftovers, refs []VolumeRef) error {
	sorted, err := left.owner.sortVolumes(ctx, refs)
	if err != nil {
		return err
	}
	left.volumes, left.there, left.given = sorted.own, sorted.there, sorted.others
	if _, err := s.client.Domain(ctx, left.uuid); hypervisor.IsNotFound(err) {
		err = left.giveUsed(ctx, s.client)
		if err != nil {
			return err
		}
	}
	s.kept = left.given
	return nil
}

// listSnapshots lists the snapshots that go with the machine. One of another state's is an error: what lies below its layers is not to go.
func (s *Store) listSnapshots(ctx context.Context, d *hypervisor.Domain) ([]snapshot.Taken, error) {
	all, err := snapshot.ListTaken(ctx, s.client, d)
	for _, t := range all {
		if !t.Owner().IsHere() {
			return nil, fmt.Errorf("the node has a snapshot %q %s: have it destroyed there first", t.Name(), t.Owner().Whose())
		}
	}
	return all, err
}

// findImportedVolumes returns the disks of a machine that someone else made, unless state has them as volumes of their own.
func findImportedVolumes(ctx context.Context, c *hypervisor.Client, m *Machine, s *Spec) ([]VolumeRef, error) {
	var all []VolumeRef
	for _, disk := range m.Disks {
		inState, listed := s.Disks[disk.Key]
		own := disk.Key == Root && s.Root != nil && !s.isAttached(Root) || listed && inState.Volume == ""
		if !own || m.Mark.Disk(disk.Key).Volume != "" {
			continue
		}
		volume, err := c.VolumeByPath(ctx, disk.Path)
		if hypervisor.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, VolumeRef{volume.Pool, volume.Name()})
	}
	return all, nil
}

// giveUsed takes what other domains use out of the volumes of a machine whose domain is gone.
func (l *Leftovers) giveUsed(ctx context.Context, c *hypervisor.Client) error {
	domains, err := c.Domains(ctx)
	if err != nil {
		return err
	}
	used, paths := map[VolumeRef]bool{}, map[string]bool{}
	for _, d := range domains {
		m := Read(d.Config)
		for _, ref := range m.Mark.listVolumes() {
			used[ref] = true
		}
		for _, disk := range m.Disks {
			used[VolumeRef{disk.Pool, disk.Volume}], paths[disk.Path] = true, true
		}
	}
	for _, v := range l.there {
		ref := VolumeRef{v.Pool, v.Name()}
		if !used[ref] && !paths[v.Path()] {
			continue
		}
		tflog.Warn(ctx, "a volume that another domain uses stays", map[string]any{"pool": ref.Pool, "volume": ref.Name})
		l.given = append(l.given, ref)
	}
	isGiven := func(ref VolumeRef) bool { return slices.Contains(l.given, ref) }
	l.volumes = slices.DeleteFunc(l.volumes, isGiven)
	l.there = slices.DeleteFunc(l.there, func(v *hypervisor.Volume) bool { return isGiven(VolumeRef{v.Pool, v.Name()}) })
	return nil
}

// removeMachine stops a machine and removes what it consists of; what is absent already is no error. The domain goes last, and stays when
// something else could not be removed: it knows what the rest is called.
func (s *Store) removeMachine(ctx context.Context, left Leftovers, grace time.Duration) error {
	if err := s.client.StopDomain(ctx, left.uuid, grace); err != nil {
		return err
	}
	if err := s.removeParts(ctx, left); err != nil {
		return err
	}
	if err := s.client.UndefineDomain(ctx, left.uuid); err != nil {
		return err
	}
	return removeFilters(ctx, s.client, left.uuid, nil)
}

// removeParts removes what a machine consists of, but for its domain, and for the filters that this refers to. What may fail comes before the
// volumes.
func (s *Store) removeParts(ctx context.Context, left Leftovers) error {
	c := s.client
	var reservations errgroup.Group
	for _, r := range left.reservations {
		reservations.Go(func() error { return removeReservation(ctx, c, left.claim, r) })
	}
	if err := reservations.Wait(); err != nil {
		return err
	}
	releaseLeases(ctx, c, left.interfaces)
	if err := s.removePorts(ctx, left.uuid, left.databases, nil); err != nil {
		return err
	}
	for _, t := range left.snapshots {
		if err := t.Remove(ctx); err != nil {
			return err
		}
	}
	var volumes errgroup.Group
	for _, v := range left.volumes {
		volumes.Go(func() error { return left.owner.removeVolume(ctx, v) })
	}
	for _, v := range left.given {
		volumes.Go(func() error { return left.owner.removeMarks(ctx, v) })
	}
	if err := volumes.Wait(); err != nil {
		return err
	}
	if left.reclaim != nil {
		// A hypervisor that has lost its UEFI firmware cannot be asked; a machine that cannot be destroyed were worse.
		if err := c.DefineDomain(ctx, left.reclaim); err != nil {
			tflog.Warn(ctx, "the UEFI variable store that the node left behind stays", map[string]any{"domain": left.uuid, "reason": err.Error()})
		}
	}
	return nil
}

// noteDestroy notes that a machine is being destroyed: who waits for an address of it, or of one whose turn comes after it, waits on.
// The result ends that.
func (f *HypervisorCache) noteDestroy() (done func()) {
	f.destroys.Add(1)
	return func() {
		now := time.Now()
		f.destroyed.Store(&now)
		f.destroys.Add(-1)
	}
}

// lastDestroy returns when this process was destroying a machine last: now while it is, and the zero time where it has not.
func (f *HypervisorCache) lastDestroy() time.Time {
	if f.destroys.Load() > 0 {
		return time.Now()
	}
	if at := f.destroyed.Load(); at != nil {
		return *at
	}
	return time.Time{}
}
