package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// pluggable is a list of devices of one kind, beside disks and interfaces, that can be plugged in and out while a machine runs.
type pluggable[T comparable] struct {
	// path is the attribute that has them.
	path []any
	// existing are those that the configuration has, and want those that it shall have.
	existing, want []T
	// find returns the XML of one in a domain, nil where it has none, and render makes it.
	find   func(*libvirtxml.Domain, T) any
	render func(T) any
	// excludes says of two devices that a machine cannot have both at a time; nil for a kind whose devices do not mind each other.
	excludes func(T, T) bool
}

// plug plugs in what the machine does not have. What it cannot have beside a new one goes first, all else later, by unplug.
func (p pluggable[T]) plug(ctx context.Context, u *update) error {
	for n, device := range p.want {
		if slices.Contains(p.existing, device) {
			continue
		}
		for _, other := range p.existing {
			if p.excludes == nil || !p.excludes(other, device) || slices.Contains(p.want, other) {
				continue
			}
			if err := p.takeOut(ctx, u, other, u.detachNow); err != nil {
				return service.At(pathBelow(p.path, n), err)
			}
		}
		x, live := p.find(u.d.Live, device), false
		if x == nil { // otherwise only the configuration has lost it
			x, live = p.render(device), true
		}
		if err := u.c.AttachDevice(ctx, u.d.UUID, x, live); err != nil {
			return service.At(pathBelow(p.path, n), err)
		}
	}
	return nil
}

// unplug takes out what the machine shall not have any more.
func (p pluggable[T]) unplug(ctx context.Context, u *update) error {
	for _, device := range p.existing {
		if slices.Contains(p.want, device) {
			continue
		}
		if err := p.takeOut(ctx, u, device, u.detach); err != nil {
			return service.At(p.path, err)
		}
	}
	return nil
}

func (p pluggable[T]) takeOut(ctx context.Context, u *update, device T, detach detaching) error {
	d, err := u.c.Domain(ctx, u.d.UUID)
	if err != nil {
		return err
	}
	x := p.find(d.Config, device)
	if d.Active() && p.find(d.Live, device) != nil {
		x = p.find(d.Live, device)
	}
	if x == nil {
		return nil
	}
	return detach(ctx, x, func(d *libvirtxml.Domain) bool { return p.find(d, device) != nil })
}

// listShares returns the directories of the hypervisor. Guests know them by their targets, of which each is there once.
func (u *update) listShares() pluggable[Filesystem] {
	return pluggable[Filesystem]{
		path: pathTo("filesystems"), existing: u.existing.Filesystems, want: u.machine.Filesystems, find: findFilesystem,
		render:   func(f Filesystem) any { x := newFilesystem(f); return &x },
		excludes: func(a, b Filesystem) bool { return a.Target == b.Target },
	}
}

// listHostDevices returns the devices of the hypervisor.
func (u *update) listHostDevices() pluggable[HostDevice] {
	return pluggable[HostDevice]{
		path: pathTo("host_devices"), existing: u.existing.HostDevices, want: u.machine.HostDevices, find: findHostDevice,
		render: func(h HostDevice) any { x := newHostDevice(h); return &x },
	}
}

// plugOthers plugs in what is neither a disk nor an interface.
func (u *update) plugOthers(ctx context.Context) error {
	if err := u.listShares().plug(ctx, u); err != nil {
		return err
	}
	if err := u.listHostDevices().plug(ctx, u); err != nil {
		return err
	}
	if u.existing.RNG || !u.machine.RNG {
		return nil
	}
	return service.At(pathTo("rng"), u.c.AttachDevice(ctx, u.d.UUID, newRNG(), true))
}

// unplugOthers takes out what is neither a disk nor an interface, and puts what stays into the order that is wanted: libvirt has what is
// plugged in come last.
func (u *update) unplugOthers(ctx context.Context) error {
	if err := u.listShares().unplug(ctx, u); err != nil {
		return err
	}
	if err := u.listHostDevices().unplug(ctx, u); err != nil {
		return err
	}
	if u.existing.RNG && !u.machine.RNG {
		if err := u.unplugRNGs(ctx); err != nil {
			return service.At(pathTo("rng"), err)
		}
	}
	if slices.Equal(u.existing.Filesystems, u.machine.Filesystems) && slices.Equal(u.existing.HostDevices, u.machine.HostDevices) {
		return nil
	}
	d, err := u.c.Domain(ctx, u.d.UUID)
	if err != nil {
		return err
	}
	shares, devices := readFilesystems(d.Config), readHostDevices(d.Config)
	if slices.Equal(shares, u.machine.Filesystems) && slices.Equal(devices, u.machine.HostDevices) {
		return nil
	}
	applyFilesystems(d.Config, shares, u.machine.Filesystems)
	applyHostDevices(d.Config, devices, u.machine.HostDevices)
	return u.c.DefineDomain(ctx, d.Config)
}

// unplugRNGs takes out all random number generators, of which somebody may have given the machine several.
func (u *update) unplugRNGs(ctx context.Context) error {
	for range u.d.Config.Devices.RNGs {
		d, err := u.c.Domain(ctx, u.d.UUID)
		if err != nil || len(d.Config.Devices.RNGs) == 0 {
			return err
		}
		many := len(d.Config.Devices.RNGs)
		has := func(now *libvirtxml.Domain) bool { return len(now.Devices.RNGs) >= many }
		if err := u.detach(ctx, &d.Config.Devices.RNGs[many-1], has); err != nil {
			return err
		}
	}
	return nil
}

// comparePluggable lists what of a kind is to be plugged in or out, and why a machine that runs cannot follow: plug and unplug take and give
// back the room of one device, or say so. Where none of it changes but the order, the configuration follows.
func comparePluggable[T comparable](path []any, was, want []T, plug, unplug func(T) error, note func([]any, error)) {
	for n, device := range want {
		if !slices.Contains(was, device) {
			note(pathBelow(path, n), plug(device))
		}
	}
	for _, device := range was {
		if !slices.Contains(want, device) {
			note(path, unplug(device))
		}
	}
}

// compareOthers does so for what is neither a disk nor an interface.
func compareOthers(was, want *Spec, running *Running, room *FreePorts, note func([]any, error)) {
	if !want.Unknown.Has("filesystems") {
		unplugShare := func(f Filesystem) error { return room.unplugShare(f) }
		comparePluggable(pathTo("filesystems"), was.Filesystems, want.Filesystems, func(f Filesystem) error { return room.plugShare(f, running.Live) }, unplugShare, note)
	}
	if !want.Unknown.Has("host_devices") {
		comparePluggable(pathTo("host_devices"), was.HostDevices, want.HostDevices, room.plugHostDevice, room.unplugHostDevice, note)
	}
	switch {
	case want.Unknown.Has("rng") || was.RNG == want.RNG:
	case want.RNG:
		note(pathTo("rng"), room.takeSlot(true))
	default:
		note(pathTo("rng"), nil)
	}
}

// plugShare takes the room that one more share needs, or says why it cannot be plugged into what runs.
func (r *FreePorts) plugShare(f Filesystem, live *libvirtxml.Domain) error {
	switch {
	case f.Driver != virtiofs:
		return r.unplugShare(f)
	case !sharesMemory(live):
		return errors.New("its memory is shared with virtiofsd from its next start on")
	}
	return r.takeSlot(true)
}

// unplugShare gives back the room of a share, or says why it cannot be unplugged.
func (r *FreePorts) unplugShare(f Filesystem) error {
	if f.Driver != virtiofs {
		return fmt.Errorf("a share of driver %q cannot be plugged in or out", f.Driver)
	}
	r.freeSlot(true)
	return nil
}

// plugHostDevice takes the room that one more device of the hypervisor needs, or says why it cannot be plugged in.
func (r *FreePorts) plugHostDevice(h HostDevice) error {
	if h.USB != "" {
		return r.PlugDisk("usb")
	}
	return r.takeSlot(true)
}

// unplugHostDevice gives back the room of a device.
func (r *FreePorts) unplugHostDevice(h HostDevice) error {
	if h.USB == "" {
		r.freeSlot(true)
	}
	return nil
}
