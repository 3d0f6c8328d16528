package hostnet

import (
	"fmt"
	"slices"
)

// linkState is a device as the kernel has it, or shall have it.
type linkState struct {
	Device
	alias string
	up    bool
	has   []Setting
}

// linkStates are a machine's devices.
type linkStates []linkState

func (l linkStates) findLink(name string) int {
	return slices.IndexFunc(l, func(s linkState) bool { return s.Name == name })
}

// switchKernel is the change of what nothing keeps: what leads from the machine's devices as they are to what they are to be, and what leads
// back to what they are.
func (m Machine) switchKernel(from, to Desired) (do, undo string) {
	now := m.listStates(from, to)
	after := m.applyTo(now, from, to)
	do, undo = listCommands(now, after, false).formatScript(false), listCommands(after, now, true).formatScript(true)
	port := slices.IndexFunc(to.Devices, func(d Device) bool { return d.Master != "" && !d.isCreated() })
	if b, is := to.findBridge(); is && now.findLink(b.Name) < 0 && b.Inherited != nil && port >= 0 {
		// A manager may have heeded what the kernel did not.
		do += fmt.Sprintf("heed_routers %s %s %d\n", b.Name, to.Devices[port].Name, 2*toBit(to.Devices[port].Before.Addressing.AcceptRA))
	}
	for _, d := range to.Devices {
		if i := now.findLink(d.Name); d.Before.Addressing.AcceptRA && d.Master != "" && i >= 0 && now[i].Master != d.Master {
			do += "forget_routers " + d.Name + "\n"
			undo += "ask_routers " + d.Name + "\n"
		}
	}
	for _, d := range from.devicesWithout(to) {
		if d.Before.Addressing.AcceptRA && d.Master != "" && !m.isElsewhere(from, d.Name) {
			do += "ask_routers " + d.Name + "\n"
		}
	}
	return do, undo
}

// listStates are the machine's devices as they are. How a VLAN or a bond is made, those that are desired say.
func (m Machine) listStates(from, to Desired) linkStates {
	var all linkStates
	for _, l := range m.Links {
		s := linkState{Device: Device{Name: l.Name, Master: l.Master, MTU: l.MTU}, alias: l.Alias, up: slices.Contains(l.Flags, "UP"), has: m.Settings(l.Name)}
		for _, desired := range []Desired{from, to} {
			if d, is := desired.findDevice(l.Name); is {
				s.VLAN, s.Bond, s.InBond = d.VLAN, d.Bond, d.InBond && d.Master == l.Master
			}
		}
		if l.LinkInfo.Kind == "bridge" {
			s.Bridge = &BridgeOptions{MAC: l.Address, STP: l.LinkInfo.Data.STPState != 0, VLANFiltering: l.LinkInfo.Data.VLANFiltering != 0}
		}
		all = append(all, s)
	}
	return all
}

// applyTo are the machine's devices as they shall be. What others gave to those that stay, ports, addresses and routes, stays with them; of a
// bridge that goes it goes to the first interface that is left.
func (m Machine) applyTo(now linkStates, from, to Desired) linkStates {
	all, wanted := slices.Clone(now), slices.Clone(to.Devices)
	var others []Setting
	for _, d := range from.devicesWithout(to) {
		if d.Bridge != nil {
			others = Without(m.Own(d.Name), d.ownSettings())
		}
		switch {
		case d.isCreated() && !m.isElsewhere(from, d.Name):
			all = slices.DeleteFunc(all, func(s linkState) bool { return s.Name == d.Name })
			for i := range all {
				if all[i].Master == d.Name {
					all[i].Master, all[i].InBond = "", false
				}
			}
		case d.standsAlone() || m.isIn(d) || m.isLost(from) && m.HasNothing(d.Name):
			has := append(slices.Clone(d.Before.Settings), Without(others, d.Before.Settings)...)
			wanted = append(wanted, Device{Name: d.Name, Inherited: has, Before: d.Before})
			others = nil
		}
	}
	for _, d := range wanted {
		i := all.findLink(d.Name)
		if i < 0 {
			i = len(all)
			all = append(all, linkState{Device: d})
		}
		s := &all[i]
		if d.Bridge != nil {
			s.Bridge, s.alias = d.Bridge, to.Mark.String()
		}
		if d.Master == "" {
			s.has = exchangeSettings(s.has, from.settingsOf(d), d.ownSettings())
		} else if !m.isIn(d) {
			s.has = Without(s.has, m.Own(d.Name))
		}
		s.MTU, s.Master, s.InBond, s.up = chooseMTU(from, to, d, s.MTU), d.Master, d.InBond, true
		if d.VLAN != nil {
			if parent := all.findLink(d.VLAN.Parent); parent >= 0 {
				all[parent].up = true // or the VLAN could not be
			}
		}
	}
	return all
}

// settingsOf are what a device got of its owner, or had before where this provider takes it only now.
func (d Desired) settingsOf(device Device) []Setting {
	if was, is := d.findDevice(device.Name); is {
		return was.ownSettings()
	}
	return device.Before.Settings
}

// isIn says whether a device is in the one that it is desired in.
func (m Machine) isIn(d Device) bool {
	link, there := m.Link(d.Name)
	return there && link.Master == d.Master
}

// isLost says whether somebody deleted the bridge that was desired.
func (m Machine) isLost(from Desired) bool {
	b, is := from.findBridge()
	_, there := m.Link(b.Name)
	return is && !there
}

// HasNothing says whether an interface has nothing of its own, and is in nothing else. What one of a lost bridge had is its own then, otherwise
// what somebody gave it since counts.
func (m Machine) HasNothing(device string) bool {
	link, there := m.Link(device)
	return there && link.Master == "" && len(m.Own(device)) == 0
}

// exchangeSettings are what a device has when it is given what it shall have instead of what it was given before. What others gave it stays.
func exchangeSettings(has, was, want []Setting) []Setting {
	return append(Without(has, Without(was, want)), Without(want, has)...)
}

// listCommands lists the commands that lead from one state of devices to another. Where they undo a change they may begin anywhere between
// the two: then each is tried, and all is given that a changed device shall have.
func listCommands(from, to linkStates, undo bool) Batch {
	var c Batch
	for _, s := range from {
		if to.findLink(s.Name) < 0 {
			c.Add("link del dev %s", s.Name)
		}
	}
	each := func(step func(was, s linkState)) {
		for _, s := range to {
			if i := from.findLink(s.Name); i >= 0 {
				step(from[i], s)
			} else {
				step(linkState{}, s)
			}
		}
	}
	give := map[string][]Setting{}
	each(c.makeLink)
	each(func(was, s linkState) { give[s.Name] = c.takeSettings(was, s, undo) })
	each(func(was, s linkState) {
		if was.Name != "" && s.up && !was.up && s.Master == was.Master {
			c.Add("link set dev %s up", s.Name)
		}
	})
	each(c.enslaveLink)
	each(c.releaseLink)
	for _, bridges := range []bool{false, true} { // whose ports come first
		each(func(was, s linkState) {
			if (s.Bridge != nil) == bridges && (s.Master == "" || s.Master == was.Master) {
				c.setMTU(was, s)
			}
		})
	}
	each(func(was, s linkState) {
		if was.Name == "" && s.up && s.Master == "" {
			c.Add("link set dev %s up", s.Name)
		} else if was.up && !s.up {
			c.Add("link set dev %s down", s.Name)
		}
	})
	each(func(_, s linkState) { c.Give(s.Name, give[s.Name]) })
	return c
}

// makeLink makes a device that is not there, or has a bridge that is be as it shall be.
func (b *Batch) makeLink(was, s linkState) {
	there := was.Name != ""
	switch {
	case there && s.Bridge != nil && was.Bridge != nil:
		if s.isCreated() && s.Bridge.MAC != "" && s.Bridge.MAC != was.Bridge.MAC {
			b.Add("link set dev %s address %s", s.Name, s.Bridge.MAC)
		}
		if s.Bridge.STP != was.Bridge.STP {
			b.Add("link set dev %s type bridge %s", s.Name, s.Bridge.formatSTP())
		}
		if s.Bridge.VLANFiltering != was.Bridge.VLANFiltering {
			b.Add("link set dev %s type bridge vlan_filtering %d", s.Name, toBit(s.Bridge.VLANFiltering))
		}
	case there:
	case s.Bridge != nil:
		b.Add("link add name %s address %s type bridge %s", s.Name, s.Bridge.MAC, s.Bridge.formatOptions())
	case s.Bond != nil:
		b.Add("link add name %s address %s type bond mode %s miimon 100", s.Name, s.Bond.MAC, s.Bond.Mode)
	case s.VLAN != nil:
		b.Add("link add link %s name %s type vlan id %d", s.VLAN.Parent, s.Name, s.VLAN.ID)
	}
	if s.alias != was.alias {
		b.Add("link set dev %s alias %q", s.Name, s.alias)
	}
}

// takeSettings takes from a device what it shall not have any more, and returns what it is to be given then.
func (b *Batch) takeSettings(was, s linkState, undo bool) (give []Setting) {
	leaving, coming := Without(was.has, s.has), Without(s.has, was.has)
	switch {
	case undo && len(leaving)+len(coming) > 0:
		b.Take(s.Name, leaving)
		return s.has
	case len(leaving) > 0 && s.Master == was.Master:
		// With the first address of a subnet the kernel drops the others, and with an address the routes that need it: what stays
		// is taken off too, and given again.
		b.Take(s.Name, was.has)
		return s.has
	}
	b.Take(s.Name, leaving)
	return coming
}

func (b *Batch) setMTU(was, s linkState) {
	if s.MTU != 0 && s.MTU != was.MTU {
		b.Add("link set dev %s mtu %d", s.Name, s.MTU)
	}
}

// enslaveLink puts a device into the bridge or the bond that it shall be in. A bond takes nothing that is up, and kernels before 6.8 take a
// device up first where one command says both.
func (b *Batch) enslaveLink(was, s linkState) {
	if s.Master == "" || s.Master == was.Master {
		return
	}
	b.setMTU(was, s)
	if s.InBond {
		b.Add("link set dev %s down", s.Name)
	}
	b.Add("link set dev %s master %s", s.Name, s.Master)
	if s.up {
		b.Add("link set dev %s up", s.Name)
	}
}

// releaseLink takes a device out of what it was in. A bond leaves what it lets go of down.
func (b *Batch) releaseLink(was, s linkState) {
	if s.Master != "" || was.Master == "" {
		return
	}
	b.Add("link set dev %s nomaster", s.Name)
	if was.InBond && s.up {
		b.Add("link set dev %s up", s.Name)
	}
}

// formatSTP is whether a bridge takes part in the spanning tree protocol, as ip(8) has it. Without it there is no forwarding delay, or the
// machine would be deaf for 30 s.
func (o BridgeOptions) formatSTP() string {
	return fmt.Sprintf("stp_state %d forward_delay %d", toBit(o.STP), 200+1300*toBit(o.STP))
}

// formatOptions is what a bridge is made with, as ip(8) has it.
func (o BridgeOptions) formatOptions() string {
	if o.VLANFiltering {
		return o.formatSTP() + " vlan_filtering 1"
	}
	return o.formatSTP()
}
