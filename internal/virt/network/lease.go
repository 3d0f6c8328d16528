package network

import (
	"context"
	"net/netip"
	"slices"
	"strconv"

	"github.com/beevik/etree"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// libvirt writes a lease time on each range and on each reservation. dnsmasq gives a reservation the time of its subnet's
// ranges, and its own default where there is none. So the reservations of a subnet without ranges are given the network's
// lease time one by one; one that somebody gave another time by hand keeps it.

// ReadLeaseSeconds returns the lease time of a network by its configuration; nil where libvirt's default holds.
func ReadLeaseSeconds(definition string) *int64 {
	n, err := Parse(definition)
	if err != nil || n.DHCP == nil {
		return nil
	}
	return n.DHCP.LeaseSeconds
}

func (d *DHCP) leaseSeconds() *int64 {
	if d == nil {
		return nil
	}
	return d.LeaseSeconds
}

func newLeaseElement(seconds int64) *etree.Element {
	return newElement("lease", "expiry", strconv.FormatInt(seconds, 10), "unit", "seconds")
}

// readLease returns the lease time of a range or a reservation; nil where it has none.
func (p *parser) readLease(e *etree.Element) *int64 {
	l := e.SelectElement("lease")
	if l == nil {
		return nil
	}
	seconds := p.parseNumber(readAttribute(l, "expiry")) * secondsOfUnit(readAttribute(l, "unit"))
	return &seconds
}

func sameLease(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

// renderRange returns the element of a range, the present one where there is one. Its lease time follows the network's. It keeps
// another time that somebody gave it by hand, and where another range has such a time, it keeps having none.
func (p *parser) renderRange(r Range, present []*etree.Element, was, want *int64) *etree.Element {
	at := slices.IndexFunc(present, func(e *etree.Element) bool {
		return p.parseAddress(readAttribute(e, "start")) == r.Start && p.parseAddress(readAttribute(e, "end")) == r.End
	})
	if at < 0 {
		return newRangeElement(r, want)
	}
	e := present[at].Copy()
	if !sameLease(p.readLease(e), was) || sameLease(was, want) {
		return e
	}
	removeChildrenNamed(e, "lease")
	if want != nil {
		e.AddChild(newLeaseElement(*want))
	}
	return e
}

// followLeaseTime takes a reservation along when its network's lease time changes, and says whether that changed it.
func (p *parser) followLeaseTime(host *etree.Element, was, want *int64, ranges bool) bool {
	has := p.readLease(host)
	if has != nil && !sameLease(has, was) {
		return false // its own
	}
	if ranges {
		want = nil
	}
	if sameLease(has, want) {
		return false
	}
	removeChildrenNamed(host, "lease")
	if want != nil {
		host.AddChild(newLeaseElement(*want))
	}
	return true
}

// listLeaseEdits changes the reservations that follow the network's lease time. libvirt takes the first one with the address,
// the MAC address or the name for the one to change, so of several with one name none is changed.
func listLeaseEdits(p *parser, was, want Definition) (edits []hypervisor.NetworkEdit) {
	known := []netip.Prefix{want.Subnet, want.Subnet6}
	four, six := p.findModelled(false, known), p.findModelled(true, known)
	for i, ip := range p.root.SelectElements("ip") {
		d := ip.SelectElement("dhcp")
		if ip != four && ip != six || d == nil {
			continue
		}
		ranges := slices.ContainsFunc(want.DHCP.listRanges(), func(r Range) bool { return r.Start.Is6() == (ip == six) })
		hosts := d.SelectElements("host")
		for _, h := range hosts {
			twin := func(o *etree.Element) bool {
				return o != h && readAttribute(o, "name") != "" && readAttribute(o, "name") == readAttribute(h, "name")
			}
			if !slices.ContainsFunc(hosts, twin) && p.followLeaseTime(h, was.DHCP.leaseSeconds(), want.DHCP.leaseSeconds(), ranges) {
				edits = append(edits, hypervisor.NetworkEdit{Section: hypervisor.SectionDHCPHost, Command: hypervisor.EditModify, Parent: i, XML: renderXML(h)})
			}
		}
	}
	return edits
}

// HandedOut is a run of addresses that a network on a hypervisor gives out by DHCP.
type HandedOut struct {
	Network string
	Range   Range
	// For is the machine that a single address is kept for; "" where the run is for anybody.
	For string
}

// ListHandedOut returns what the networks on a hypervisor give out, ranges and reservations, as one plan sees them.
func ListHandedOut(ctx context.Context, c *hypervisor.Client) ([]HandedOut, error) {
	networks, err := c.PlanNetworks(ctx)
	if err != nil {
		return nil, err
	}
	var all []HandedOut
	for _, n := range networks {
		parsed, err := Parse(n.ConfigXML)
		if err != nil || parsed.DHCP == nil {
			continue
		}
		for _, run := range parsed.DHCP.Ranges {
			all = append(all, HandedOut{Network: n.Name, Range: run})
		}
		for _, h := range hypervisor.DHCPHosts(n.Current()) {
			all = append(all, HandedOut{Network: n.Name, Range: Range{Start: h.IP, End: h.IP}, For: h.String()})
		}
	}
	return all, nil
}
