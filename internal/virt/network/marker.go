package network

import (
	"slices"
	"strconv"

	"github.com/beevik/etree"

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
