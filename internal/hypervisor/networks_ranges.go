package hypervisor

import (
	"net/netip"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor/netspec"
)

// DHCPRanges are what a network's DHCP gives to machines that nothing is kept for, in all its subnets.
func DHCPRanges(n *libvirtxml.Network) []netspec.Range {
	var all []netspec.Range
	for _, ip := range n.IPs {
		if ip.DHCP == nil {
			continue
		}
		for _, r := range ip.DHCP.Ranges {
			start, err := netip.ParseAddr(r.Start)
			end, err2 := netip.ParseAddr(r.End)
			if err == nil && err2 == nil { // libvirt has checked them
				all = append(all, netspec.Range{Start: start, End: end})
			}
		}
	}
	return all
}
