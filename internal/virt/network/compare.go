package network

import (
	"maps"
	"net/netip"
	"reflect"
	"slices"

	"github.com/beevik/etree"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// Change is what lies between two networks, by the attributes that differ.
type Change struct {
	// Live is what changes while the network runs.
	Live []string
	// Restart is what libvirt cannot change of a running network: it stops and starts again.
	Restart []string
}

// Restarts says whether a network has to be stopped and started for the change.
func (c Change) Restarts() bool { return len(c.Restart) > 0 }

// Compare says what a change of a network comes to, and what of it restarts a network that runs and shall run on.
func Compare(was, want Spec) Change {
	var c Change
	runs := was.Active && want.Active
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Definition]()) {
		name, one := field.Tag.Get("attr"), was.Definition
		reflect.ValueOf(&one).Elem().FieldByIndex(field.Index).Set(reflect.ValueOf(want.Definition).FieldByIndex(field.Index))
		switch {
		case runs && NeedsRestart(was.Definition, one):
			if name == "dhcp" {
				name = "dhcp.options" // all else of it changes live
			}
			c.Restart = append(c.Restart, name)
		case !Equal(was.Definition, one):
			c.Live = append(c.Live, name)
		}
	}
	slices.Sort(c.Restart)
	if was.Autostart != want.Autostart {
		c.Live = append(c.Live, "autostart")
	}
	if was.Active != want.Active {
		c.Live = append(c.Live, "active")
	}
	return c
}

// NeedsRestart says whether libvirt can turn one network into another only by stopping and starting it:
// everything but DHCP ranges, lease times and DNS records, and those too where an address has several.
func NeedsRestart(was, want Definition) bool {
	to := want.canonicalForm().DNS.Hosts
	for address, names := range was.canonicalForm().DNS.Hosts {
		if slices.Contains(was.DNS.Repeated, address) && !slices.Equal(names, to[address]) {
			return true
		}
	}
	return !reflect.DeepEqual(was.dropLiveParts(), want.dropLiveParts())
}

// NeedsDefinition says whether the configuration has to be written anew although what runs is right: only there
// is it noted that a network without ranges gives out reservations, and for how long, and which reservations it lists.
func NeedsDefinition(was, want Definition) bool {
	return NeedsRestart(was, want) || was.DHCP.buildNote() != want.DHCP.buildNote() || !maps.Equal(was.DHCP.listedHosts(), want.DHCP.listedHosts())
}

// AlignRunning returns what of a running definition counts against a configuration. A note that libvirt cannot add to
// what runs is taken from the configuration.
func AlignRunning(live, config Definition) Definition {
	silent := func(d *DHCP) bool { return d == nil || len(d.Ranges) == 0 && len(d.Options) == 0 }
	switch {
	case silent(live.DHCP) && silent(config.DHCP):
		live.DHCP = config.DHCP
	case live.DHCP != nil && len(live.DHCP.Ranges) == 0 && len(config.DHCP.listRanges()) == 0:
		d := *live.DHCP
		d.LeaseSeconds = config.DHCP.leaseSeconds()
		live.DHCP = &d
	}
	return live
}

// DropLostRoutes returns the routes of what runs without those that its machine has lost and that nobody wants: libvirt keeps
// them in the running definition, but no restart is needed to get rid of them.
func DropLostRoutes(routes, lost, wanted []StaticRoute) []StaticRoute {
	return slices.DeleteFunc(slices.Clone(routes), func(r StaticRoute) bool {
		return slices.Contains(lost, r) && !slices.Contains(wanted, r)
	})
}

// dropLiveParts returns the network without what libvirt changes live.
func (n Definition) dropLiveParts() Definition {
	n = n.canonicalForm()
	if d := n.DHCP; d != nil && len(d.Options) > 0 {
		n.DHCP = &DHCP{Options: d.Options}
	} else {
		n.DHCP = nil
	}
	// libvirt cannot address a record whose name another one has too, so such a list is written whole.
	if n.DNS.sharesNames() || n.DNS.Disabled {
		return n
	}
	n.DNS.Hosts = nil
	return n
}

// sharesNames says whether two addresses have one name.
func (d DNS) sharesNames() bool {
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

// ListEdits returns what turns a running or configured definition into the wanted network, deletions first. It is for changes that
// need no restart: the wanted subnets tell which of several subnets is meant. was is the network before the change: reservations
// with its lease time get the new one.
func ListEdits(definition string, marks hostMarks, was, want Definition) ([]hypervisor.NetworkEdit, error) {
	root, err := parseXML(definition)
	if err != nil {
		return nil, err
	}
	want = want.canonicalForm()
	p := parser{root: root}
	has, err := Parse(definition, want.Subnet, want.Subnet6)
	if err != nil {
		return nil, err
	}
	deletes, adds := listRangeEdits(&p, has, want)
	d, a := listRecordEdits(has.DNS, want.DNS)
	unlisted, listed, err := listHostEdits(&p, marks, was, want)
	if err != nil {
		return nil, err
	}
	return slices.Concat(deletes, d, unlisted, adds, a, listLeaseEdits(&p, was, want), listed), p.err
}

// listRangeEdits returns what turns the ranges of a definition, with their lease times, into the wanted ones. has is the network
// as that definition has it.
func listRangeEdits(p *parser, has, want Definition) (deletes, adds []hypervisor.NetworkEdit) {
	known := []netip.Prefix{want.Subnet, want.Subnet6}
	four, six := p.findModelled(false, known), p.findModelled(true, known)
	for i, ip := range p.root.SelectElements("ip") {
		if ip != four && ip != six {
			continue
		}
		var present, wanted []*etree.Element
		if d := ip.SelectElement("dhcp"); d != nil {
			present = d.SelectElements("range")
		}
		for _, r := range want.DHCP.listRanges() {
			if r.Start.Is6() == (ip == six) {
				wanted = append(wanted, p.renderRange(r, present, has.DHCP.leaseSeconds(), want.DHCP.leaseSeconds()))
			}
		}
		same := func(a, b *etree.Element) bool { return p.readRangeKey(a) == p.readRangeKey(b) }
		d, a := listElementEdits(i, present, wanted, same)
		deletes, adds = append(deletes, d...), append(adds, a...)
	}
	return deletes, adds
}

func newRangeElement(r Range, lease *int64) *etree.Element {
	e := newElement("range", "start", r.Start.String(), "end", r.End.String())
	if lease != nil {
		e.AddChild(newLeaseElement(*lease))
	}
	return e
}

type rangeKey struct {
	start, end netip.Addr
	lease      int64
}

func (p *parser) readRangeKey(e *etree.Element) rangeKey {
	lease := int64(-1) // libvirt's default
	if l := p.readLease(e); l != nil {
		lease = *l
	}
	return rangeKey{p.parseAddress(readAttribute(e, "start")), p.parseAddress(readAttribute(e, "end")), lease}
}

// listRecordEdits compares DNS records, all of an address as one: libvirt adds none to those that an address has, and deletes only one
// that is alone.
func listRecordEdits(has, want DNS) (deletes, adds []hypervisor.NetworkEdit) {
	has, want = has.canonicalForm(), want.canonicalForm()
	edits := func(command hypervisor.EditCommand, all, other map[netip.Addr][]string) (edits []hypervisor.NetworkEdit) {
		for _, address := range slices.SortedFunc(maps.Keys(all), netip.Addr.Compare) {
			if !slices.Equal(all[address], other[address]) {
				edits = append(edits, hypervisor.NetworkEdit{Section: hypervisor.SectionDNSHost, Command: command, Parent: -1, XML: renderXML(newDNSHost(address, all[address]))})
			}
		}
		return edits
	}
	return edits(hypervisor.EditDelete, has.Hosts, want.Hosts), edits(hypervisor.EditAdd, want.Hosts, has.Hosts)
}

// listElementEdits returns what turns the ranges that are present in a subnet into the wanted ones.
func listElementEdits(parent int, present, wanted []*etree.Element, same func(a, b *etree.Element) bool) (deletes, adds []hypervisor.NetworkEdit) {
	edits := func(command hypervisor.EditCommand, all, other []*etree.Element) (edits []hypervisor.NetworkEdit) {
		for _, e := range all {
			if !slices.ContainsFunc(other, func(o *etree.Element) bool { return same(e, o) }) {
				edits = append(edits, hypervisor.NetworkEdit{Section: hypervisor.SectionDHCPRange, Command: command, Parent: parent, XML: renderXML(e)})
			}
		}
		return edits
	}
	return edits(hypervisor.EditDelete, present, wanted), edits(hypervisor.EditAdd, wanted, present)
}
