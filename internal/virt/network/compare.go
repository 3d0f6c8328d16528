package network

import (
	"net/netip"
	"reflect"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor/xmltree"
)

// NeedsRestart says whether libvirt can turn one network into another only by stopping and starting it:
// everything but DHCP ranges, lease times and DNS records.
func NeedsRestart(was, want Definition) bool {
	return !reflect.DeepEqual(was.fixed(), want.fixed())
}

// NeedsDefinition says whether the configuration has to be written anew although what runs is right: only there
// is it noted that a network without ranges gives out reservations, and for how long.
func NeedsDefinition(was, want Definition) bool {
	return NeedsRestart(was, want) || was.DHCP.note() != want.DHCP.note()
}

// Running is what of a running definition counts against a configuration. A note that libvirt cannot add to
// what runs is taken from the configuration.
func Running(live, config Definition) Definition {
	silent := func(d *DHCP) bool { return d == nil || len(d.Ranges) == 0 && len(d.Options) == 0 }
	switch {
	case silent(live.DHCP) && silent(config.DHCP):
		live.DHCP = config.DHCP
	case live.DHCP != nil && len(live.DHCP.Ranges) == 0 && len(config.DHCP.ranges()) == 0:
		d := *live.DHCP
		d.LeaseSeconds = config.DHCP.lease()
		live.DHCP = &d
	}
	return live
}

// WithoutLost is the routes of what runs without those that its machine has lost and that nobody wants: libvirt keeps
// them in the running definition, but no restart is needed to get rid of them.
func WithoutLost(routes, lost, wanted []StaticRoute) []StaticRoute {
	return slices.DeleteFunc(slices.Clone(routes), func(r StaticRoute) bool {
		return slices.Contains(lost, r) && !slices.Contains(wanted, r)
	})
}

// fixed is the network without what libvirt changes live.
func (n Definition) fixed() Definition {
	n = n.canonical()
	if d := n.DHCP; d != nil && len(d.Options) > 0 {
		n.DHCP = &DHCP{Options: d.Options}
	} else {
		n.DHCP = nil
	}
	// libvirt cannot address a record whose name another one has too, so such a list is written whole.
	if n.DNS.ambiguous() || n.DNS.Disabled {
		return n
	}
	n.DNS.Hosts = nil
	return n
}

// ambiguous says whether two addresses have one name.
func (d DNS) ambiguous() bool {
	seen := map[string]bool{}
	for _, names := range d.Hosts {
		for _, name := range names {
			if seen[name] {
				return true
			}
			seen[name] = true
		}
	}
	return false
}

// Edits lists what turns a running or configured definition into the wanted network, deletions first. It is
// for networks between which no restart is needed, so that the wanted subnets say which of several is meant. What the
// network was says which reservations have their lease time from it.
func Edits(definition string, was, want Definition) ([]hypervisor.NetworkEdit, error) {
	root, err := xmltree.Parse(definition)
	if err != nil {
		return nil, err
	}
	want = want.canonical()
	p := parser{root: root}
	deletes, adds := rangeEdits(&p, want)
	d, a := hostEdits(&p, want)
	return slices.Concat(deletes, d, adds, a, leaseEdits(&p, was, want)), p.err
}

// rangeEdits compares ranges with their lease times.
func rangeEdits(p *parser, want Definition) (deletes, adds []hypervisor.NetworkEdit) {
	known := []netip.Prefix{want.Subnet, want.Subnet6}
	four, six := p.modelled(false, known), p.modelled(true, known)
	for i, ip := range p.root.Children("ip") {
		if ip != four && ip != six {
			continue
		}
		var wanted []*xmltree.Element
		for _, r := range want.DHCP.ranges() {
			if r.Start.Is6() == (ip == six) {
				wanted = append(wanted, rangeElement(r, want.DHCP.LeaseSeconds))
			}
		}
		var present []*xmltree.Element
		if d := ip.Child("dhcp"); d != nil {
			present = d.Children("range")
		}
		same := func(a, b *xmltree.Element) bool { return p.rangeKey(a) == p.rangeKey(b) }
		for _, e := range without(present, wanted, same) {
			deletes = append(deletes, hypervisor.NetworkEdit{Section: hypervisor.SectionDHCPRange, Command: hypervisor.EditDelete, Parent: i, XML: e.String()})
		}
		for _, e := range without(wanted, present, same) {
			adds = append(adds, hypervisor.NetworkEdit{Section: hypervisor.SectionDHCPRange, Command: hypervisor.EditAdd, Parent: i, XML: e.String()})
		}
	}
	return deletes, adds
}

func rangeElement(r Range, lease *int64) *xmltree.Element {
	e := xmltree.New("range", "start", r.Start.String(), "end", r.End.String())
	if lease != nil {
		e.Append(leaseElement(*lease))
	}
	return e
}

type rangeKey struct {
	start, end netip.Addr
	lease      int64
}

func (p *parser) rangeKey(e *xmltree.Element) rangeKey {
	lease := int64(-1) // libvirt's default
	if l := p.leaseOf(e); l != nil {
		lease = *l
	}
	return rangeKey{p.address(e.Attr("start")), p.address(e.Attr("end")), lease}
}

// hostEdits compares DNS records.
func hostEdits(p *parser, want Definition) (deletes, adds []hypervisor.NetworkEdit) {
	var wanted []*xmltree.Element
	for address, names := range want.DNS.Hosts {
		wanted = append(wanted, dnsHost(address, names))
	}
	slices.SortFunc(wanted, func(a, b *xmltree.Element) int { return p.address(a.Attr("ip")).Compare(p.address(b.Attr("ip"))) })
	var present []*xmltree.Element
	if d := p.root.Child("dns"); d != nil {
		present = d.Children("host")
	}
	same := func(a, b *xmltree.Element) bool {
		return p.address(a.Attr("ip")) == p.address(b.Attr("ip")) && slices.Equal(hostnames(a), hostnames(b))
	}
	for _, e := range without(present, wanted, same) {
		deletes = append(deletes, hypervisor.NetworkEdit{Section: hypervisor.SectionDNSHost, Command: hypervisor.EditDelete, Parent: -1, XML: e.String()})
	}
	for _, e := range without(wanted, present, same) {
		adds = append(adds, hypervisor.NetworkEdit{Section: hypervisor.SectionDNSHost, Command: hypervisor.EditAdd, Parent: -1, XML: e.String()})
	}
	return deletes, adds
}

func hostnames(e *xmltree.Element) []string {
	var names []string
	for _, n := range e.Children("hostname") {
		names = append(names, n.Text())
	}
	slices.Sort(names)
	return names
}

// without lists those of one list that the other does not have.
func without(list, other []*xmltree.Element, same func(a, b *xmltree.Element) bool) []*xmltree.Element {
	return slices.DeleteFunc(slices.Clone(list), func(a *xmltree.Element) bool {
		return slices.ContainsFunc(other, func(b *xmltree.Element) bool { return same(a, b) })
	})
}
