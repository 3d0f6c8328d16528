package netspec

import "github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor/xmltree"

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

// dhcpNamespace is the namespace of the note that a network gives out reservations and nothing else. libvirt has
// no place for it: to it, DHCP begins with the first range or reservation.
const dhcpNamespace = markerNamespace + "/dhcp/1"

// renderReservationsOnly writes that note, or takes it away.
func (n Network) renderReservationsOnly(root *xmltree.Element) {
	metadata := root.Child("metadata")
	noted := reservationsOnly(root)
	switch {
	case n.DHCP.reservationsOnly() && !noted:
		root.Ensure("metadata").Append(xmltree.New("virtcluster-dhcp:reservations", "xmlns:virtcluster-dhcp", dhcpNamespace))
	case !n.DHCP.reservationsOnly() && noted:
		metadata.Remove(isDHCPNote)
		root.Remove(func(e *xmltree.Element) bool { return e == metadata && metadata.Empty() })
	}
}

func reservationsOnly(root *xmltree.Element) bool {
	metadata := root.Child("metadata")
	if metadata == nil {
		return false
	}
	for e := range metadata.All() {
		if isDHCPNote(e) {
			return true
		}
	}
	return false
}

func isDHCPNote(e *xmltree.Element) bool {
	for _, a := range e.Attrs {
		if a.Value == dhcpNamespace {
			return true
		}
	}
	return false
}
