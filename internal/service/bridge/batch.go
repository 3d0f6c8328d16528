package bridge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// beginRecord is the record of a bridge that is about to be made, or to take more interfaces: what each of them has now, unless an
// earlier record knows what it had before. The error names an interface that is not there, or is in another bridge.
func (b Bridge) beginRecord(now hostnet.Machine, earlier Record) (Record, error) {
	r := Record{Want: b, Mark: earlier.Mark, MAC: earlier.MAC, Adopted: earlier.Adopted}
	r.Want.Active = nil
	_, running := now.Link(b.Name)
	here := []any{"interfaces"}
	missing := func(name string) error {
		return service.At(here, fmt.Errorf("no interface %q: the machine has %q", name, now.Names()))
	}
	for _, name := range b.physicalInterfaces() {
		link, ok := now.Link(name)
		port, known := earlier.findPort(name)
		switch {
		case !ok:
			return r, missing(name)
		case link.Master != "" && link.Master != b.Name && !known:
			return r, service.At(here, fmt.Errorf("interface %q is in bridge %q already", name, link.Master))
		case known && b.otherMaster(now, name) != "" && earlier.Want.otherMaster(now, name) != "":
			return r, refuseMoved(name, link.Master)
		case link.LinkInfo.Kind == "bridge":
			return r, service.At(here, fmt.Errorf("%q is a bridge itself, and no bridge can be in another", name))
		}
		// What somebody gave to the interface of a bridge that is gone, and that nothing keeps, is what it has now.
		if !known || !running && earlier.Want.ActiveBackend == hostnet.Runtime && link.Master == "" && !returnsTo(now, name) {
			port = now.SnapshotDevice(name)
		}
		r.Before = append(r.Before, port)
	}
	for _, v := range b.VLANs {
		if _, there := now.Link(v.Parent); !there {
			return r, missing(v.Parent)
		}
	}
	for _, name := range b.ownDevices() {
		_, there := now.Link(name)
		known := slices.Contains(earlier.Want.ownDevices(), name)
		if master := b.otherMaster(now, name); known && master != "" {
			return r, refuseMoved(name, master)
		}
		if there && !known {
			return r, service.At(here, fmt.Errorf("there is a device %q already, which this bridge did not make: write just its name to have it in the bridge as it is", name))
		}
	}
	if r.MAC == "" {
		r.MAC = b.firstMAC(now)
	}
	return r, now.CheckDefaultRoute(b.Addressing, append(b.physicalInterfaces(), b.Name))
}

// refuseMoved refuses to take a device back that somebody put into another bridge.
func refuseMoved(name, master string) error {
	return service.At([]any{"interfaces"}, fmt.Errorf("%q is in bridge %q now, where somebody put it: take it out of there (ip link set dev %[1]s nomaster), or leave it out here", name, master))
}

// firstMAC is the address that the bridge takes over.
func (b Bridge) firstMAC(now hostnet.Machine) string {
	names := b.physicalInterfaces()
	for _, v := range b.VLANs {
		names = append(names, v.Parent)
	}
	if len(names) == 0 {
		return ""
	}
	return linkOf(now, names[0]).Address
}

// Make lists the commands that turn the machine as it is into one with the bridge, and those that undo it.
func (r Record) Make(now hostnet.Machine) (do, undo hostnet.Batch) {
	b := r.Want
	stp := toBit(b.STP)
	// No forwarding delay without STP, or the machine would be deaf for 30 s.
	do.Add("link add name %s address %s type bridge stp_state %d forward_delay %d%s", b.Name, r.MAC, stp, 200+1300*stp, vlanFiltering(b.VLANFiltering))
	do.Add("link set dev %s alias %q", b.Name, r.Mark)
	undo.Add("link del dev %s", b.Name)
	r.makeMembers(now, &do, &undo)
	for _, name := range b.physicalInterfaces() {
		if master, bonded := b.masterOf(name); !bonded || linkOf(now, name).Master != master { // a bond outlives its bridge
			r.takeInterface(now, name, &do, &undo)
		}
	}
	if b.MTU != 0 {
		do.Add("link set dev %s mtu %d", b.Name, b.MTU)
	}
	do.Add("link set dev %s up", b.Name)
	do.Give(b.Name, r.ownSettings())
	return do, undo
}

// makeMembers makes the bonds and the VLANs that are in the bridge.
func (r Record) makeMembers(now hostnet.Machine, do, undo *hostnet.Batch) {
	b := r.Want
	there := func(name string) bool { _, is := now.Link(name); return is }
	for _, bond := range b.Bonds {
		if there(bond.Name) {
			continue // of a bridge that somebody deleted
		}
		do.Add("link add name %s address %s type bond mode %s miimon 100", bond.Name, linkOf(now, bond.Interfaces[0]).Address, bond.Mode)
	}
	for _, v := range b.VLANs {
		if !slices.Contains(linkOf(now, v.Parent).Flags, "UP") {
			do.Add("link set dev %s up", v.Parent)
			undo.Add("link set dev %s down", v.Parent)
		}
		if !there(VLANDevice(v)) {
			do.Add("link add link %s name %s type vlan id %d", v.Parent, VLANDevice(v), v.ID)
		}
	}
	for _, name := range b.ownDevices() {
		if there(name) {
			undo.Add("link set dev %s nomaster", name)
		} else {
			undo.Add("link del dev %s", name)
		}
		if b.MTU != 0 {
			do.Add("link set dev %s mtu %d", name, b.MTU)
		}
		do.Add("link set dev %s master %s up", name, b.Name)
	}
}

func vlanFiltering(on bool) string {
	if on {
		return " vlan_filtering 1"
	}
	return ""
}

// takeInterface puts an interface into the bridge, or into a bond that is in it.
func (r Record) takeInterface(now hostnet.Machine, name string, do, undo *hostnet.Batch) {
	link, _ := now.Link(name)
	master, bonded := r.Want.masterOf(name)
	undo.Add("link set dev %s nomaster", name)
	if mtu := r.Want.MTU; mtu != 0 && mtu != link.MTU {
		do.Add("link set dev %s mtu %d", name, mtu)
		undo.Add("link set dev %s mtu %d", name, link.MTU)
	}
	do.Take(name, now.Own(name))
	if bonded {
		do.Add("link set dev %s down", name)
		undo.Add("link set dev %s up", name)
	}
	enslaveDevice(do, name, master, bonded)
	undo.Give(name, now.Own(name))
}

// heedRouters are the scripts that have a bridge which nothing keeps heed router advertisements, and the interfaces not any more that it
// takes beside those of was, and that undo it.
func (r Record) heedRouters(was Record) (do, undo string) {
	for i, p := range r.Before {
		if i == 0 && len(was.Before) == 0 && r.Want.Inherit {
			do = hostnet.HeedRouters(r.Want.Name, p.Name, p.Addressing.AcceptRA)
		}
		if _, known := was.findPort(p.Name); !known && p.Addressing.AcceptRA {
			do += hostnet.ForgetRouters(p.Name)
			undo += hostnet.AskRouters(p.Name)
		}
	}
	return do, undo
}

// askRouters is the script that has interfaces which are not in the bridge any more, nor in another one, ask for router advertisements,
// as they heeded them before; to is the bridge as it is then.
func (r Record) askRouters(now hostnet.Machine, to Record) string {
	var b strings.Builder
	for _, p := range r.Before {
		if _, stays := to.findPort(p.Name); !stays && p.Addressing.AcceptRA && r.Want.otherMaster(now, p.Name) == "" {
			b.WriteString(hostnet.AskRouters(p.Name))
		}
	}
	return b.String()
}

// enslaveDevice puts a device into a bridge or a bond, and takes it up. A bond takes nothing that is up, and kernels before 6.8 do the
// second first where one command says both.
func enslaveDevice(b *hostnet.Batch, name, master string, bonded bool) {
	if bonded {
		b.Add("link set dev %s master %s", name, master)
		b.Add("link set dev %s up", name)
		return
	}
	b.Add("link set dev %s master %s up", name, master)
}

// releaseInterface takes an interface out of the bridge, or out of a bond that is in it, and gives it what it had before. A bond leaves what
// it lets go of down.
func releaseInterface(p hostnet.DeviceSnapshot, bonded bool, do *hostnet.Batch) {
	do.Add("link set dev %s nomaster", p.Name)
	if bonded {
		do.Add("link set dev %s up", p.Name)
	}
	if p.MTU != 0 {
		do.Add("link set dev %s mtu %d", p.Name, p.MTU)
	}
	do.Give(p.Name, p.Settings)
}

// Unmake lists the commands that give the interfaces what they had before the bridge took them, and those that undo it. What
// others gave to the bridge meanwhile goes to the first interface that is left.
func (r Record) Unmake(now hostnet.Machine) (do, undo hostnet.Batch) {
	b, link := r.Want, linkOf(now, r.Want.Name)
	do.Add("link del dev %s", b.Name)
	undo.Add("link add name %s address %s type bridge stp_state %d forward_delay 200", b.Name, link.Address, link.LinkInfo.Data.STPState)
	undo.Add("link set dev %s alias %q", b.Name, link.Alias)
	undo.Add("link set dev %s mtu %d", b.Name, link.MTU)
	for _, name := range b.ownDevices() {
		if _, there := now.Link(name); there {
			do.Add("link del dev %s", name)
		}
	}
	gone := now
	gone.Links = slices.DeleteFunc(slices.Clone(now.Links), func(l hostnet.Link) bool { return slices.Contains(b.ownDevices(), l.Name) })
	r.makeMembers(gone, &undo, &hostnet.Batch{})
	has := now.Settings(b.Name)
	others := hostnet.Without(now.Own(b.Name), r.ownSettings())
	for _, p := range r.Before {
		l, there := now.Link(p.Name)
		master, bonded := b.masterOf(p.Name)
		if !there || l.Master != master {
			continue
		}
		if bonded {
			undo.Add("link set dev %s down", p.Name)
			enslaveDevice(&undo, p.Name, master, bonded)
		}
		undo.Take(p.Name, p.Settings)
		undo.Add("link set dev %s mtu %d", p.Name, l.MTU)
		p.Settings = append(slices.Clone(p.Settings), hostnet.Without(others, p.Settings)...)
		others = nil
		releaseInterface(p, bonded, &do)
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
	b, link := r.Want, linkOf(now, r.Want.Name)
	if mark := r.Mark.String(); mark != link.Alias {
		do.Add("link set dev %s alias %q", b.Name, mark)
		undo.Add("link set dev %s alias %q", b.Name, link.Alias)
	}
	if stp := toBit(b.STP); stp != link.LinkInfo.Data.STPState {
		do.Add("link set dev %s type bridge stp_state %d", b.Name, stp)
		undo.Add("link set dev %s type bridge stp_state %d", b.Name, link.LinkInfo.Data.STPState)
	}
	if filtering := toBit(b.VLANFiltering); filtering != link.LinkInfo.Data.VLANFiltering {
		do.Add("link set dev %s type bridge vlan_filtering %d", b.Name, filtering)
		undo.Add("link set dev %s type bridge vlan_filtering %d", b.Name, link.LinkInfo.Data.VLANFiltering)
	}
	has := now.Settings(b.Name)
	add := now.Exchange(b.Name, was.ownSettings(), r.ownSettings(), &do, &undo)
	for _, p := range was.Before {
		if l, there := now.Link(p.Name); there && l.Master == b.Name && !slices.Contains(b.physicalInterfaces(), p.Name) {
			releaseInterface(p, false, &do)
			undo.Take(p.Name, p.Settings)
			undo.Add("link set dev %s mtu %d", p.Name, l.MTU)
			undo.Add("link set dev %s master %s", p.Name, b.Name)
		}
	}
	for _, p := range r.Before {
		if l, _ := now.Link(p.Name); l.Master == "" {
			r.takeInterface(now, p.Name, &do, &undo)
		} else if mtu := r.chooseMTU(was, p, l); mtu != l.MTU {
			do.Add("link set dev %s mtu %d", p.Name, mtu)
			undo.Add("link set dev %s mtu %d", p.Name, l.MTU)
		}
	}
	first := hostnet.DeviceSnapshot{MTU: link.MTU}
	if len(r.Before) > 0 {
		first = r.Before[0]
	}
	if mtu := r.chooseMTU(was, first, link); mtu != link.MTU {
		do.Add("link set dev %s mtu %d", b.Name, mtu)
		undo.Add("link set dev %s mtu %d", b.Name, link.MTU)
	}
	do.Give(b.Name, add)
	undo.Give(b.Name, has)
	return do, undo
}

// chooseMTU is what a device of the bridge shall have: as configured, as the interface had before when that ended, or as it is.
func (r Record) chooseMTU(was Record, p hostnet.DeviceSnapshot, now hostnet.Link) int {
	switch {
	case r.Want.MTU != 0:
		return r.Want.MTU
	case was.Want.MTU != 0:
		return p.MTU
	}
	return now.MTU
}

func linkOf(m hostnet.Machine, name string) hostnet.Link {
	link, _ := m.Link(name)
	return link
}

func toBit(on bool) int {
	if on {
		return 1
	}
	return 0
}
