package network

import (
	"slices"
	"strconv"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor/xmltree"
)

// markerNamespace names this provider in a network's metadata.
const markerNamespace = "https://github.com/virtcluster/terraform-provider-virtcluster"

// Mark notes in a network's metadata that this provider made it, so that what an interrupted apply left
// behind can be told from what somebody else has.
func Mark(definition string) (string, error) {
	root, err := xmltree.Parse(definition)
	if err != nil || marked(root) {
		return definition, err
	}
	root.Ensure("metadata").Append(xmltree.New("virtcluster:network", "xmlns:virtcluster", markerNamespace))
	return root.String() + "\n", nil
}

// Marked says whether this provider made the network.
func Marked(definition string) bool {
	root, err := xmltree.Parse(definition)
	return err == nil && marked(root)
}

func marked(root *xmltree.Element) bool {
	metadata := root.Child("metadata")
	if metadata == nil {
		return false
	}
	for e := range metadata.All() {
		for _, a := range e.Attrs {
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
func (n Definition) renderNote(root *xmltree.Element) {
	want, element := n.DHCP.note(), dhcpNote(root)
	if !want.there {
		if metadata := root.Child("metadata"); element != nil {
			metadata.Remove(func(e *xmltree.Element) bool { return e == element })
			root.Remove(func(e *xmltree.Element) bool { return e == metadata && metadata.Empty() })
		}
		return
	}
	if element == nil {
		element = xmltree.New("virtcluster-dhcp:reservations", "xmlns:virtcluster-dhcp", dhcpNamespace)
		root.Ensure("metadata").Append(element)
	}
	element.Set("expiry", "")
	if want.lease {
		element.Set("expiry", strconv.FormatInt(want.expiry, 10))
	}
}

// dhcpNote finds the note; nil where there is none.
func dhcpNote(root *xmltree.Element) *xmltree.Element {
	metadata := root.Child("metadata")
	if metadata == nil {
		return nil
	}
	for e := range metadata.All() {
		if slices.ContainsFunc(e.Attrs, func(a xmltree.Attr) bool { return a.Value == dhcpNamespace }) {
			return e
		}
	}
	return nil
}
