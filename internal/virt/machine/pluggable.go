package machine

import (
	"context"
	"slices"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// deviceKind is a kind of devices, beside disks and interfaces, that can be plugged in and out while a machine runs. T is one in plain values,
// and X its XML.
type deviceKind[T comparable, X any] struct {
	// attribute is the one that says which a machine has; single says that it is no list.
	attribute string
	single    bool
	// list returns those of a machine, drop leaves out those that are some, and place is where they are in a domain.
	list  func(*Hardware) []T
	drop  func(h *Hardware, are func(T) bool)
	place func(*libvirtxml.DomainDeviceList) *[]X
	// read reads one, and says whether it is modelled; render makes the XML of one.
	read   func(*X) (T, bool)
	render func(T) X
	// adjust has a domain say what else it says because of what it has, and forget has the XML of one not say where in the machine it is. Both
	// may be nil.
	adjust func(d *libvirtxml.Domain, was, want []T)
	forget func(*X)
	// excludes says of two that a machine cannot have both at a time; nil for a kind whose devices do not mind each other.
	excludes func(T, T) bool
	// takeRoom takes the room that one more needs in what runs, and freeRoom gives it back, or they say why what runs cannot follow.
	takeRoom func(*FreePorts, T, *libvirtxml.Domain) error
	freeRoom func(*FreePorts, T) error
}

// pluggable is a deviceKind, whatever its devices are.
type pluggable interface {
	isSame(was, want *Hardware) bool
	isUnknown(*Spec) bool
	comparePlugged(was, want *Hardware, running *Running, room *FreePorts, note func([]any, error))
	compareUnplugged(was, want *Hardware, room *FreePorts, note func([]any, error))
	dropUnplugged(h, known *Hardware, live *libvirtxml.Domain)
	applyDevices(d *libvirtxml.Domain, was, want *Hardware)
	plugDevices(context.Context, *update) error
	unplugDevices(context.Context, *update) error
}

func (k deviceKind[T, X]) isSame(was, want *Hardware) bool {
	return slices.Equal(k.list(was), k.list(want))
}

func (k deviceKind[T, X]) isUnknown(s *Spec) bool { return s.Unknown.Has(k.attribute) }

// pathOf returns the place of the n-th.
func (k deviceKind[T, X]) pathOf(n int) []any {
	if k.single {
		return pathTo(k.attribute)
	}
	return pathTo(k.attribute, n)
}

// listExcluded returns those of a machine that go before a new one can be plugged in.
func (k deviceKind[T, X]) listExcluded(was, want *Hardware, device T) []T {
	return slices.DeleteFunc(slices.Clone(k.list(was)), func(other T) bool {
		return k.excludes == nil || !k.excludes(other, device) || slices.Contains(k.list(want), other)
	})
}

// comparePlugged lists what is to be plugged in, and why a machine that runs cannot follow. Only what goes before that gives it room.
func (k deviceKind[T, X]) comparePlugged(was, want *Hardware, running *Running, room *FreePorts, note func([]any, error)) {
	for n, device := range k.list(want) {
		if slices.Contains(k.list(was), device) {
			continue
		}
		for _, other := range k.listExcluded(was, want, device) {
			_ = k.freeRoom(room, other) // compareUnplugged says why it does not go
		}
		note(k.pathOf(n), k.takeRoom(room, device, running.Live))
	}
}

// compareUnplugged lists what is to be plugged out, and why a machine that runs cannot follow. Where nothing changes but the order of those
// that stay, the configuration follows.
func (k deviceKind[T, X]) compareUnplugged(was, want *Hardware, room *FreePorts, note func([]any, error)) {
	for _, device := range k.list(was) {
		if !slices.Contains(k.list(want), device) {
			note(pathTo(k.attribute), k.freeRoom(room, device))
		}
	}
}

// readDevices reads those of a domain.
func (k deviceKind[T, X]) readDevices(d *libvirtxml.Domain) []T {
	if d.Devices == nil {
		return nil
	}
	var all []T
	for _, x := range *k.place(d.Devices) {
		if device, modelled := k.read(&x); modelled {
			all = append(all, device)
		}
	}
	return all
}

// findDevices returns the XML of each that a domain has of one. What runs has the place of a USB device beside its name.
func (k deviceKind[T, X]) findDevices(d *libvirtxml.Domain, device T) []any {
	var all []any
	for _, x := range *k.place(d.Devices) {
		if found, modelled := k.read(&x); !modelled || found != device {
			continue
		}
		if k.forget != nil {
			k.forget(&x)
		}
		all = append(all, &x)
	}
	return all
}

// dropUnplugged leaves out those of the known ones that what runs has lost. What somebody has put into the configuration alone stays to be seen.
func (k deviceKind[T, X]) dropUnplugged(h, known *Hardware, live *libvirtxml.Domain) {
	k.drop(h, func(device T) bool {
		return slices.Contains(k.list(known), device) && len(k.findDevices(live, device)) == 0
	})
}

// putDevices keeps the XML of those that stay, and of what is not modelled, which comes last.
func (k deviceKind[T, X]) putDevices(d *libvirtxml.Domain, was, want []T) {
	there := k.place(d.Devices)
	existing, others := map[T]X{}, []X(nil)
	for _, x := range *there {
		if device, modelled := k.read(&x); modelled {
			existing[device] = x
		} else {
			others = append(others, x)
		}
	}
	*there = nil
	for _, device := range want {
		x, stays := existing[device]
		if !stays {
			x = k.render(device)
		}
		*there = append(*there, x)
	}
	*there = append(*there, others...)
	if k.adjust != nil {
		k.adjust(d, was, want)
	}
}

// applyDevices has the XML of a machine have its devices in their order.
func (k deviceKind[T, X]) applyDevices(d *libvirtxml.Domain, was, want *Hardware) {
	if !k.isSame(was, want) {
		k.putDevices(d, k.list(was), k.list(want))
	}
}

// plugDevices plugs in what the machine does not have. What it cannot have beside a new one goes first, all else later, by unplugDevices.
func (k deviceKind[T, X]) plugDevices(ctx context.Context, u *update) error {
	was, want := &u.existing.Hardware, &u.machine.Hardware
	for n, device := range k.list(want) {
		runs := len(k.findDevices(u.d.Live, device)) > 0
		if slices.Contains(k.list(was), device) {
			if runs {
				continue
			}
			// Only what runs has lost it: it leaves the configuration too, and comes back to both.
			if err := k.takeOut(ctx, u, device, u.detachNow); err != nil {
				return service.At(k.pathOf(n), err)
			}
		}
		for _, other := range k.listExcluded(was, want, device) {
			if err := k.takeOut(ctx, u, other, u.detachNow); err != nil {
				return service.At(k.pathOf(n), err)
			}
		}
		made := k.render(device)
		x, live := any(&made), true
		if running := k.findDevices(u.d.Live, device); len(running) > 0 { // only the configuration has lost it
			x, live = running[0], false
		}
		if err := u.c.AttachDevice(ctx, u.d.UUID, x, live); err != nil {
			return service.At(k.pathOf(n), err)
		}
	}
	return nil
}

// unplugDevices takes out what the machine shall not have any more.
func (k deviceKind[T, X]) unplugDevices(ctx context.Context, u *update) error {
	for _, device := range k.list(&u.existing.Hardware) {
		if slices.Contains(k.list(&u.machine.Hardware), device) {
			continue
		}
		if err := k.takeOut(ctx, u, device, u.detachForGood); err != nil {
			return service.At(pathTo(k.attribute), err)
		}
	}
	return nil
}

// takeOut takes a device out, and all that are the same to the provider: somebody may have given the machine several of them.
func (k deviceKind[T, X]) takeOut(ctx context.Context, u *update, device T, detach detaching) error {
	d, err := u.c.Domain(ctx, u.d.UUID)
	if err != nil {
		return err
	}
	all := k.findDevices(d.Config, device)
	if d.Active() {
		running := k.findDevices(d.Live, device)
		all = append(running, all[min(len(running), len(all)):]...)
	}
	for n, x := range slices.Backward(all) {
		if err := detach(ctx, x, func(d *libvirtxml.Domain) bool { return len(k.findDevices(d, device)) > n }); err != nil {
			return err
		}
	}
	return nil
}

// plugOthers plugs in what is neither a disk nor an interface.
func (u *update) plugOthers(ctx context.Context) error {
	for _, kind := range pluggables {
		if err := kind.plugDevices(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// unplugOthers takes out what is neither a disk nor an interface, and puts what stays into its order, where nothing of it waits for a restart.
func (u *update) unplugOthers(ctx context.Context) error {
	for _, kind := range pluggables {
		if err := kind.unplugDevices(ctx, u); err != nil {
			return err
		}
	}
	if len(u.held) > 0 {
		return nil // detachHeld does it
	}
	return u.orderOthers(ctx)
}

// orderOthers puts what is neither a disk nor an interface into the order that is wanted: libvirt has what is plugged in come last.
func (u *update) orderOthers(ctx context.Context) error {
	if sameOthers(&u.existing.Hardware, &u.machine.Hardware) {
		return nil
	}
	d, err := u.c.Domain(ctx, u.d.UUID)
	if err != nil {
		return err
	}
	now := Read(d.Config)
	if sameOthers(&now.Hardware, &u.machine.Hardware) {
		return nil
	}
	applyOthers(d.Config, now, u.machine)
	return u.c.DefineDomain(ctx, d.Config)
}

// sameOthers says of two machines that they have the same devices that are neither disks nor interfaces.
func sameOthers(was, want *Hardware) bool {
	return !slices.ContainsFunc(pluggables, func(kind pluggable) bool { return !kind.isSame(was, want) })
}

// applyOthers has a domain's XML have what is neither a disk nor an interface.
func applyOthers(d *libvirtxml.Domain, was, m *Machine) {
	for _, kind := range pluggables {
		kind.applyDevices(d, &was.Hardware, &m.Hardware)
	}
}

// compareOthers lists what is to be plugged in or out that is neither a disk nor an interface, in the order in which an update comes to it.
func compareOthers(was, want *Spec, running *Running, room *FreePorts, note func([]any, error)) {
	known := slices.DeleteFunc(slices.Clone(pluggables), func(kind pluggable) bool { return kind.isUnknown(want) })
	for _, kind := range known {
		kind.comparePlugged(&was.Hardware, &want.Hardware, running, room, note)
	}
	for _, kind := range known {
		kind.compareUnplugged(&was.Hardware, &want.Hardware, room, note)
	}
}
