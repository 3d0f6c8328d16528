package machine

import (
	"slices"

	"libvirt.org/go/libvirtxml"
)

func applyGraphics(d *libvirtxml.Domain, was, want string) {
	if was == want {
		return
	}
	d.Devices.Graphics = slices.DeleteFunc(d.Devices.Graphics, func(g libvirtxml.DomainGraphic) bool { return g.VNC != nil || g.Spice != nil })
	if want != "spice" {
		removeSpice(d.Devices)
	}
	switch want {
	case "none":
		d.Devices.Videos = slices.DeleteFunc(d.Devices.Videos, isOwnVideo)
		return
	case "vnc":
		d.Devices.Graphics = append(d.Devices.Graphics, libvirtxml.DomainGraphic{VNC: &libvirtxml.DomainGraphicVNC{Port: -1, AutoPort: "yes", Listen: "127.0.0.1"}})
	case "spice":
		d.Devices.Graphics = append(d.Devices.Graphics, libvirtxml.DomainGraphic{Spice: &libvirtxml.DomainGraphicSpice{AutoPort: "yes", Listen: "127.0.0.1"}})
	}
	if len(d.Devices.Videos) == 0 {
		d.Devices.Videos = []libvirtxml.DomainVideo{{Model: libvirtxml.DomainVideoModel{Type: "virtio"}}}
	}
}

// removeSpice takes away what only a Spice client speaks to: libvirt refuses it on a machine that has no Spice. Sound goes
// nowhere then, as the card stays.
func removeSpice(devices *libvirtxml.DomainDeviceList) {
	its := func(s *libvirtxml.DomainChardevSource) bool {
		return s != nil && (s.SpiceVMC != nil || s.SpicePort != nil)
	}
	devices.Channels = slices.DeleteFunc(devices.Channels, func(x libvirtxml.DomainChannel) bool { return its(x.Source) })
	devices.RedirDevs = slices.DeleteFunc(devices.RedirDevs, func(x libvirtxml.DomainRedirDev) bool { return its(x.Source) })
	devices.Smartcards = slices.DeleteFunc(devices.Smartcards, func(x libvirtxml.DomainSmartcard) bool { return its(x.Passthrough) })
	for i := range devices.Audios {
		if a := &devices.Audios[i]; a.SPICE != nil {
			a.SPICE, a.None = nil, &libvirtxml.DomainAudioNone{}
		}
	}
}

// isOwnVideo says whether a video card is as the provider adds it for a screen: any other is somebody's.
func isOwnVideo(v libvirtxml.DomainVideo) bool {
	m := v.Model
	return m.Type == "virtio" && m.Heads <= 1 && m.Accel == nil && m.Resolution == nil && m.Blob == "" && m.EDID == "" && v.Driver == nil
}

func readGraphics(d *libvirtxml.Domain) string {
	if d.Devices == nil {
		return "none"
	}
	for _, g := range d.Devices.Graphics {
		switch {
		case g.VNC != nil:
			return "vnc"
		case g.Spice != nil:
			return "spice"
		}
	}
	return "none"
}
