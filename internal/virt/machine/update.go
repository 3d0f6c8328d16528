package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// update is one change of one machine.
type update struct {
	*blueprint
	store     *Store
	c         *hypervisor.Client
	was, want *Spec
	// d is the domain before the change, and existing the machine that it was.
	d        *hypervisor.Domain
	existing *Machine
	// mustRestart is set where the running machine cannot follow a change of its configuration, and restart where it turned out
	// that it did not.
	mustRestart bool
	restart     bool
	// held take out, once what runs has stopped, the devices that its guest did not let go of: until then the configuration has them, so that a
	// change that is interrupted is seen, and taken up again.
	held []func(context.Context) error
	// retained is set where the mark names volumes that are to be removed.
	retained bool
	// newStore is set once the variable store is not the prior firmware's any more.
	newStore bool
	// former is the configuration that was replaced; "" while none was.
	former string
	// volumeOwner tells the machine's own volumes, and obsolete are those of them that go.
	volumeOwner *volumeOwner
	obsolete    ownVolumes
	// undo takes back what was done so far, last first.
	undo []func(context.Context) error
}

// onFailure notes how to take back what was just done.
func (u *update) onFailure(undo func(context.Context) error) { u.undo = append(u.undo, undo) }

// undoChanges takes back what was done: the configuration first, as nothing that it does not name is needed any more, then the rest,
// last first. What an undo cannot take back stays for the next apply.
func (u *update) undoChanges(ctx context.Context) error {
	if u.former != "" {
		if err := u.restoreDefinition(ctx); err != nil {
			return err
		}
	}
	var err error
	for _, undo := range slices.Backward(u.undo) {
		err = errors.Join(err, undo(ctx))
	}
	if u.former != "" && u.d.Active() {
		err = errors.Join(err, u.startMachine(ctx))
	}
	return err
}

// Update changes what it can while the machine runs, and restarts it for the rest where that is allowed. What is removed goes
// last, so that a change that fails half-way has lost nothing. A machine that is to be on another hypervisor goes there first.
func (s *Store) Update(ctx context.Context, was, planned *Spec) (*Spec, error) {
	copied := *planned
	want := &copied
	want.UUID = was.UUID
	defer guest.Lock(s.client, want.UUID)()
	if was.Hypervisor == want.Hypervisor {
		if err := s.settleMove(ctx); err != nil {
			return nil, err
		}
		return s.changeMachine(ctx, was, want, planned)
	}
	moved, err := s.relocateMachine(ctx, was, want)
	if moved == nil {
		return nil, err
	}
	var got *Spec
	if err == nil {
		got, err = s.changeMachine(ctx, moved, want, planned)
	}
	if err == nil {
		return got, nil
	}
	// It is on the other hypervisor, whatever else came of the change.
	s.claim = s.claim.Written()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	got, look := s.readBack(ctx, moved)
	if look != nil {
		got = moved
	}
	return got, &service.Unfinished{Made: true, Err: fmt.Errorf("the node has moved to %s, and what was to follow failed: %w", plan.NameHypervisor(want.Hypervisor), errors.Join(err, look))}
}

// changeMachine changes the machine where it is.
func (s *Store) changeMachine(ctx context.Context, was, want, planned *Spec) (*Spec, error) {
	undefined, err := s.isUndefined(ctx)
	if err != nil {
		return nil, err
	}
	if undefined {
		return s.defineMachine(ctx, want, was.UUID)
	}
	u, err := s.openUpdate(ctx, was, want)
	if err != nil {
		return nil, err
	}
	if want.Power == External {
		want.Running = u.d.Active() // others say so, and may have said otherwise since the plan
	}
	k := &Checker{Client: s.client, Cache: s.cache, Want: want, Was: was}
	bridges, networks := bridgeChecker{k}, networkChecker{k}
	err = bridges.runWithBridges(ctx, func() error {
		if err := u.planRestart(ctx); err != nil {
			return err
		}
		if err := networks.checkPluggable(ctx, u.mustRestart || !u.d.Active()); err != nil {
			return err
		}
		if err := u.checkLayers(); err != nil {
			return err
		}
		if u.obsolete, err = u.volumeOwner.sortVolumes(ctx, u.listObsoleteVolumes()); err != nil {
			return err
		}
		if err := storage.AwaitUnusedBeside(ctx, s.client, u.d.UUID, u.obsolete.there); err != nil {
			return err
		}
		if err := u.applyChanges(ctx); err != nil {
			return errors.Join(err, u.undoChanges(context.WithoutCancel(ctx)))
		}
		failpoint.Hit("node/changed")
		if err := u.removeObsolete(ctx); err != nil {
			return err
		}
		if err := s.renewPeers(ctx, want.Name); err != nil {
			return err
		}
		return u.renewAddresses(ctx)
	})
	if err != nil {
		return nil, err // what was changed before it failed is for the next refresh to say
	}
	s.claim, s.kept = s.claim.Written(), u.obsolete.others
	want.Running = planned.Running
	return s.readBack(ctx, want)
}

// openUpdate reads what is there, and resolves what is to be.
func (s *Store) openUpdate(ctx context.Context, was, want *Spec) (*update, error) {
	d, err := s.client.Domain(ctx, want.UUID)
	if err != nil {
		return nil, err
	}
	existing, err := readLocatedMachine(ctx, s.client, d)
	if err != nil {
		return nil, err
	}
	if err := s.CheckOwned(d); err != nil {
		return nil, err
	}
	u := &update{store: s, c: s.client, was: was, want: want, d: d, existing: existing, volumeOwner: s.newVolumeOwner(existing)}
	r := &resolver{client: s.client, cache: s.cache, spec: want, owner: s.claim.Mark(), existing: existing, lost: was.listLostDisks(), northbounds: s.northbounds}
	u.blueprint, err = r.resolveMachine(ctx, d.UUID)
	return u, err
}

// planRestart says whether what runs must be restarted for the change, and fails where that is not allowed: since it was
// planned, somebody else may have taken the machine's last port.
func (u *update) planRestart(ctx context.Context) error {
	crashed := u.d.State == "crashed" // it is started anew anyway
	var running *Running
	if u.d.Active() && !crashed && u.want.Running {
		running = &Running{Machine: u.existing, Live: u.d.Live}
	}
	was := *u.was
	if isOutdated(u.d) { // which a plan that is older than that does not say
		was.State = Outdated
	}
	changes, err := Compare(&was, u.want, running)
	if err != nil {
		return err
	}
	if !u.d.Active() && len(changes) > 0 {
		saved, err := u.c.HasSavedState(ctx, u.d.UUID)
		if err != nil {
			return err
		}
		if saved {
			return fmt.Errorf("it is off with its memory saved (virsh managedsave), and goes on as it was when it is started, without this change: start it first, or have it give its memory up (virsh managedsave-remove %s)", u.d.Name)
		}
	}
	refused := NeedRestart(changes)
	u.mustRestart = crashed || len(refused) > 0
	// What cannot follow a fixed attribute was refused by the plan.
	refused = slices.DeleteFunc(refused, func(c Change) bool { return c.IsFixed() })
	if first := slices.Concat(refused, []Change{{}})[0]; first.Restart != nil && !u.want.AllowRestart {
		return service.At(first.Path, fmt.Errorf("the node runs, and %w: set allow_restart = true, which has it restarted in the same apply, or running = false first", first.Restart))
	}
	return nil
}

// applyChanges changes everything but what is to be removed for good.
func (u *update) applyChanges(ctx context.Context) error {
	for _, f := range u.filters {
		undo, err := defineFilter(ctx, u.c, u.d.UUID, f)
		if err != nil {
			return err
		}
		u.onFailure(u.undoUnlessPlugged(f.Name, undo))
	}
	// A node that is to be stopped is stopped first: a stopped one is easier to change.
	if !u.want.Running && u.d.Active() {
		if err := u.c.StopDomain(ctx, u.d.UUID, u.want.shutdownGrace()); err != nil {
			return err
		}
		u.onFailure(u.startMachine)
		u.d.Live = nil
	}
	// A guest that sleeps lets go of nothing.
	if u.d.Active() && !u.mustRestart && u.d.State != "running" {
		if err := u.startMachine(ctx); err != nil {
			return err
		}
	}
	change := u.changeLive
	if !u.d.Active() || u.mustRestart {
		change = u.redefineMachine
	}
	if err := change(ctx); err != nil {
		return err
	}
	if err := u.rewriteContent(ctx); err != nil {
		return err
	}
	if u.d.Autostart != u.want.Autostart {
		if err := u.c.SetDomainAutostart(ctx, u.d.UUID, u.want.Autostart); err != nil {
			return err
		}
	}
	if u.restart {
		if err := u.c.StopDomain(ctx, u.d.UUID, u.want.shutdownGrace()); err != nil {
			return err
		}
		if err := u.detachHeld(ctx); err != nil {
			return errors.Join(err, u.startMachine(context.WithoutCancel(ctx)))
		}
	}
	if u.want.Running {
		return u.startMachine(ctx)
	}
	return nil
}

func (u *update) startMachine(ctx context.Context) error { return u.c.StartDomain(ctx, u.d.UUID) }

// undoUnlessPlugged returns an undo of a filter's change that does nothing where the update has plugged in an interface with the
// filter: the interface would lose it.
func (u *update) undoUnlessPlugged(filter string, undo func(context.Context) error) func(context.Context) error {
	uses := func(i Interface) bool { return i.Filter != "" && slices.Contains(filterNames(u.d.Name, i.MAC), filter) }
	return func(ctx context.Context) error {
		d, err := u.c.Domain(ctx, u.d.UUID)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(Read(d.Config).Interfaces, uses) && !slices.ContainsFunc(u.existing.Interfaces, uses) {
			return nil
		}
		return undo(ctx)
	}
}

// listObsoleteVolumes returns the machine's own volumes that it does not have any more after the change.
func (u *update) listObsoleteVolumes() []VolumeRef {
	var gone []VolumeRef
	for _, d := range u.existing.Mark.Disks {
		if d.Volume != "" && u.machine.Mark.Disk(d.Key).Volume != d.Volume {
			gone = append(gone, VolumeRef{d.Pool, d.Volume})
		}
	}
	return gone
}

// removeObsolete removes what the machine does not need any more, when nothing else can fail: volumes last.
func (u *update) removeObsolete(ctx context.Context) error {
	for _, r := range u.listObsoleteReservations() {
		if err := removeReservation(ctx, u.c, u.store.claim, r); err != nil {
			return err
		}
	}
	databases := listDatabases(slices.Concat(u.was.Interfaces, u.want.Interfaces), u.existing.Mark.Interfaces)
	if err := u.store.removePorts(ctx, u.d.UUID, databases, u.ports); err != nil {
		return err
	}
	if err := removeFilters(ctx, u.c, u.d.UUID, u.listFilterNames()); err != nil {
		return err
	}
	if err := u.volumeOwner.removeVolumes(ctx, u.obsolete.own); err != nil {
		return err
	}
	for _, ref := range u.obsolete.others {
		if err := u.volumeOwner.removeMarks(ctx, ref); err != nil {
			return err
		}
	}
	if u.retained {
		if err := writeMark(ctx, u.c, u.machine, true); err != nil {
			return err
		}
	}
	return u.markVolumes(ctx)
}

// markVolumes marks the machine's own volumes that carry no mark of its resource: those of a version before marks, those that a person
// made whose machine was imported, and those of another state's machine that was.
func (u *update) markVolumes(ctx context.Context) error {
	imported, err := findImportedVolumes(ctx, u.c, u.machine, u.want)
	if err != nil {
		return err
	}
	names := map[string][]string{}
	for _, ref := range append(u.machine.Mark.listVolumes(), imported...) {
		if slices.ContainsFunc(u.volumes, func(v ownVolume) bool { return v.volumeRef() == ref }) {
			continue // it was marked when it was made
		}
		if _, asked := names[ref.Pool]; !asked {
			if names[ref.Pool], err = u.c.VolumeNames(ctx, ref.Pool); err != nil {
				return err
			}
		}
		if u.volumeOwner.markedName(ref).IsListed(names[ref.Pool], u.volumeOwner.mark) {
			continue
		}
		v, err := u.c.KnownVolume(ctx, ref.Pool, ref.Name)
		if err != nil || v == nil {
			return err
		}
		u.volumeOwner.named[ref] = u.volumeOwner.named[ref] || slices.Contains(imported, ref)
		own, _, err := u.volumeOwner.isOwn(ctx, ref, v)
		if err == nil && own {
			err = u.volumeOwner.markVolume(ctx, ref, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
