package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/drive"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

// migrateMachine has libvirt bring the machine to the target. One that is off is held by a process of its own meanwhile: its guest runs at no moment.
func (r *relocation) migrateMachine(ctx context.Context, want *Spec) error {
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
		return r.locateBroken(context.WithoutCancel(ctx), unsettled)
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

// locateBroken finds out where a machine is whose migration broke at a moment at which neither hypervisor alone knows it.
func (r *relocation) locateBroken(ctx context.Context, broken *hypervisor.UnsettledError) error {
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

// takeBack takes back what was made on the target after an error, and has the machine be what it was on the source.
func (r *relocation) takeBack(ctx context.Context, why error) error {
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
