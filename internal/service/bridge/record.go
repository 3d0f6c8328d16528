package bridge

import (
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// Record is what the machine keeps of a bridge that this provider made. Before are the interfaces that the bridge took.
type Record hostnet.Record[Bridge]

// findPort finds an interface among those that the bridge took.
func (r Record) findPort(name string) (hostnet.DeviceSnapshot, bool) {
	i := slices.IndexFunc(r.Before, func(p hostnet.DeviceSnapshot) bool { return p.Name == name })
	if i < 0 {
		return hostnet.DeviceSnapshot{}, false
	}
	return r.Before[i], true
}

// inheritedDevices are the devices whose addresses the bridge has where it inherits: what it takes, and itself as an import found it.
func (r Record) inheritedDevices() []hostnet.DeviceSnapshot {
	all := slices.DeleteFunc(slices.Clone(r.Before), func(p hostnet.DeviceSnapshot) bool { return !slices.Contains(r.Want.physicalInterfaces(), p.Name) })
	if r.Adopted != nil {
		all = append(all, *r.Adopted)
	}
	return all
}

// ownSettings are what the bridge got of its owner: what the interfaces had, or what the configuration lists. What comes by DHCP is
// not among them where the bridge asks for it itself.
func (r Record) ownSettings() []hostnet.Setting {
	if r.Want.ActiveBackend != hostnet.Runtime || !r.Want.Inherit {
		return r.ownAddressing().Settings()
	}
	var all []hostnet.Setting
	for _, p := range r.inheritedDevices() {
		all = append(all, p.Settings...)
	}
	return all
}

// ownAddressing is the bridge's as configuration.
func (r Record) ownAddressing() hostnet.Addressing {
	w, a := r.Want, r.Want.Addressing
	if !w.Inherit {
		return a
	}
	for _, p := range r.inheritedDevices() {
		a.DHCP, a.AcceptRA = a.DHCP || p.Addressing.DHCP, a.AcceptRA || p.Addressing.AcceptRA
		a.Addresses = append(a.Addresses, p.Addressing.Addresses...)
		a.Routes = append(a.Routes, p.Addressing.Routes...)
		if w.Nameservers == nil {
			a.Nameservers = append(a.Nameservers, p.Addressing.Nameservers...)
		}
		if w.Search == nil {
			a.Search = append(a.Search, p.Addressing.Search...)
		}
		if len(a.Gateways) == 0 {
			a.Gateways, a.Metric = p.Addressing.Gateways, p.Addressing.Metric
		}
	}
	return a
}

// listDevices are the bridge and what is in it as they shall be.
func (r Record) listDevices() []hostnet.Device {
	w := r.Want
	bridge := hostnet.Device{Name: w.Name, Bridge: &hostnet.BridgeOptions{MAC: r.MAC, STP: w.STP, VLANFiltering: w.VLANFiltering}, MTU: w.MTU, Addressing: r.ownAddressing()}
	if w.ActiveBackend == hostnet.Runtime && w.Inherit {
		bridge.Inherited = r.ownSettings()
	}
	if len(r.Before) > 0 {
		bridge.Before.MTU = r.Before[0].MTU
	}
	if r.Adopted != nil {
		bridge.Before = *r.Adopted
		if w.ActiveBackend == hostnet.Netplan {
			return []hostnet.Device{bridge} // netplan describes a bridge with what is in it, and that are a person's words
		}
	}
	all := []hostnet.Device{bridge}
	for _, bond := range w.Bonds {
		first, _ := r.findPort(bond.Interfaces[0])
		all = append(all, hostnet.Device{Name: bond.Name, Bond: &hostnet.BondOptions{Mode: bond.Mode, MAC: first.MAC}, Master: w.Name, MTU: w.MTU})
	}
	for _, v := range w.VLANs {
		all = append(all, hostnet.Device{Name: VLANDevice(v), VLAN: &v, Master: w.Name, MTU: w.MTU})
	}
	for _, p := range r.Before {
		master, bonded := w.masterOf(p.Name)
		all = append(all, hostnet.Device{Name: p.Name, Master: master, InBond: bonded, MTU: w.MTU, Before: p})
	}
	return all
}

// toDesired is what is desired of the machine's devices for the bridge.
func (r Record) toDesired() hostnet.Desired {
	return hostnet.Desired{Backend: r.Want.ActiveBackend, Mark: r.Mark, Devices: r.listDevices()}
}

// readBridge is the bridge as the machine has it, with what only its record tells; known is false for one that somebody else made.
func readBridge(m hostnet.Machine, name string, r Record, known bool) (b Bridge, ok bool) {
	link, ok := m.Link(name)
	if !ok && known {
		// What somebody deleted is drift, not absence: the record says what its interfaces had, which is to come back.
		b = r.Want
		b.Name, b.Interfaces, b.VLANs, b.Bonds, b.Active = name, nil, nil, nil, nil
		return b, true
	}
	if !ok || link.LinkInfo.Kind != "bridge" {
		return b, false
	}
	stp, ports, active := link.LinkInfo.Data.STPState != 0, m.Ports(name), m.Prefixes(name)
	if !known {
		return Bridge{Name: name, Interfaces: ports, STP: stp, VLANFiltering: link.LinkInfo.Data.VLANFiltering != 0, Inherit: true, Backend: hostnet.Auto, ActiveBackend: hostnet.Runtime, RollbackTimeout: DefaultRollback, Active: active}, true
	}
	b = r.Want
	b.Name, b.STP, b.Active = name, stp, active
	b.VLANFiltering = link.LinkInfo.Data.VLANFiltering != 0
	b.Interfaces = slices.DeleteFunc(slices.Clone(b.Interfaces), func(port string) bool { return !slices.Contains(ports, port) })
	b.VLANs = slices.DeleteFunc(slices.Clone(b.VLANs), func(v hostnet.VLANOptions) bool { return !slices.Contains(ports, VLANDevice(v)) })
	b.Bonds = slices.DeleteFunc(slices.Clone(b.Bonds), func(bond Bond) bool { return !slices.Contains(ports, bond.Name) })
	for i, bond := range b.Bonds {
		b.Bonds[i].Interfaces = slices.DeleteFunc(slices.Clone(bond.Interfaces), func(port string) bool { return linkOf(m, port).Master != bond.Name })
	}
	if b.MTU != 0 {
		b.MTU = link.MTU
	}
	var lostAddress, lostRoute bool
	for _, want := range r.ownSettings() {
		if !slices.ContainsFunc(m.Settings(name), want.Meant) {
			lostAddress, lostRoute = lostAddress || want.IsAddress(), lostRoute || !want.IsAddress()
		}
	}
	switch {
	case b.Inherit && lostAddress:
		// What was inherited is not all there any more: then the list of what is shows it.
		b.Inherit, b.Addresses = false, active
	case !b.Inherit && !b.DHCP:
		b.Addresses = slices.DeleteFunc(slices.Clone(b.Addresses), func(a netip.Prefix) bool { return !slices.Contains(active, a) })
		if lostRoute {
			b.Gateways, b.Metric = nil, 0
		}
	}
	return b, true
}
