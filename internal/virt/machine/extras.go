package machine

import (
	"slices"

	"libvirt.org/go/libvirtxml"
)

// pluggables are the devices, beside disks and interfaces, that can be plugged in and out while a machine runs.
var pluggables = []pluggable{shareDevices, hostedDevices, randomDevices}

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

func applyGuestAgent(d *libvirtxml.Domain, was, want bool) {
	if was && !want {
		d.Devices.Channels = slices.DeleteFunc(d.Devices.Channels, isAgentChannel)
	}
	if !was && want {
		d.Devices.Channels = append(d.Devices.Channels, libvirtxml.DomainChannel{
			Source: &libvirtxml.DomainChardevSource{UNIX: &libvirtxml.DomainChardevSourceUNIX{Mode: "bind"}},
			Target: &libvirtxml.DomainChannelTarget{VirtIO: &libvirtxml.DomainChannelTargetVirtIO{Name: agentChannel}},
		})
	}
}

// randomDevice is the random number generator: all that a machine has are one.
type randomDevice struct{}

var randomDevices = deviceKind[randomDevice, libvirtxml.DomainRNG]{
	attribute: "rng", single: true,
	list: func(h *Hardware) []randomDevice {
		if h.RNG {
			return []randomDevice{{}}
		}
		return nil
	},
	drop: func(h *Hardware, are func(randomDevice) bool) {
		h.RNG = h.RNG && !are(randomDevice{})
	},
	place: func(d *libvirtxml.DomainDeviceList) *[]libvirtxml.DomainRNG { return &d.RNGs },
	read:  func(*libvirtxml.DomainRNG) (randomDevice, bool) { return randomDevice{}, true },
	render: func(randomDevice) libvirtxml.DomainRNG {
		return libvirtxml.DomainRNG{Model: "virtio", Backend: &libvirtxml.DomainRNGBackend{Random: &libvirtxml.DomainRNGBackendRandom{Device: "/dev/urandom"}}}
	},
	// What runs may have it at another place than the configuration says: libvirt takes out whichever is like it.
	forget:   func(x *libvirtxml.DomainRNG) { x.Address, x.Alias = nil, nil },
	takeRoom: func(r *FreePorts, _ randomDevice, _ *libvirtxml.Domain) error { return r.takeSlot(true) },
	freeRoom: func(r *FreePorts, _ randomDevice) error { r.freeSlot(true); return nil },
}
