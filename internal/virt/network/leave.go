package network

import (
	"context"

	"github.com/beevik/etree"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// isAboutToGo says whether a running network is about to be removed too: everything of the workspace that made it is being
// destroyed.
func isAboutToGo(n *hypervisor.Network) (bool, error) {
	if !n.Active() || !n.Persistent {
		return false, nil
	}
	mark, err := parseMark(n.ConfigXML)
	return err == nil && owner.Leaves(mark), err
}

// leaveReservation takes a reservation out of a network's configuration alone, and marks it as left in the running network. Taking
// it out of the running network would cost libvirt a new set of the network's firewall rules, and that network is about to go.
// Where it does not go after all, the mark lets any other reservation take the place.
func leaveReservation(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network, h hypervisor.DHCPHost) error {
	root, err := parseXML(n.ConfigXML)
	if err != nil {
		return err
	}
	for _, ip := range root.SelectElements("ip") {
		if dhcp := ip.SelectElement("dhcp"); dhcp != nil {
			removeChildren(dhcp, func(e *etree.Element) bool {
				other := parseReservation(e)
				return e.FullTag() == "host" && other.Key() == h.Key() && other.IP == h.IP
			})
		}
		removeChildren(ip, func(e *etree.Element) bool { return e.FullTag() == "dhcp" && isEmptyElement(e) })
	}
	marks := readHostMarks(root)
	marks[h.Key()] = hostMark{Left: true}
	writeHostMarks(root, marks)
	return writeConfiguration(ctx, c, n, renderXML(root)+"\n")
}
