package bridge

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// begin is the record of a bridge that is about to be made, or to take more interfaces: what each of them has now, unless an
// earlier record knows what it had before. The error names an interface that is not there, or is in another bridge.
func (b Bridge) begin(now hostnet.Machine, earlier Record) (Record, error) {
	r := Record{Want: b, Mark: earlier.Mark}
	r.Want.Active = nil
	for i, name := range b.Interfaces {
		here := []any{"interfaces", i}
		link, ok := now.Link(name)
		switch {
		case !ok:
			return r, service.At(here, fmt.Errorf("no interface %q: the machine has %q", name, now.Names()))
		case link.Master != "" && link.Master != b.Name:
			return r, service.At(here, fmt.Errorf("interface %q is in bridge %q already", name, link.Master))
		}
		port, known := earlier.port(name)
		if !known {
			port = Port{Name: name, MTU: link.MTU, Settings: now.Settings(name), Addressing: now.Addressing(name), MAC: link.Address}
		}
		r.Before = append(r.Before, port)
	}
	return r, b.checkDefaultRoute(now)
}

// checkDefaultRoute refuses a default route that would take the place of another device's.
func (b Bridge) checkDefaultRoute(now hostnet.Machine) error {
	for _, route := range now.Routes {
		gateway, err := netip.ParseAddr(route.Gateway)
		if err != nil || !b.Gateway.IsValid() || gateway.Is4() != b.Gateway.Is4() {
			continue
		}
		if route.Dst == "default" && route.Metric == b.Metric && route.Dev != b.Name && !slices.Contains(b.Interfaces, route.Dev) {
			return service.At([]any{"gateway"}, fmt.Errorf("the machine has a default route of the same metric via %s dev %s, which stays: give this one a metric, such as 100, or leave gateway out", gateway, route.Dev))
		}
	}
	return nil
}

// Make lists the commands that turn the machine as it is into one with the bridge, and those that undo it.
func (r Record) Make(now hostnet.Machine) (do, undo hostnet.Batch) {
	b := r.Want
	first, _ := now.Link(b.Interfaces[0])
	stp := bit(b.STP)
	// No forwarding delay without STP, or the machine would be deaf for 30 s.
	do.Add("link add name %s address %s type bridge stp_state %d forward_delay %d", b.Name, first.Address, stp, 200+1300*stp)
	do.Add("link set dev %s alias %q", b.Name, r.Mark)
	undo.Add("link del dev %s", b.Name)
	for _, name := range b.Interfaces {
		r.take(now, name, &do, &undo)
	}
	if b.MTU != 0 {
		do.Add("link set dev %s mtu %d", b.Name, b.MTU)
	}
	do.Add("link set dev %s up", b.Name)
	do.Give(b.Name, r.settings())
	return do, undo
}

// take puts an interface into the bridge.
func (r Record) take(now hostnet.Machine, name string, do, undo *hostnet.Batch) {
	link, _ := now.Link(name)
	undo.Add("link set dev %s nomaster", name)
	if mtu := r.Want.MTU; mtu != 0 && mtu != link.MTU {
		do.Add("link set dev %s mtu %d", name, mtu)
		undo.Add("link set dev %s mtu %d", name, link.MTU)
	}
	do.Take(name, now.Settings(name))
	do.Add("link set dev %s master %s up", name, r.Want.Name)
	undo.Give(name, now.Settings(name))
}

// release takes an interface out of the bridge and gives it what it had before.
func (p Port) release(do *hostnet.Batch) {
	do.Add("link set dev %s nomaster", p.Name)
	if p.MTU != 0 {
		do.Add("link set dev %s mtu %d", p.Name, p.MTU)
	}
	do.Give(p.Name, p.Settings)
}

// Unmake lists the commands that give the interfaces what they had before the bridge took them, and those that undo it. What
// others gave to the bridge meanwhile goes to the first interface that is left.
func (r Record) Unmake(now hostnet.Machine) (do, undo hostnet.Batch) {
	b, link := r.Want, mustLink(now, r.Want.Name)
	do.Add("link del dev %s", b.Name)
	undo.Add("link add name %s address %s type bridge stp_state %d forward_delay 200", b.Name, link.Address, link.LinkInfo.Data.STPState)
	undo.Add("link set dev %s alias %q", b.Name, link.Alias)
	undo.Add("link set dev %s mtu %d", b.Name, link.MTU)
	has := now.Settings(b.Name)
	others := hostnet.Without(has, r.settings())
	for _, p := range r.Before {
		l, there := now.Link(p.Name)
		if !there || l.Master != b.Name {
			continue
		}
		undo.Take(p.Name, p.Settings)
		undo.Add("link set dev %s mtu %d", p.Name, l.MTU)
		p.Settings = append(slices.Clone(p.Settings), hostnet.Without(others, p.Settings)...)
		others = nil
		p.release(&do)
	}
	for _, name := range append(now.Ports(b.Name), now.Guests(b.Name)...) {
		undo.Add("link set dev %s master %s", name, b.Name)
	}
	undo.Add("link set dev %s up", b.Name)
	undo.Give(b.Name, has)
	return do, undo
}

// Update lists the commands that turn the bridge from what was recorded into r, and those that undo it. What others added to the
// bridge, ports and addresses, stays.
func (r Record) Update(now hostnet.Machine, was Record) (do, undo hostnet.Batch) {
	b, link := r.Want, mustLink(now, r.Want.Name)
	if mark := r.Mark.String(); mark != link.Alias {
		do.Add("link set dev %s alias %q", b.Name, mark)
		undo.Add("link set dev %s alias %q", b.Name, link.Alias)
	}
	if stp := bit(b.STP); stp != link.LinkInfo.Data.STPState {
		do.Add("link set dev %s type bridge stp_state %d", b.Name, stp)
		undo.Add("link set dev %s type bridge stp_state %d", b.Name, link.LinkInfo.Data.STPState)
	}
	has := now.Settings(b.Name)
	gone := hostnet.Without(was.settings(), r.settings())
	remove := slices.DeleteFunc(slices.Clone(has), func(s hostnet.Setting) bool { return !slices.ContainsFunc(gone, s.Same) })
	add := hostnet.Without(r.settings(), has)
	undo.Take(b.Name, add)
	if len(remove) > 0 {
		// With the first address of a subnet the kernel drops the others, and with an address the routes that need it: what stays
		// is taken off too, and given again.
		do.Take(b.Name, has)
		add = append(hostnet.Without(has, remove), add...)
	}
	for _, p := range was.Before {
		if l, there := now.Link(p.Name); there && l.Master == b.Name && !slices.Contains(b.Interfaces, p.Name) {
			p.release(&do)
			undo.Take(p.Name, p.Settings)
			undo.Add("link set dev %s mtu %d", p.Name, l.MTU)
			undo.Add("link set dev %s master %s", p.Name, b.Name)
		}
	}
	for _, p := range r.Before {
		if l, _ := now.Link(p.Name); l.Master != b.Name {
			r.take(now, p.Name, &do, &undo)
		} else if mtu := r.mtu(was, p, l); mtu != l.MTU {
			do.Add("link set dev %s mtu %d", p.Name, mtu)
			undo.Add("link set dev %s mtu %d", p.Name, l.MTU)
		}
	}
	if mtu := r.mtu(was, r.Before[0], link); mtu != link.MTU {
		do.Add("link set dev %s mtu %d", b.Name, mtu)
		undo.Add("link set dev %s mtu %d", b.Name, link.MTU)
	}
	do.Give(b.Name, add)
	undo.Give(b.Name, has)
	return do, undo
}

// mtu is what a device of the bridge shall have: as configured, as the interface had before when that ended, or as it is.
func (r Record) mtu(was Record, p Port, now hostnet.Link) int {
	switch {
	case r.Want.MTU != 0:
		return r.Want.MTU
	case was.Want.MTU != 0:
		return p.MTU
	}
	return now.MTU
}

func mustLink(m hostnet.Machine, name string) hostnet.Link {
	link, _ := m.Link(name)
	return link
}

func bit(on bool) int {
	if on {
		return 1
	}
	return 0
}
