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
		d.Devices.Serials = []libvirtxml.DomainSerial{{Source: newPTY(), Target: &libvirtxml.DomainSerialTarget{Port: &port}}}
	}
	if was.Type != want.Type {
		d.Devices.Serials[0].Source = newPTY()
		d.Devices.Consoles = nil
	}
	d.Devices.Serials[0].Log = log
	if len(d.Devices.Consoles) == 0 {
		d.Devices.Consoles = []libvirtxml.DomainConsole{{Source: newPTY(), Target: &libvirtxml.DomainConsoleTarget{Type: "serial", Port: &port}}}
	}
	if t := d.Devices.Consoles[0].Target; t == nil || t.Type == "serial" || t.Type == "" {
		d.Devices.Consoles[0].Log = log // libvirt holds the first console to be the first serial port
	}
}

func newPTY() *libvirtxml.DomainChardevSource {
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

// agentChannel is the port at which qemu-guest-agent listens in the guest.
const agentChannel = "org.qemu.guest_agent.0"

func isAgentChannel(c libvirtxml.DomainChannel) bool {
	return c.Target != nil && c.Target.VirtIO != nil && c.Target.VirtIO.Name == agentChannel
}

// readExtras reads the guest agent's channel and the random number generator.
func readExtras(d *libvirtxml.Domain, m *Machine) {
	m.GuestAgent = slices.ContainsFunc(d.Devices.Channels, isAgentChannel)
	m.RNG = len(d.Devices.RNGs) > 0
}

func applyExtras(d *libvirtxml.Domain, was, m *Machine) {
	if was.GuestAgent && !m.GuestAgent {
		d.Devices.Channels = slices.DeleteFunc(d.Devices.Channels, isAgentChannel)
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
