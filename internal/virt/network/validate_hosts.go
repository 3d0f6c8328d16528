package network

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// checkHosts checks the listed reservations.
func (v *problems) checkHosts(n Definition) {
	byIP, byName := map[netip.Addr]string{}, map[string]string{}
	for _, mac := range slices.Sorted(maps.Keys(n.DHCP.Hosts)) {
		h, path := n.DHCP.Hosts[mac], pathTo("dhcp", "hosts", service.Key(mac))
		if h.Name != "" && !machineName.MatchString(h.Name) {
			v.addProblem(append(path, "hostname"), "Invalid host name", "write letters, digits, hyphens and dots, not %q", h.Name)
		}
		if other := byName[h.Name]; h.Name != "" && other != "" {
			v.addProblem(append(path, "hostname"), "Host name given twice", "%s has %s already, and libvirt takes a name once: write another", other, h.Name)
		}
		byName[h.Name] = mac
		if !h.IP.IsValid() {
			continue // unknown or badly spelled, which the attribute says itself
		}
		ip := append(slices.Clone(path), "ip")
		other, taken := byIP[h.IP]
		byIP[h.IP] = mac
		switch {
		case h.IP.Is6():
			v.addProblem(ip, "IPv6 address for a MAC address", "write an IPv4 address: DHCPv6 does not know machines by their MAC address; virtcluster_dhcp_reservation takes a DUID or a host name")
		case taken:
			v.addProblem(ip, "Address kept twice", "%s has %s already: write another", other, h.IP)
		case !n.Subnet.Contains(h.IP):
			v.addProblem(ip, "Address outside the subnet", "write an address in %s, not %s", cmp.Or(prefixText(n.Subnet), "cidr"), h.IP)
		case isReservedIn(n.Subnet, h.IP):
			v.addProblem(ip, "No host address", "%s is the network or broadcast address of %s: write another", h.IP, n.Subnet)
		case h.IP == n.Gateway:
			v.addProblem(ip, "Address of the gateway", "%s is the hypervisor's own address: write another", h.IP)
		}
		for _, r := range n.DHCP.Ranges {
			if isValidRange(r) && toIPRange(r).Contains(h.IP) {
				v.addProblem(ip, "Address in a DHCP range", "%s to %s is given to any machine, so another one could have %s already: write an address outside of it", r.Start, r.End, h.IP)
			}
		}
	}
}

func prefixText(p netip.Prefix) string {
	if !p.IsValid() {
		return ""
	}
	return p.String()
}
