package machine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/drive"
)

// changeLive changes a running machine and its configuration alike.
func (u *update) changeLive(ctx context.Context) error {
	steps := []func(context.Context) error{u.announceVolumes, u.createParts, u.plugDisks, u.changeMedium, u.plugInterfaces, u.plugOthers, u.limitDisks, u.resizeLive, u.pinVCPUs, u.changeConfiguration, u.unplugObsolete, u.unplugOthers}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// announceVolumes writes down what the new volumes are called before they are made, so that they are found when the change is
// interrupted. What fails takes that back.
func (u *update) announceVolumes(ctx context.Context) error {
	if len(u.volumes) == 0 {
		return nil
	}
	u.onFailure(func(ctx context.Context) error {
		return u.writeAnnouncement(ctx, slices.DeleteFunc(slices.Clone(u.volumes), func(v ownVolume) bool { return !v.made }))
	})
	return u.writeAnnouncement(ctx, u.volumes)
}

// writeAnnouncement writes the mark of the machine as it was, with volumes that are being made or were left plugged in.
func (u *update) writeAnnouncement(ctx context.Context, volumes []ownVolume) error {
	interim := *u.existing
	for _, own := range volumes {
		announced := u.machine.Mark.Disk(own.key)
		announced.Making = true
		interim.Mark.Disks = slices.DeleteFunc(slices.Clone(interim.Mark.Disks), func(d MarkedDisk) bool { return d.Key == own.key })
		interim.Mark.Disks = append(interim.Mark.Disks, announced)
	}
	return writeMark(ctx, u.c, &interim, true)
}

// plugDisks plugs in the disks that the machine does not have yet.
func (u *update) plugDisks(ctx context.Context) error {
	for i := range u.machine.Disks {
		disk := &u.machine.Disks[i]
		if err := u.plugDisk(ctx, disk, u.existing.Disk(disk.Key)); err != nil {
			return service.At(u.want.diskPath(disk.Key), err)
		}
	}
	return nil
}

func (u *update) plugDisk(ctx context.Context, disk, existing *Disk) error {
	if existing != nil && existing.Path == disk.Path && existing.Bus == disk.Bus && FindDisk(u.d.Live, existing.Target) != nil {
		disk.Target = existing.Target
		return nil
	}
	if x := DiskAt(u.d.Live, disk.Path); existing == nil && x != nil && x.Target.Bus == disk.Bus {
		disk.Target = x.Target.Dev
		return u.attachDisk(ctx, x, false) // only the configuration has lost it
	}
	var old *libvirtxml.DomainDisk
	if existing != nil {
		// The same name for something else: the old one has to go first, as one serial number is enough.
		var err error
		if old, err = u.takeOutDisk(ctx, existing.Target); err != nil {
			return err
		}
		disk.Target = "" // each bus has names of its own, and QEMU calls devices by them
	}
	if err := u.plugController(ctx, disk.Bus); err != nil {
		return err
	}
	// What runs may have names that the configuration has not, and the other way round.
	both := &libvirtxml.Domain{Devices: &libvirtxml.DomainDeviceList{Disks: slices.Concat(u.d.Config.Devices.Disks, u.d.Live.Devices.Disks)}}
	x := NewDisk(both, disk)
	if old != nil {
		x = ReplugDisk(old, disk, x)
	}
	err := u.attachDisk(ctx, x, true)
	if err != nil {
		disk.Target = ""
	}
	return err
}

// limitDisks bounds what the guest may ask of disks that it had before.
func (u *update) limitDisks(ctx context.Context) error {
	for i := range u.machine.Disks {
		disk := &u.machine.Disks[i]
		existing := u.existing.Disk(disk.Key)
		if existing == nil || existing.Target != disk.Target {
			continue
		}
		if existing.Limits == disk.Limits && findLiveLimits(u.d, disk.Target, disk.Limits) == disk.Limits {
			continue
		}
		if err := u.c.LimitDisk(ctx, u.d.UUID, disk.Target, disk.Limits.ByName(), true); err != nil {
			return service.At(pathBelow(u.want.diskPath(disk.Key), "limits"), err)
		}
	}
	return nil
}

// plugController plugs in the controller that a bus needs and that the machine does not have.
func (u *update) plugController(ctx context.Context, bus string) error {
	controller := drive.MissingController(u.d.Config, bus)
	if controller == nil {
		return nil
	}
	if err := u.c.AttachDevice(ctx, u.d.UUID, controller, true); err != nil {
		return err
	}
	u.d.Config.Devices.Controllers = append(u.d.Config.Devices.Controllers, *controller)
	return nil
}

func (u *update) attachDisk(ctx context.Context, x *libvirtxml.DomainDisk, live bool) error {
	err := u.c.AttachDevice(ctx, u.d.UUID, x, live)
	if err == nil {
		u.d.Config.Devices.Disks = append(u.d.Config.Devices.Disks, *x)
	}
	return err
}

// takeOutDisk unplugs a disk whose place is to be had again, and returns what its XML was.
func (u *update) takeOutDisk(ctx context.Context, target string) (*libvirtxml.DomainDisk, error) {
	old := *FindDisk(u.d.Config, target)
	if err := u.unplugDisk(ctx, target, u.detachNow); err != nil {
		return nil, err
	}
	for _, d := range []*libvirtxml.Domain{u.d.Config, u.d.Live} {
		d.Devices.Disks = slices.DeleteFunc(d.Devices.Disks, func(x libvirtxml.DomainDisk) bool { return x.Target != nil && x.Target.Dev == target })
	}
	return &old, nil
}

// plugInterfaces plugs in new interfaces and moves or guards those that are there.
func (u *update) plugInterfaces(ctx context.Context) error {
	for n := range u.machine.Interfaces {
		if err := u.plugInterface(ctx, &u.machine.Interfaces[n]); err != nil {
			return service.At(pathTo("network_interfaces", n), err)
		}
	}
	return nil
}

func (u *update) plugInterface(ctx context.Context, want *Interface) error {
	at := slices.IndexFunc(u.existing.Interfaces, func(x Interface) bool { return x.MAC == want.MAC })
	x := FindInterface(u.d.Live, want.MAC)
	if at < 0 {
		fresh := NewInterface(want)
		applyCardProgram(fresh, u.machine.Firmware, u.machine.Firmware)
		if err := u.c.AttachDevice(ctx, u.d.UUID, fresh, x == nil); err != nil || x == nil {
			return err
		}
		return u.c.UpdateRunningDevice(ctx, u.d.UUID, ChangeInterface(x, want)) // only the configuration has lost it
	}
	existing := u.existing.Interfaces[at]
	bandwidth, err := findLiveBandwidth(ctx, u.c, u.d, want.MAC, want.Bandwidth)
	if err != nil {
		return err
	}
	if reflect.DeepEqual(existing, *want) && x != nil && bandwidth == want.Bandwidth {
		return nil
	}
	if x == nil || existing.Model != want.Model || existing.MTU != want.MTU || existing.Port != want.Port || existing.needsPort(want.Wiring) || existing.Trust != want.Trust || !samePointed(existing.Direct, want.Direct) {
		// Nothing can change these on a card that is plugged in: of trust, libvirt 9.0 takes the change and does nothing.
		if err := u.unplugInterface(ctx, want.MAC, u.detachNow); err != nil {
			return err
		}
		again := ReplugInterface(FindInterface(u.d.Config, want.MAC), want)
		return u.c.AttachDevice(ctx, u.d.UUID, again, true)
	}
	// What runs has what libvirt chose for it, and what somebody changed of it alone or of its configuration alone stays there.
	running := *want
	if bandwidth == want.Bandwidth {
		running.Bandwidth = readBandwidth(x) // which may be its network's
	}
	if err := u.c.UpdateRunningDevice(ctx, u.d.UUID, ChangeInterface(x, &running)); err != nil {
		return err
	}
	return u.c.UpdateDevice(ctx, u.d.UUID, ChangeInterface(FindInterface(u.d.Config, want.MAC), want), false)
}

// changeConfiguration changes what only the next start looks at, and the node's mark.
func (u *update) changeConfiguration(ctx context.Context) error {
	if u.existing.Boot.Kernel == u.machine.Boot.Kernel && slices.Equal(u.existing.Boot.Order, u.machine.Boot.Order) {
		return u.writeInterimMark(ctx)
	}
	d, err := u.c.Domain(ctx, u.d.UUID)
	if err != nil {
		return err
	}
	// Only the boot order: what is about to be unplugged stays in the configuration until it is.
	now := Read(d.Config)
	now.Boot = u.machine.Boot
	if err := Apply(d.Config, now); err != nil {
		return err
	}
	if err := u.c.DefineDomain(ctx, d.Config); err != nil {
		return err
	}
	return u.writeInterimMark(ctx)
}

// writeInterimMark writes the node's mark, which goes on naming the volumes that are to be removed until they are: a guest may not
// let go of them in time.
func (u *update) writeInterimMark(ctx context.Context) error {
	interim := *u.machine
	interim.Mark.Disks = slices.Clone(interim.Mark.Disks)
	for _, d := range u.existing.Mark.Disks {
		if d.Volume != "" && u.machine.Mark.Disk(d.Key).Key == "" {
			d.Leaving = true
			interim.Mark.Disks = append(interim.Mark.Disks, d)
			u.retained = true
		}
	}
	return writeMark(ctx, u.c, &interim, true)
}

// guestPatience is how long a guest that may be restarted has for letting go of a device; one that may not has all the time of the change.
const guestPatience = time.Minute

// detaching takes a device, a libvirtxml.DomainDisk, DomainInterface, …, out of the machine; the function says whether a domain has it.
type detaching func(context.Context, any, func(*libvirtxml.Domain) bool) error

// detachNow takes a device out of what runs: another one is to have its place at once.
func (u *update) detachNow(ctx context.Context, device any, has func(*libvirtxml.Domain) bool) error {
	return u.c.DetachDevice(ctx, u.d.UUID, device, has)
}

// detachForGood takes away a device for good. Where the guest does not let go of it and may be restarted, it is, and detachHeld takes the device away: until
// then the configuration keeps it, so that a run that ends before is seen, and taken up again.
func (u *update) detachForGood(ctx context.Context, device any, has func(*libvirtxml.Domain) bool) error {
	if !u.want.AllowRestart {
		return u.detachNow(ctx, device, has)
	}
	if !u.restart {
		patient, cancel := context.WithTimeout(ctx, guestPatience)
		defer cancel()
		err := u.detachNow(patient, device, has)
		if !errors.Is(err, hypervisor.ErrGuestHolds) || ctx.Err() != nil {
			return err
		}
		u.restart = true
	}
	u.held = append(u.held, func(ctx context.Context) error { return u.detachNow(ctx, device, has) })
	return nil
}

// detachHeld takes what the guest held out of the configuration of the machine, which is stopped, and puts what stays into its order.
func (u *update) detachHeld(ctx context.Context) error {
	for _, detach := range u.held {
		if err := detach(ctx); err != nil {
			return err
		}
	}
	return u.orderOthers(ctx)
}

// unplugObsolete takes away what the node shall not have any more.
func (u *update) unplugObsolete(ctx context.Context) error {
	for _, i := range u.existing.Interfaces {
		if !slices.ContainsFunc(u.machine.Interfaces, func(x Interface) bool { return x.MAC == i.MAC }) {
			if err := u.unplugInterface(ctx, i.MAC, u.detachForGood); err != nil {
				return service.At(pathTo("network_interfaces"), fmt.Errorf("network_interfaces: the one with %s: %w", i.MAC, err))
			}
		}
	}
	for _, disk := range u.existing.Disks {
		if u.machine.Disk(disk.Key) == nil {
			if err := u.unplugDisk(ctx, disk.Target, u.detachForGood); err != nil {
				return service.At(pathTo("disks", service.Key(disk.Key)), err)
			}
		}
	}
	return nil
}

func (u *update) unplugInterface(ctx context.Context, mac string, detach detaching) error {
	x := FindInterface(u.d.Live, mac)
	if x == nil {
		x = FindInterface(u.d.Config, mac)
	}
	if x == nil {
		return nil
	}
	return detach(ctx, x, func(d *libvirtxml.Domain) bool { return FindInterface(d, mac) != nil })
}

func (u *update) unplugDisk(ctx context.Context, target string, detach detaching) error {
	x := FindDisk(u.d.Live, target)
	if x == nil {
		x = FindDisk(u.d.Config, target)
	}
	if x == nil {
		return nil
	}
	return detach(ctx, x, func(d *libvirtxml.Domain) bool { return FindDisk(d, target) != nil })
}
