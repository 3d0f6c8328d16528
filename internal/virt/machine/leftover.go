package machine

import (
	"context"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/leftover"
)

// filledIn is what libvirt writes into a domain's XML by itself, and what says the same as the values in other words: sizes in other units,
// places on buses, and defaults.
var filledIn = []string{
	"/domain/@id", "/domain/uuid", "/domain/memory", "/domain/memory/@unit", "/domain/currentMemory", "/domain/currentMemory/@unit", "/domain/vcpu/@placement=static", "/domain/vcpus",
	"/domain/cpu/@check", "/domain/cpu/@match", "/domain/cpu/@migratable=on", "/domain/cpu/model/@fallback",
	"/domain/devices/emulator=/usr/bin/qemu-system-x86_64", "/domain/devices/emulator=/usr/bin/kvm", "/domain/devices/emulator=/usr/bin/qemu-kvm", "/domain/devices/emulator=/usr/libexec/qemu-kvm",
	"/domain/devices/*/address", "/domain/devices/*/alias", "/domain/devices/disk/backingStore", "/domain/devices/serial/target/@type=isa-serial", "/domain/devices/serial/target/model",
	"/domain/devices/graphics/@port=-1", "/domain/devices/graphics/@autoport=yes", "/domain/devices/graphics/@websocket=-1", "/domain/devices/graphics/@listen=127.0.0.1",
	"/domain/devices/video/model/@heads=1", "/domain/devices/video/model/@primary=yes", "/domain/devices/video/model/@vram", "/domain/devices/video/model/@ram", "/domain/devices/video/model/@vgamem",
}

// ListUnmodelled lists what of the domain's configuration no attribute says. It implements crud.Inspector.
func (s *Store) ListUnmodelled(ctx context.Context) ([]service.Unmodelled, error) {
	d, err := s.findDomain(ctx)
	if err != nil {
		return nil, err
	}
	return listUnmodelled(d.Config)
}

// listUnmodelled lists what of a domain's configuration the machine that was read from it does not say.
func listUnmodelled(d *libvirtxml.Domain) ([]service.Unmodelled, error) {
	rendered, err := Render(Read(d))
	if err != nil {
		return nil, err
	}
	is, err := withoutDefaults(d)
	if err != nil {
		return nil, err
	}
	nameVolumes(rendered, d)
	says, err := rendered.Marshal()
	if err != nil {
		return nil, err
	}
	return leftover.Find(is, says, filledIn...)
}

// nameVolumes has the disks of a rendered domain name a volume where those of the one that was read do: which file it is, the
// values know.
func nameVolumes(rendered, d *libvirtxml.Domain) {
	for i := range rendered.Devices.Disks {
		x := &rendered.Devices.Disks[i]
		if was := FindDisk(d, x.Target.Dev); was != nil && was.Source != nil && was.Source.Volume != nil {
			x.Source = &libvirtxml.DomainDiskSource{Volume: was.Source.Volume}
		}
	}
}

// withoutDefaults returns the XML of a domain without the devices that libvirt adds by itself: what others are plugged into, and what a
// machine has with a screen.
func withoutDefaults(d *libvirtxml.Domain) (string, error) {
	text, err := d.Marshal()
	if err != nil {
		return "", err
	}
	var c libvirtxml.Domain
	if err := c.Unmarshal(text); err != nil || c.Devices == nil {
		return text, err
	}
	c.Devices.Controllers = slices.DeleteFunc(c.Devices.Controllers, func(x libvirtxml.DomainController) bool {
		return x.Driver == nil && !strings.Contains(x.Model, "expander")
	})
	c.Devices.Inputs = slices.DeleteFunc(c.Devices.Inputs, func(x libvirtxml.DomainInput) bool { return x.Bus == "ps2" })
	c.Devices.Audios = slices.DeleteFunc(c.Devices.Audios, func(x libvirtxml.DomainAudio) bool { return x.None != nil || x.SPICE != nil })
	for _, g := range c.Devices.Graphics {
		switch {
		case g.VNC != nil:
			g.VNC.Listeners = slices.DeleteFunc(g.VNC.Listeners, isOwnListener)
		case g.Spice != nil:
			g.Spice.Listeners = slices.DeleteFunc(g.Spice.Listeners, isOwnListener)
		}
	}
	removeBootOrder(&c)
	return c.Marshal()
}

// isOwnListener says whether a screen is shown on its machine alone, as it is unless somebody says otherwise.
func isOwnListener(l libvirtxml.DomainGraphicListener) bool {
	return l.Address != nil && (l.Address.Address == "" || l.Address.Address == "127.0.0.1")
}

// removeBootOrder takes away the places of devices in the boot order where the order of their kinds says the same: where no two are of one.
func removeBootOrder(d *libvirtxml.Domain) {
	var places []**libvirtxml.DomainDeviceBoot
	note := func(boot **libvirtxml.DomainDeviceBoot) {
		if *boot != nil {
			places = append(places, boot)
		}
	}
	for i := range d.Devices.Disks {
		note(&d.Devices.Disks[i].Boot)
	}
	for i := range d.Devices.Interfaces {
		note(&d.Devices.Interfaces[i].Boot)
	}
	for i := range d.Devices.Hostdevs {
		note(&d.Devices.Hostdevs[i].Boot)
	}
	for i := range d.Devices.RedirDevs {
		note(&d.Devices.RedirDevs[i].Boot)
	}
	if len(places) != len(readDeviceOrder(d)) {
		return
	}
	for _, boot := range places {
		*boot = nil
	}
}
