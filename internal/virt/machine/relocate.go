package machine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/drive"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// relocation is one machine's way from one hypervisor to another.
//
// The mark on the old one says first what is about to be made on the new one (Departure). Then that is made there: volumes, filters,
// reservations. Then libvirt migrates the machine, and the mark on the new one says where it comes from (Arrival), until everything on the
// old one is removed. Whoever finds one of these marks after a run was killed knows what to remove, and where: see settleMove.
type relocation struct {
	// source and target are the machine's stores on both.
	source, target *Store
	// moved is the machine as it is when it has arrived.
	moved *Spec
	// d is the domain on the source, existing the machine that it is, and b what is to be on the target.
	d        *hypervisor.Domain
	existing *Machine
	b        *blueprint
	volumes  *volumeOwner
}

// relocateMachine brings the machine from the hypervisor where it was to this one, and returns it as it is on arrival. Where that is nil, it
// is where it was, and nothing of it is here. Where it is not, an error is of something that is left behind.
func (s *Store) relocateMachine(ctx context.Context, was, want *Spec) (*Spec, error) {
	from, err := s.findHypervisor(was.Hypervisor)
	if err != nil {
		return nil, err
	}
	if from == s.client {
		return nil, fmt.Errorf("node %q is there already: %s and %s are one", was.Name, plan.NameHypervisor(was.Hypervisor), plan.NameHypervisor(want.Hypervisor))
	}
	defer guest.Lock(from, was.UUID)()
	r := &relocation{source: s.openAt(from, was), target: s, moved: was.MovedTo(want)}
	s.known = r.moved
	arrived, err := r.findBoth(ctx)
	if err == nil && !arrived {
		err = r.moveMachine(ctx, want)
	}
	if err != nil {
		return nil, err
	}
	return r.moved, r.source.removeDeparted(ctx)
}

// moveMachine migrates the machine, and returns when it is on the target for sure.
func (r *relocation) moveMachine(ctx context.Context, want *Spec) error {
	for _, step := range []func(context.Context) error{r.checkDeparture, r.resolveArrival, r.checkVolumes} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	err := r.announceDeparture(ctx)
	failpoint.Hit("node/departing")
	if err == nil {
		err = r.makeParts(ctx)
	}
	failpoint.Hit("node/awaited")
	if err == nil && r.d.Active() {
		err = r.beginPortMoves(ctx)
	}
	if err == nil {
		err = r.migrateMachine(ctx, want)
	}
	if err != nil {
		return r.takeBack(ctx, err)
	}
	failpoint.Hit("node/arrived")
	return r.checkArrival(ctx)
}

// openAt returns the machine's store on another hypervisor.
func (s *Store) openAt(c *hypervisor.Client, known *Spec) *Store {
	return &Store{client: c, cache: s.cache, northbounds: s.northbounds, others: s.others, known: known, claim: s.claim}
}

// findBoth reads the machine on both hypervisors, and says whether it has arrived already. What earlier moves left is removed.
func (r *relocation) findBoth(ctx context.Context) (arrived bool, err error) {
	there, err := r.target.findArrived(ctx, r.target.client)
	if err != nil {
		return false, err
	}
	r.d, err = r.source.findDomain(ctx)
	if there != nil && hypervisor.IsNotFound(err) {
		r.d = nil
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if err := r.source.CheckOwned(r.d); err != nil {
		return false, err
	}
	if there == nil {
		if err := r.source.settleMove(ctx); err != nil {
			return false, err
		}
		stranger, err := r.target.findStranger(ctx)
		if err == nil && stranger != nil {
			err = newStrangerError(stranger, plan.NameHypervisor(r.moved.Hypervisor))
		}
		return false, err
	}
	marked, here := Read(there.Config).Mark, Read(r.d.Config).Mark
	switch {
	case marked.Arrival != nil && here.Departure != nil && r.d.State != "running":
		return true, nil
	case marked.Departure != nil && here.Arrival != nil && there.State != "running":
		return false, r.source.settleMove(ctx)
	}
	return false, fmt.Errorf("node %q is on both %s and %s: find out which of the two is to be kept (virsh list --all), and undefine the other one there",
		r.moved.Name, plan.NameHypervisor(r.source.known.Hypervisor), plan.NameHypervisor(r.moved.Hypervisor))
}

// checkDeparture refuses what a migration would lose, or what libvirt would refuse after the disks were copied.
func (r *relocation) checkDeparture(ctx context.Context) (err error) {
	if r.d, err = r.source.client.Domain(ctx, r.d.UUID); err != nil {
		return err
	}
	if r.existing, err = readLocatedMachine(ctx, r.source.client, r.d); err != nil {
		return err
	}
	if kept, err := findWhatStays(ctx, r.source.client, r.d.UUID, r.existing); err != nil || kept != nil {
		return cmp.Or(err, kept)
	}
	if storeOfOff(r.existing, r.d.Active()) {
		return errStoreOfOff
	}
	return r.checkMedia(ctx)
}

// checkMedia refuses a machine with something in its drive, or at a bus, that is not its configuration's: it would stay behind.
func (r *relocation) checkMedia(ctx context.Context) error {
	for _, x := range []*libvirtxml.Domain{r.d.Live, r.d.Config} {
		if x == nil {
			continue
		}
		medium, known := readMedium(x), r.source.known.CDROM
		if medium != nil && medium.Path != "" {
			if known == nil {
				known = &CDROM{}
			}
			found, err := r.source.describeMedium(ctx, known, medium, &r.existing.Mark)
			if err != nil {
				return err
			}
			if r.source.known.CDROM == nil || !samePointed(found, known) {
				return fmt.Errorf("the drive of node %q has %s, which somebody else put in and which would stay behind: eject it first (virsh change-media, or the node's controller)", r.d.Name, medium.Path)
			}
		}
		keys := listDiskKeys(x, r.existing.Mark)
		for i := range x.Devices.Disks {
			disk := &x.Devices.Disks[i]
			if keys[i] == "" && disk != drive.Find(x) && disk.Source != nil && disk.Target != nil {
				return fmt.Errorf("node %q has a disk %s that is not its own, and would stay behind: unplug it first (virsh detach-disk)", r.d.Name, disk.Target.Dev)
			}
		}
	}
	return nil
}

// resolveArrival resolves what is to be on the target: the machine as it would be made there, with disks as large as it has them, and
// with what its seed and its Ignition configuration say now.
func (r *relocation) resolveArrival(ctx context.Context) error {
	s := r.target
	b, err := (&resolver{client: s.client, cache: s.cache, spec: r.moved, owner: s.claim.Mark().Finished(), northbounds: s.northbounds}).resolveMachine(ctx, r.d.UUID)
	if err != nil {
		return err
	}
	for i := range b.volumes {
		v := &b.volumes[i]
		path := r.existing.IgnitionFile
		if v.key != Ignition {
			disk := r.existing.Disk(v.key)
			if disk == nil {
				return fmt.Errorf("node %q lacks its disk %q on %s: give it back, or take it out of the configuration, in an apply of its own before", r.d.Name, v.key, r.source.client.URI())
			}
			if path = disk.Path; !v.hasContent() {
				capacity, err := readCapacity(ctx, r.source.client, r.d, *disk)
				if err != nil {
					return err
				}
				v.xml.Capacity.Value = capacity
				continue
			}
		}
		content, err := readVolumeFile(ctx, r.source.client, path)
		if err != nil {
			return err
		}
		if content != nil { // a guest that has it mounted goes on reading the very same
			v.content, v.xml.Capacity.Value = content, uint64(len(content))
		}
	}
	for _, disk := range r.existing.Disks {
		if !slices.ContainsFunc(b.volumes, func(v ownVolume) bool { return v.key == disk.Key }) {
			return fmt.Errorf("node %q has a disk %q on %s that its configuration knows nothing of: take it away, or write it, in an apply of its own before", r.d.Name, disk.Key, r.source.client.URI())
		}
	}
	b.machine.Mark.Arrival, b.machine.Mark.Patched = &Arrival{From: r.source.known.Hypervisor}, r.existing.Mark.Patched
	r.b, r.volumes = b, s.newVolumeOwner(nil)
	r.volumes.uuid, r.volumes.noteAway = r.d.UUID, r.noteMade
	return nil
}

// noteMade has the departure say of a volume on the target that it was made.
func (r *relocation) noteMade(ctx context.Context, ref VolumeRef) error {
	d, err := r.source.client.Domain(ctx, r.d.UUID)
	if err != nil {
		return err
	}
	departure := Read(d.Config).Mark.Departure
	if departure == nil {
		return fmt.Errorf("node %q does not depart any more", d.Name)
	}
	for i := range departure.Volumes {
		if v := &departure.Volumes[i]; v.Pool == ref.Pool && v.Name == ref.Name {
			v.Made = true
		}
	}
	return r.source.markDeparture(ctx, d, departure)
}

// checkVolumes refuses to write over, and in the end to remove, what is on the target already: it may be the machine's own disks.
func (r *relocation) checkVolumes(ctx context.Context) error {
	var refs []VolumeRef
	for _, v := range r.b.volumes {
		refs = append(refs, v.volumeRef())
	}
	why, err := findInTheWay(ctx, r.source.client, r.target.client, r.existing, refs)
	return cmp.Or(err, why)
}

// announceDeparture has the mark on the source say what is about to be made on the target.
func (r *relocation) announceDeparture(ctx context.Context) error {
	departure := &Departure{To: r.moved.Hypervisor, Off: !r.d.Active()}
	for _, v := range r.b.volumes {
		ref := v.volumeRef()
		departure.Volumes = append(departure.Volumes, DepartedVolume{Pool: ref.Pool, Name: ref.Name})
	}
	for _, i := range r.b.machine.Interfaces {
		departure.Interfaces = append(departure.Interfaces, DepartedInterface{i.MAC, i.Network})
	}
	if err := r.source.markDeparture(ctx, r.d, departure); err != nil {
		return err
	}
	// Should the source restart once the machine runs on the target, it must not run on both.
	return r.source.client.SetDomainAutostart(ctx, r.d.UUID, false)
}

// markDeparture has the machine's mark say that it goes to another hypervisor, or, for nil, that it stays.
func (s *Store) markDeparture(ctx context.Context, d *hypervisor.Domain, departure *Departure) error {
	m := Read(d.Config)
	m.Mark.Departure = departure
	return writeMark(ctx, s.client, m, d.Active())
}

// makeParts makes on the target what the machine refers to. Its ports of OVN are there: all hypervisors have them in common.
func (r *relocation) makeParts(ctx context.Context) error {
	if err := r.b.defineFilters(ctx, r.target.client); err != nil {
		return err
	}
	var group errgroup.Group
	group.Go(func() error { return r.volumes.createVolumes(ctx, r.b.volumes) })
	for _, reservation := range r.b.reservations {
		group.Go(func() error {
			return r.target.makeReservation(ctx, reservation, network.Reservations.Put, func() error { return nil })
		})
	}
	return group.Wait()
}
