package network

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/beevik/etree"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// libvirt writes a lease time on each range and on each reservation. dnsmasq gives a reservation the time of its subnet's
// ranges, and its own default where there is none. So the reservations of a subnet without ranges are given the network's
// lease time one by one; one that somebody gave another time by hand keeps it.

// LeaseSeconds is the lease time of a network by its configuration; nil where libvirt's default holds.
func LeaseSeconds(definition string) *int64 {
	n, err := Parse(definition)
	if err != nil || n.DHCP == nil {
		return nil
	}
	return n.DHCP.LeaseSeconds
}

func (d *DHCP) lease() *int64 {
	if d == nil {
		return nil
	}
	return d.LeaseSeconds
}

func leaseElement(seconds int64) *etree.Element {
	return newElement("lease", "expiry", strconv.FormatInt(seconds, 10), "unit", "seconds")
}

// leaseOf is the lease time of a range or a reservation; nil where it has none.
func (p *parser) leaseOf(e *etree.Element) *int64 {
	l := e.SelectElement("lease")
	if l == nil {
		return nil
	}
	seconds := p.number(attr(l, "expiry")) * unit(attr(l, "unit"))
	return &seconds
}

func sameLease(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

// rangeOf is the element of a range: the present one, where it is there. It follows the network's lease time, unless it has
// one of its own, or none where another range has one: somebody gave it that by hand.
func (p *parser) rangeOf(r Range, present []*etree.Element, was, want *int64) *etree.Element {
	at := slices.IndexFunc(present, func(e *etree.Element) bool {
		return p.address(attr(e, "start")) == r.Start && p.address(attr(e, "end")) == r.End
	})
	if at < 0 {
		return rangeElement(r, want)
	}
	e := present[at].Copy()
	if !sameLease(p.leaseOf(e), was) || sameLease(was, want) {
		return e
	}
	removeNamed(e, "lease")
	if want != nil {
		e.AddChild(leaseElement(*want))
	}
	return e
}

// follow takes a reservation along when its network's lease time changes, and says whether that changed it.
func (p *parser) follow(host *etree.Element, was, want *int64, ranges bool) bool {
	has := p.leaseOf(host)
	if has != nil && !sameLease(has, was) {
		return false // its own
	}
	if ranges {
		want = nil
	}
	if sameLease(has, want) {
		return false
	}
	removeNamed(host, "lease")
	if want != nil {
		host.AddChild(leaseElement(*want))
	}
	return true
}

// leaseEdits changes the reservations that follow the network's lease time. libvirt takes the first one with the address,
// the MAC address or the name for the one to change, so of several with one name none is changed.
func leaseEdits(p *parser, was, want Definition) (edits []hypervisor.NetworkEdit) {
	known := []netip.Prefix{want.Subnet, want.Subnet6}
	four, six := p.modelled(false, known), p.modelled(true, known)
	for i, ip := range p.root.SelectElements("ip") {
		d := ip.SelectElement("dhcp")
		if ip != four && ip != six || d == nil {
			continue
		}
		ranges := slices.ContainsFunc(want.DHCP.ranges(), func(r Range) bool { return r.Start.Is6() == (ip == six) })
		hosts := d.SelectElements("host")
		for _, h := range hosts {
			twin := func(o *etree.Element) bool {
				return o != h && attr(o, "name") != "" && attr(o, "name") == attr(h, "name")
			}
			if !slices.ContainsFunc(hosts, twin) && p.follow(h, was.DHCP.lease(), want.DHCP.lease(), ranges) {
				edits = append(edits, hypervisor.NetworkEdit{Section: hypervisor.SectionDHCPHost, Command: hypervisor.EditModify, Parent: i, XML: render(h)})
			}
		}
	}
	return edits
}
