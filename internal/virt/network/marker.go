package network

import (
	"slices"
	"strconv"

	"github.com/beevik/etree"
)

// markerNamespace names this provider in a network's metadata.
const markerNamespace = "https://github.com/virtcluster/terraform-provider-virtcluster"

// Mark notes in a network's metadata that this provider made it, so that what an interrupted apply left
// behind can be told from what somebody else has.
func Mark(definition string) (string, error) {
	root, err := parseXML(definition)
	if err != nil || marked(root) {
		return definition, err
	}
	ensure(root, "metadata").AddChild(newElement("virtcluster:network", "xmlns:virtcluster", markerNamespace))
	return render(root) + "\n", nil
}

// Marked says whether this provider made the network.
func Marked(definition string) bool {
	root, err := parseXML(definition)
	return err == nil && marked(root)
}

func marked(root *etree.Element) bool {
	metadata := root.SelectElement("metadata")
	if metadata == nil {
		return false
	}
	for _, e := range metadata.ChildElements() {
		for _, a := range e.Attr {
			if a.Value == markerNamespace {
				return true
			}
		}
	}
	return false
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
	want, element := n.DHCP.note(), dhcpNote(root)
	if !want.there {
		if metadata := root.SelectElement("metadata"); element != nil {
			remove(metadata, func(e *etree.Element) bool { return e == element })
			remove(root, func(e *etree.Element) bool { return e == metadata && isEmpty(metadata) })
		}
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

// dhcpNote finds the note; nil where there is none.
func dhcpNote(root *etree.Element) *etree.Element {
	metadata := root.SelectElement("metadata")
	if metadata == nil {
		return nil
	}
	for _, e := range metadata.ChildElements() {
		if slices.ContainsFunc(e.Attr, func(a etree.Attr) bool { return a.Value == dhcpNamespace }) {
			return e
		}
	}
	return nil
}
