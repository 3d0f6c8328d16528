package network

import (
	"slices"
	"strconv"

	"github.com/beevik/etree"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// markerNamespace names this provider in a network's metadata.
const markerNamespace = "https://github.com/virtcluster/terraform-provider-virtcluster"

// renderMark notes in a network's metadata whose it is, so that what an interrupted apply left behind can be told from what
// somebody else has.
func renderMark(root *etree.Element, m owner.Mark) {
	e := metadataElement(root, markerNamespace)
	if e == nil {
		e = newElement("virtcluster:network", "xmlns:virtcluster", markerNamespace)
		ensure(root, "metadata").AddChild(e)
	}
	setMark(e, m)
}

// markOf reads whose a network is by its definition; the zero Mark where nobody says so.
func markOf(definition string) (owner.Mark, error) {
	root, err := parseXML(definition)
	if err != nil {
		return owner.Mark{}, err
	}
	return readMark(metadataElement(root, markerNamespace)), nil
}

func readMark(e *etree.Element) owner.Mark {
	return owner.Mark{ID: attr(e, "owner"), Workspace: attr(e, "workspace")}
}

func setMark(e *etree.Element, m owner.Mark) {
	set(e, "owner", m.ID)
	set(e, "workspace", m.Workspace)
}

// metadataElement finds the element of a namespace in a network's metadata; nil where there is none.
func metadataElement(root *etree.Element, namespace string) *etree.Element {
	metadata := root.SelectElement("metadata")
	if metadata == nil {
		return nil
	}
	for _, e := range metadata.ChildElements() {
		if slices.ContainsFunc(e.Attr, func(a etree.Attr) bool { return a.Value == namespace }) {
			return e
		}
	}
	return nil
}

// removeMetadata takes an element out of a network's metadata, and the metadata too where nothing else is in it.
func removeMetadata(root, element *etree.Element) {
	if metadata := root.SelectElement("metadata"); element != nil && metadata != nil {
		metadata.RemoveChild(element)
		remove(root, func(e *etree.Element) bool { return e == metadata && isEmpty(metadata) })
	}
}

// dhcpNamespace is the namespace of the note that a network without ranges gives out reservations, and for how long.
// libvirt has no place for it: to it, DHCP begins with the first range or reservation.
const dhcpNamespace = markerNamespace + "/dhcp/1"

// note is what of DHCP libvirt has no place for.
type note struct {
	there  bool
	lease  bool
	expiry int64
}

func (d *DHCP) note() note {
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
	want, element := n.DHCP.note(), metadataElement(root, dhcpNamespace)
	if !want.there {
		removeMetadata(root, element)
		return
	}
	if element == nil {
		element = newElement("virtcluster-dhcp:reservations", "xmlns:virtcluster-dhcp", dhcpNamespace)
		ensure(root, "metadata").AddChild(element)
	}
	set(element, "expiry", "")
	if want.lease {
		set(element, "expiry", strconv.FormatInt(want.expiry, 10))
	}
}
