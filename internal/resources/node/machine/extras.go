package machine

import (
	"slices"

	"libvirt.org/go/libvirtxml"
)

func applyConsole(d *libvirtxml.Domain, was, want Console) {
	if was == want {
		return
	}
	if want.Type == "none" {
		d.Devices.Serials, d.Devices.Consoles = nil, nil
		return
	}
	var log *libvirtxml.DomainChardevLog
	if want.LogFile != "" {
		log = &libvirtxml.DomainChardevLog{File: want.LogFile, Append: "on"}
	}
	port := uint(0)
	if len(d.Devices.Serials) == 0 {
		d.Devices.Serials = []libvirtxml.DomainSerial{{Source: pty(), Target: &libvirtxml.DomainSerialTarget{Port: &port}}}
	}
	if was.Type != want.Type {
		d.Devices.Serials[0].Source = pty()
		d.Devices.Consoles = nil
	}
	d.Devices.Serials[0].Log = log
	if len(d.Devices.Consoles) == 0 {
		d.Devices.Consoles = []libvirtxml.DomainConsole{{Source: pty(), Target: &libvirtxml.DomainConsoleTarget{Type: "serial", Port: &port}}}
	}
	if t := d.Devices.Consoles[0].Target; t == nil || t.Type == "serial" || t.Type == "" {
		d.Devices.Consoles[0].Log = log // libvirt holds the first console to be the first serial port
	}
}

func pty() *libvirtxml.DomainChardevSource {
	return &libvirtxml.DomainChardevSource{Pty: &libvirtxml.DomainChardevSourcePty{}}
}

func readConsole(d *libvirtxml.Domain) Console {
	c := Console{Type: "none"}
	if d.Devices == nil {
		return c
	}
	if len(d.Devices.Consoles) > 0 {
		c.Type = "pty"
		if log := d.Devices.Consoles[0].Log; log != nil {
			c.LogFile = log.File
		}
	}
	if len(d.Devices.Serials) > 0 {
		c.Type = "pty"
		if log := d.Devices.Serials[0].Log; log != nil {
			c.LogFile = log.File
		}
	}
	return c
}

func applyGraphics(d *libvirtxml.Domain, was, want string) {
	if was == want {
		return
	}
	d.Devices.Graphics = nil
	switch want {
	case "none":
		d.Devices.Videos = slices.DeleteFunc(d.Devices.Videos, ownVideo)
		return
	case "vnc":
		d.Devices.Graphics = []libvirtxml.DomainGraphic{{VNC: &libvirtxml.DomainGraphicVNC{Port: -1, AutoPort: "yes", Listen: "127.0.0.1"}}}
	case "spice":
		d.Devices.Graphics = []libvirtxml.DomainGraphic{{Spice: &libvirtxml.DomainGraphicSpice{AutoPort: "yes", Listen: "127.0.0.1"}}}
	}
	if len(d.Devices.Videos) == 0 {
		d.Devices.Videos = []libvirtxml.DomainVideo{{Model: libvirtxml.DomainVideoModel{Type: "virtio"}}}
	}
}

// ownVideo says whether a video card is as the provider adds it for a screen: any other is somebody's.
func ownVideo(v libvirtxml.DomainVideo) bool {
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

// agentChannel is the port at which qemu-guest-agent listens in the guest.
const agentChannel = "org.qemu.guest_agent.0"

func isAgent(c libvirtxml.DomainChannel) bool {
	return c.Target != nil && c.Target.VirtIO != nil && c.Target.VirtIO.Name == agentChannel
}

func applyChannels(d *libvirtxml.Domain, was, m *Machine) {
	if was.GuestAgent && !m.GuestAgent {
		d.Devices.Channels = slices.DeleteFunc(d.Devices.Channels, isAgent)
	}
	if !was.GuestAgent && m.GuestAgent {
		d.Devices.Channels = append(d.Devices.Channels, libvirtxml.DomainChannel{
			Source: &libvirtxml.DomainChardevSource{UNIX: &libvirtxml.DomainChardevSourceUNIX{Mode: "bind"}},
			Target: &libvirtxml.DomainChannelTarget{VirtIO: &libvirtxml.DomainChannelTargetVirtIO{Name: agentChannel}},
		})
	}
	if was.RNG && !m.RNG {
		d.Devices.RNGs = nil
	}
	if !was.RNG && m.RNG {
		d.Devices.RNGs = []libvirtxml.DomainRNG{{Model: "virtio", Backend: &libvirtxml.DomainRNGBackend{
			Random: &libvirtxml.DomainRNGBackendRandom{Device: "/dev/urandom"},
		}}}
	}
}
