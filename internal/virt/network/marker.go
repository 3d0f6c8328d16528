package network

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/beevik/etree"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

// renderMark notes in a network's metadata whose it is, so that what an interrupted apply left behind can be told from what
// somebody else has.
func renderMark(root *etree.Element, m owner.Mark) {
	e := findMetadata(root, metadata.Network)
	if e == nil {
		e = newElement("virtcluster:network", "xmlns:virtcluster", metadata.Network)
		ensureChild(root, "metadata").AddChild(e)
	}
	setMark(e, m)
}

// parseMark reads whose a network is by its definition; the zero Mark where nobody says so.
func parseMark(definition string) (owner.Mark, error) {
	root, err := parseXML(definition)
	if err != nil {
		return owner.Mark{}, err
	}
	return readMark(findMetadata(root, metadata.Network)), nil
}

func readMark(e *etree.Element) owner.Mark {
	return owner.Mark{ID: readAttribute(e, "owner"), Workspace: readAttribute(e, "workspace"), Creating: readAttribute(e, "creating")}
}

func setMark(e *etree.Element, m owner.Mark) {
	setAttribute(e, "owner", m.ID)
	setAttribute(e, "workspace", m.Workspace)
	setAttribute(e, "creating", m.Creating)
}

// findMetadata finds the element of a namespace in a network's metadata; nil where there is none.
func findMetadata(root *etree.Element, namespace string) *etree.Element {
	all := root.SelectElement("metadata")
	if all == nil {
		return nil
	}
	for _, e := range all.ChildElements() {
		if slices.ContainsFunc(e.Attr, func(a etree.Attr) bool { return a.Value == namespace }) {
			return e
		}
	}
	return nil
}

// removeMetadata takes an element out of a network's metadata, and the metadata too where nothing else is in it.
func removeMetadata(root, element *etree.Element) {
	if all := root.SelectElement("metadata"); element != nil && all != nil {
		all.RemoveChild(element)
		removeChildren(root, func(e *etree.Element) bool { return e == all && isEmptyElement(all) })
	}
}

// note is what of DHCP libvirt has no place for.
type note struct {
	there  bool
	lease  bool
	expiry int64
}

func (d *DHCP) buildNote() note {
	switch {
	case d == nil || len(d.Ranges) > 0:
		return note{}
	case d.LeaseSeconds != nil:
		return note{there: true, lease: true, expiry: *d.LeaseSeconds}
	}
	return note{there: len(d.Options) == 0} // options are of DHCP too
}

// renderNote writes the note, or takes it away.
func (n Definition) renderNote(root *etree.Element) {
	want, element := n.DHCP.buildNote(), findMetadata(root, metadata.DHCP)
	if !want.there {
		removeMetadata(root, element)
		return
	}
	if element == nil {
		element = newElement("virtcluster-dhcp:reservations", "xmlns:virtcluster-dhcp", metadata.DHCP)
		ensureChild(root, "metadata").AddChild(element)
	}
	setAttribute(element, "expiry", "")
	if want.lease {
		setAttribute(element, "expiry", strconv.FormatInt(want.expiry, 10))
	}
}

// hostMark says whose a reservation is. It is kept in the network's configuration; the running network may have an older one.
type hostMark struct {
	// Mark is that of the resource which has the address reserved; the zero Mark where no resource has.
	owner.Mark
	// Listed says that the network's own list (dhcp.hosts) has the reservation. Before says that the reservation was there when
	// the network listed it, so it stays when the network lists it no more.
	Listed, Before bool
	// OfMachine says that the resource is a machine of the hypervisor.
	OfMachine bool
}

// onlyListed says whether a reservation is there for the network's list alone.
func (m hostMark) onlyListed() bool { return m.Listed && !m.Before && m.ID == "" }

// hostMarks are marks by the keys of their reservations.
type hostMarks map[string]hostMark

// parseHostMarks reads the marks of a configuration.
func parseHostMarks(definition string) (hostMarks, error) {
	root, err := parseXML(definition)
	if err != nil {
		return nil, err
	}
	return readHostMarks(root), nil
}

// sharedMarks are the marks of the network that was asked for last: a plan asks for each of its nodes.
var sharedMarks struct {
	sync.Mutex
	of    *hypervisor.Network
	marks hostMarks
}

// readSharedMarks reads the marks of a network that was read; they are not to be changed.
func readSharedMarks(n *hypervisor.Network) (hostMarks, error) {
	sharedMarks.Lock()
	defer sharedMarks.Unlock()
	if sharedMarks.of == n {
		return sharedMarks.marks, nil
	}
	marks, err := parseHostMarks(n.ConfigXML)
	if err == nil {
		sharedMarks.of, sharedMarks.marks = n, marks
	}
	return marks, err
}

func readHostMarks(root *etree.Element) hostMarks {
	marks := hostMarks{}
	element := findMetadata(root, metadata.Hosts)
	if element == nil {
		return marks
	}
	for _, e := range element.ChildElements() {
		is := func(name string) bool { return readAttribute(e, name) == "yes" }
		marks[readAttribute(e, "key")] = hostMark{Mark: readMark(e), Listed: is("listed"), Before: is("before"), OfMachine: is("machine")}
	}
	return marks
}

func writeHostMarks(root *etree.Element, marks hostMarks) {
	removeMetadata(root, findMetadata(root, metadata.Hosts))
	if len(marks) == 0 {
		return
	}
	element := newElement("virtcluster-hosts:hosts", "xmlns:virtcluster-hosts", metadata.Hosts)
	for _, key := range slices.Sorted(maps.Keys(marks)) {
		m := marks[key]
		e := newElement("virtcluster-hosts:host", "key", key, "listed", yesOrEmpty(m.Listed), "before", yesOrEmpty(m.Before), "machine", yesOrEmpty(m.OfMachine))
		setMark(e, m.Mark)
		element.AddChild(e)
	}
	ensureChild(root, "metadata").AddChild(element)
}

// mergeHostMarks returns a configuration with what another process changed in the marks since this one read them.
func mergeHostMarks(configuration, read, latest string) (string, error) {
	if read == latest {
		return configuration, nil
	}
	root, err := parseXML(configuration)
	if err != nil {
		return "", err
	}
	was, err := parseHostMarks(read)
	if err != nil {
		return "", err
	}
	now, err := parseHostMarks(latest)
	if err != nil {
		return "", err
	}
	marks := readHostMarks(root)
	for key, mark := range now {
		if mark != was[key] && marks[key] == was[key] {
			marks[key] = mark
		}
	}
	maps.DeleteFunc(marks, func(key string, mark hostMark) bool { return now[key] == hostMark{} && mark == was[key] })
	writeHostMarks(root, marks)
	return renderXML(root) + "\n", nil
}

// noteListed notes which reservations the network lists.
func (m hostMarks) noteListed(present []hypervisor.DHCPHost, was, want map[string]Host) {
	for mac, h := range was {
		key := h.toReservation(mac).Key()
		mark := m[key]
		mark.Listed, mark.Before = false, false
		m[key] = mark
	}
	for mac, h := range want {
		key := h.toReservation(mac).Key()
		mark := m[key]
		_, listed := was[mac]
		mark.Listed = true
		if !listed && mark.ID == "" {
			mark.Before = slices.ContainsFunc(present, func(p hypervisor.DHCPHost) bool { return p.Key() == key })
		}
		m[key] = mark
	}
}

// dropStale drops the marks of what is not there, and those that say nothing.
func (m hostMarks) dropStale(present []hypervisor.DHCPHost) {
	maps.DeleteFunc(m, func(key string, mark hostMark) bool {
		return mark == hostMark{} || !slices.ContainsFunc(present, func(p hypervisor.DHCPHost) bool { return p.Key() == key })
	})
}

// parseReservation reads a <host> element.
func parseReservation(e *etree.Element) hypervisor.DHCPHost {
	address, _ := netip.ParseAddr(readAttribute(e, "ip")) // libvirt has checked it; a host without one gets none
	return hypervisor.DHCPHost{MAC: strings.ToLower(readAttribute(e, "mac")), ID: readAttribute(e, "id"), IP: address, Name: readAttribute(e, "name")}
}
