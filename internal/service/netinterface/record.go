package netinterface

import (
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// Record is what the machine keeps of an interface that this provider configured. Before is the interface alone.
type Record hostnet.Record[Interface]

// deviceBefore is what the interface had when this provider took it.
func (r Record) deviceBefore() (b hostnet.DeviceSnapshot) {
	if len(r.Before) > 0 {
		b = r.Before[0]
	}
	return b
}

// toDesired is what is desired of the machine's devices for the interface.
func (r Record) toDesired() hostnet.Desired {
	return hostnet.Desired{Backend: r.Want.ActiveBackend, Mark: r.Mark, Devices: []hostnet.Device{{Name: r.Want.Name, MTU: r.Want.MTU, Addressing: r.Want.Addressing, Before: r.deviceBefore()}}}
}

// readInterface is the interface as the machine has it: of what was configured, what is there.
func (r Record) readInterface(m hostnet.Machine) Interface {
	i := r.Want
	link, _ := m.Link(i.Name)
	i.Active, i.MAC = m.Prefixes(i.Name), link.Address
	if i.MTU != 0 {
		i.MTU = link.MTU
	}
	has := m.Settings(i.Name)
	for _, p := range i.Active {
		has = append(has, hostnet.AddressSetting(p)) // of which a router may advertise one
	}
	lost := func(s hostnet.Setting) bool { return !slices.ContainsFunc(has, s.Meant) }
	i.Addresses = slices.DeleteFunc(slices.Clone(i.Addresses), func(p netip.Prefix) bool { return lost(hostnet.AddressSetting(p)) })
	i.Gateways = slices.DeleteFunc(slices.Clone(i.Gateways), func(g netip.Addr) bool { return lost(hostnet.RouteSetting(hostnet.Everywhere(g), g, i.Metric)) })
	i.Routes = slices.DeleteFunc(slices.Clone(i.Routes), func(s hostnet.StaticRoute) bool { return lost(hostnet.RouteSetting(s.To, s.Via, s.Metric)) })
	if i.DHCP && len(m.Addressing(i.Name).Addresses) == 0 && !m.Addressing(i.Name).DHCP {
		i.DHCP = false // no lease, and nothing that asks for one
	}
	return i
}
