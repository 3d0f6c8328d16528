package network

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/beevik/etree"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// Host is an address that the network's own definition keeps for a machine, from before the network starts.
type Host struct {
	IP netip.Addr `attr:"ip"`
	// Name is the host name that the machine is told; "" means none.
	Name string `attr:"hostname"`
}

func (d *DHCP) listedHosts() map[string]Host {
	if d == nil {
		return nil
	}
	return d.Hosts
}

func (h Host) toReservation(mac string) hypervisor.DHCPHost {
	return hypervisor.DHCPHost{MAC: mac, IP: h.IP, Name: h.Name}
}

// hostChanges is what leads from the reservations that are there to the ones that the network lists.
type hostChanges struct{ remove, modify, add []hypervisor.DHCPHost }

// compareHosts returns what has to change so that the listed hosts are there. A reservation that others have made too stays when
// the network lists it no more. Another reservation of others at a listed address or name is an error.
func compareHosts(present []hypervisor.DHCPHost, marks hostMarks, was, want map[string]Host) (c hostChanges, err error) {
	leaves := map[string]bool{} // by its key: what gives its address and name up
	find := func(mac string) (hypervisor.DHCPHost, bool) {
		at := slices.IndexFunc(present, func(p hypervisor.DHCPHost) bool { return p.MAC == mac && p.IP.Is4() && !leaves[p.Key()] })
		if at < 0 {
			return hypervisor.DHCPHost{}, false
		}
		return present[at], true
	}
	for _, mac := range slices.Sorted(maps.Keys(was)) {
		p, there := find(mac)
		if _, stays := want[mac]; there && !stays && marks[p.Key()].onlyListed() {
			c.remove, leaves[p.Key()] = append(c.remove, p), true
		}
	}
	changed := map[string]hypervisor.DHCPHost{}
	for _, mac := range slices.Sorted(maps.Keys(want)) {
		h := want[mac].toReservation(mac)
		p, there := find(mac)
		_, listed := was[mac]
		switch {
		case !there:
			c.add = append(c.add, h)
		case p.IP == h.IP && p.Name == h.Name:
		case listed && marks[p.Key()].onlyListed():
			changed[mac], leaves[p.Key()] = p, true
			c.modify = append(c.modify, h)
		default:
			return c, fmt.Errorf("dhcp.hosts cannot keep %s: the network keeps %s already, which another resource or a person made; write that address, or remove that reservation first", h, p)
		}
	}
	for _, h := range slices.Concat(c.add, c.modify) {
		for _, p := range present {
			if p.Key() == h.Key() || p.IP != h.IP && !SameName(h, p) {
				continue
			}
			if !leaves[p.Key()] {
				return c, fmt.Errorf("dhcp.hosts cannot keep %s: the network keeps %s (%s) already; write another address and name, or remove that reservation first", h, p, p.Name)
			}
			// libvirt changes the first one that has the address: the old ones go first.
			for _, m := range c.modify {
				c.remove = append(c.remove, changed[m.MAC])
			}
			c.add, c.modify = append(c.add, c.modify...), nil
			return c, nil
		}
	}
	return c, nil
}

// renderHosts writes the listed reservations and whose each is.
func (n Definition) renderHosts(root *etree.Element, was Definition) error {
	marks, want := readHostMarks(root), n.DHCP.listedHosts()
	if len(want) == 0 && len(was.DHCP.listedHosts()) == 0 {
		return nil
	}
	present := listReservations(root)
	c, err := compareHosts(present, marks, was.DHCP.listedHosts(), want)
	if err != nil {
		return err
	}
	p := parser{root: root}
	for _, ip := range root.SelectElements("ip") {
		d := ip.SelectElement("dhcp")
		if d == nil {
			continue
		}
		removeChildren(d, func(e *etree.Element) bool {
			return e.FullTag() == "host" && slices.ContainsFunc(slices.Concat(c.remove, c.modify), func(h hypervisor.DHCPHost) bool { return h.Key() == parseReservation(e).Key() })
		})
	}
	if ip := p.findModelled(false, []netip.Prefix{n.Subnet}); ip != nil {
		for _, h := range slices.Concat(c.modify, c.add) {
			e := newElement("host", "mac", h.MAC, "name", h.Name, "ip", h.IP.String())
			p.followLeaseTime(e, nil, n.DHCP.leaseSeconds(), len(n.listRangesOfFamily(false)) > 0)
			ensureChild(ip, "dhcp").AddChild(e)
		}
		removeChildren(ip, func(e *etree.Element) bool { return e.FullTag() == "dhcp" && isEmptyElement(e) })
	}
	marks.noteListed(present, was.DHCP.listedHosts(), want)
	marks.dropStale(listReservations(root))
	writeHostMarks(root, marks)
	return p.err
}

// listHostEdits lists what turns the reservations of a definition into those that the network lists.
func listHostEdits(p *parser, marks hostMarks, was, want Definition) (deletes, others []hypervisor.NetworkEdit, err error) {
	c, err := compareHosts(listReservations(p.root), marks, was.DHCP.listedHosts(), want.DHCP.listedHosts())
	if err != nil {
		return nil, nil, err
	}
	var lease *etree.Element
	if s := want.DHCP.leaseSeconds(); s != nil && len(want.listRangesOfFamily(false)) == 0 {
		lease = newLeaseElement(*s)
	}
	four := p.findModelled(false, []netip.Prefix{want.Subnet})
	edit := func(command hypervisor.EditCommand, h hypervisor.DHCPHost) hypervisor.NetworkEdit {
		e := newElement("host", "mac", h.MAC, "name", h.Name, "ip", h.IP.String())
		parent := slices.Index(p.root.SelectElements("ip"), four)
		if command == hypervisor.EditDelete {
			parent = findReservationParent(p.root, h)
		} else if lease != nil {
			e.AddChild(lease.Copy())
		}
		return hypervisor.NetworkEdit{Section: hypervisor.SectionDHCPHost, Command: command, Parent: parent, XML: renderXML(e)}
	}
	for _, h := range c.remove {
		deletes = append(deletes, edit(hypervisor.EditDelete, h))
	}
	for _, h := range c.modify {
		others = append(others, edit(hypervisor.EditModify, h))
	}
	for _, h := range c.add {
		others = append(others, edit(hypervisor.EditAdd, h))
	}
	return deletes, others, nil
}

// listReservations lists the reservations of a definition, MAC addresses in lower case.
func listReservations(root *etree.Element) []hypervisor.DHCPHost {
	var all []hypervisor.DHCPHost
	for _, ip := range root.SelectElements("ip") {
		for _, e := range ip.FindElements("dhcp/host") {
			all = append(all, parseReservation(e))
		}
	}
	return all
}

// findReservationParent returns the place of the <ip> element that has a reservation; -1 where none has it.
func findReservationParent(root *etree.Element, h hypervisor.DHCPHost) int {
	return slices.IndexFunc(root.SelectElements("ip"), func(ip *etree.Element) bool {
		return slices.ContainsFunc(ip.FindElements("dhcp/host"), func(e *etree.Element) bool { return parseReservation(e).Key() == h.Key() })
	})
}
