package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	"golang.org/x/sync/errgroup"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/drive"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/snapshot"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
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
	defer snapshot.Lock(from, was.UUID)()
	r := &relocation{source: s.openAt(from, was), target: s, moved: was.MovedTo(want)}
	s.known = r.moved
	arrived, err := r.findBoth(ctx)
	if err == nil && !arrived {
		err = r.bring(ctx, want)
	}
	if err != nil {
		return nil, err
	}
	return r.moved, r.source.leave(ctx)
}

// bring migrates the machine, and returns when it is on the target for sure.
func (r *relocation) bring(ctx context.Context, want *Spec) error {
	for _, step := range []func(context.Context) error{r.checkDeparture, r.resolveArrival, r.announce} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	failpoint.Hit("node/departing")
	err := r.makeParts(ctx)
	failpoint.Hit("node/awaited")
	if err == nil {
		err = r.migrate(ctx, want)
	}
	if err != nil {
		return r.stay(ctx, err)
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
	if found := Read(r.d.Config).Mark.ownerMark(); !r.source.ownsDomain(found) {
		return false, r.source.newForeignError(r.d, found)
	}
	if there == nil {
		return false, r.source.settleMove(ctx)
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
	taken, err := r.source.client.Snapshots(ctx, r.d.UUID)
	if err != nil {
		return err
	}
	if why := refuseSnapshots(r.existing, taken); why != nil {
		return why
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
	b.machine.Mark.Arrival = &Arrival{From: r.source.known.Hypervisor}
	r.b, r.volumes = b, s.newVolumeOwner(nil)
	r.volumes.uuid = r.d.UUID
	return nil
}

// announce has the mark on the source say what is about to be made on the target.
func (r *relocation) announce(ctx context.Context) error {
	departure := &Departure{To: r.moved.Hypervisor, Off: !r.d.Active()}
	for _, v := range r.b.volumes {
		ref := v.volumeRef()
		departure.Volumes = append(departure.Volumes, DepartedVolume{ref.Pool, ref.Name})
	}
	for _, i := range r.b.machine.Interfaces {
		departure.Interfaces = append(departure.Interfaces, DepartedInterface{i.MAC, i.Network})
	}
	return r.source.markDeparture(ctx, r.d, departure)
}

// markDeparture has the machine's mark say that it goes to another hypervisor, or, for nil, that it stays.
func (s *Store) markDeparture(ctx context.Context, d *hypervisor.Domain, departure *Departure) error {
	m := Read(d.Config)
	m.Mark.Departure = departure
	return writeMark(ctx, s.client, m, d.Active())
}

// makeParts makes on the target what the machine refers to. Its ports of OVN are there: all hypervisors have them in common.
func (r *relocation) makeParts(ctx context.Context) error {
	for _, f := range r.b.filters {
		if _, err := defineFilter(ctx, r.target.client, r.d.UUID, f); err != nil {
			return err
		}
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

// migrate has libvirt bring the machine to the target. One that is off is held by a process of its own meanwhile: its guest runs at no moment.
func (r *relocation) migrate(ctx context.Context, want *Spec) error {
	limit, bandwidth := want.migrationLimits()
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than migration.timeout = %q", want.Migration.Timeout))
		defer cancel()
	}
	from := r.source.client
	if !r.d.Active() {
		if err := from.HoldDomain(ctx, r.d.UUID); err != nil {
			return err
		}
	}
	live, config, err := from.MigratableDomain(ctx, r.d.UUID)
	if err != nil {
		return err
	}
	how := hypervisor.Migration{Live: live, Config: config, BandwidthMiB: bandwidth, Paused: !r.d.Active()}
	for _, x := range []*libvirtxml.Domain{live, config} {
		if err := r.rewriteXML(x); err != nil {
			return err
		}
	}
	for _, disk := range r.existing.Disks {
		if !disk.ReadOnly {
			how.Disks = append(how.Disks, disk.Target)
		}
	}
	began := time.Now()
	err = from.MigrateDomain(ctx, r.target.client, r.d.UUID, how)
	tflog.Info(ctx, "migrated", map[string]any{"node": r.d.Name, "to": r.target.client.URI(), "ms": time.Since(began).Milliseconds(), "failed": err != nil})
	if unsettled, ok := errors.AsType[*hypervisor.UnsettledError](err); ok {
		return r.settle(context.WithoutCancel(ctx), unsettled)
	}
	return err
}

// rewriteXML has what runs on the source, or its configuration, name what the target has.
func (r *relocation) rewriteXML(x *libvirtxml.Domain) error {
	keys := listDiskKeys(x, r.existing.Mark)
	for i := range x.Devices.Disks {
		disk := &x.Devices.Disks[i]
		if keys[i] == "" {
			if disk.Device == "cdrom" {
				drive.SetSource(disk, nil)
			}
			continue
		}
		there := r.b.machine.Disk(keys[i])
		if there == nil {
			return fmt.Errorf("node %q has a disk %q that its configuration knows nothing of", r.d.Name, keys[i])
		}
		source, format := diskSource(*there)
		disk.Source, disk.BackingStore, disk.Mirror = source, nil, nil
		if disk.Driver == nil {
			disk.Driver = &libvirtxml.DomainDiskDriver{Name: "qemu"}
		}
		disk.Driver.Type = format
	}
	for i := range x.Devices.Interfaces {
		card := &x.Devices.Interfaces[i]
		was, modelled := readInterface(card)
		at := slices.IndexFunc(r.b.machine.Interfaces, func(i Interface) bool { return i.MAC == was.MAC })
		if !modelled || at < 0 {
			continue
		}
		want := r.b.machine.Interfaces[at]
		want.Model, want.MTU = was.Model, was.MTU // libvirt moves no card that becomes another one
		changeInterface(card, &want)
		if n := card.Source.Network; n != nil {
			n.Bridge, n.PortID = "", "" // the source's
		}
		card.Target = nil
	}
	applyIgnition(x, r.b.machine.IgnitionFile)
	if err := metadata.RemoveTurn(x); err != nil {
		return err
	}
	m := *r.existing
	m.Mark = r.b.machine.Mark
	return applyMark(x, &m)
}

// settlePatience is how long a hypervisor may take to see that a migration broke.
const settlePatience = 30 * time.Second

// settle finds out where a machine is whose migration broke at a moment at which neither hypervisor alone knows it.
func (r *relocation) settle(ctx context.Context, broken *hypervisor.UnsettledError) error {
	var there *hypervisor.Domain
	err := hypervisor.Retry(ctx, settlePatience, time.Second, func() (again bool, err error) {
		if there, err = r.target.findArrived(ctx, r.target.client); err != nil || there != nil {
			return err != nil, err
		}
		_, err = r.target.client.Domain(ctx, r.d.UUID)
		if hypervisor.IsNotFound(err) {
			return false, nil
		}
		return true, err
	})
	switch {
	case err != nil:
		return &unsettledError{fmt.Errorf("%w. %s was asked how it ended: %w. The next apply asks again", broken, plan.NameHypervisor(r.moved.Hypervisor), err)}
	case there != nil:
		return nil
	}
	return broken.Err
}

// unsettledError says that nobody could be asked where the machine is: nothing is taken back.
type unsettledError struct{ error }

// takeBackLimit bounds what is done after a migration that failed.
const takeBackLimit = 2 * time.Minute

// stay takes back what was made on the target after an error, and has the machine be what it was on the source.
func (r *relocation) stay(ctx context.Context, why error) error {
	if errors.As(why, new(*unsettledError)) {
		return fmt.Errorf("move node %q to %s: %w", r.d.Name, plan.NameHypervisor(r.moved.Hypervisor), why)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackLimit)
	defer cancel()
	state := "off, as it was"
	if r.d.Active() {
		state = "running"
	}
	why = fmt.Errorf("move node %q to %s: it stays on %s, %s: %w", r.d.Name, plan.NameHypervisor(r.moved.Hypervisor), plan.NameHypervisor(r.source.known.Hypervisor), state, why)
	if err := r.source.settleMove(ctx); err != nil {
		return fmt.Errorf("%w. What was made on %s could not be removed, which the next apply does: %w", why, plan.NameHypervisor(r.moved.Hypervisor), err)
	}
	return why
}

// checkArrival makes sure that the target has the machine and every volume of it, before anything on the source goes.
func (r *relocation) checkArrival(ctx context.Context) error {
	d, err := r.target.findArrived(ctx, r.target.client)
	if err == nil && d == nil {
		err = errors.New("it is not defined there")
	}
	for _, v := range r.b.volumes {
		if err == nil {
			_, err = r.target.client.Volume(ctx, v.pool.Name(), v.xml.Name)
		}
	}
	if err != nil {
		return fmt.Errorf("node %q was migrated to %s, and cannot be found there as it should be; everything on %s is kept: %w", r.moved.Name, plan.NameHypervisor(r.moved.Hypervisor), plan.NameHypervisor(r.source.known.Hypervisor), err)
	}
	if r.d.Active() {
		return nil
	}
	return r.target.client.StopDomain(ctx, d.UUID, 0) // its guest has not run
}

// leave removes from the store's hypervisor what is left there of a machine that has gone to another one.
func (s *Store) leave(ctx context.Context) error {
	d, err := s.client.Domain(ctx, s.known.UUID)
	if err != nil && !hypervisor.IsNotFound(err) {
		return err
	}
	if d == nil { // it goes last, but for its filters
		var filters []string
		for _, i := range s.known.Interfaces {
			filters = append(filters, filterNames(s.known.Name, i.MAC)...)
		}
		return removeFilters(ctx, s.client, s.known.UUID, filters)
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
		if err := s.openAt(from, s.known).leave(ctx); err != nil {
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
	if err := s.openAt(to, s.known).removeAwaited(ctx, departure); err != nil {
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
	if d, err = s.client.Domain(ctx, d.UUID); err != nil {
		return err
	}
	return s.markDeparture(ctx, d, nil)
}

// removeAwaited removes what was made on the store's hypervisor for a machine that did not come.
func (s *Store) removeAwaited(ctx context.Context, departure *Departure) error {
	left := Leftovers{uuid: s.known.UUID, claim: s.claim, owner: s.newVolumeOwner(nil)}
	var refs []VolumeRef
	for _, v := range departure.Volumes {
		refs = append(refs, VolumeRef{v.Pool, v.Name})
	}
	sorted, err := left.owner.sortVolumes(ctx, refs)
	if err != nil {
		return err
	}
	left.volumes, left.there, left.given = sorted.own, sorted.there, sorted.others
	for _, departed := range departure.Interfaces {
		left.filters = append(left.filters, filterNames(s.known.Name, departed.MAC)...)
		at := slices.IndexFunc(s.known.Interfaces, func(i InterfaceSpec) bool { return i.MAC == departed.MAC })
		if at >= 0 && departed.Network != "" {
			left.reservations = append(left.reservations, s.known.Interfaces[at].networkReservations(departed.Network)...)
		}
	}
	if err := storage.AwaitUnusedBeside(ctx, s.client, left.uuid, left.there); err != nil {
		return err
	}
	return s.removeMachine(ctx, left, 0)
}
