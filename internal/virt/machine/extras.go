package machine

import (
	"slices"

	"libvirt.org/go/libvirtxml"
)

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
		d.Devices.RNGs = []libvirtxml.DomainRNG{*newRNG()}
	}
}

func newRNG() *libvirtxml.DomainRNG {
	return &libvirtxml.DomainRNG{Model: "virtio", Backend: &libvirtxml.DomainRNGBackend{Random: &libvirtxml.DomainRNGBackendRandom{Device: "/dev/urandom"}}}
}
