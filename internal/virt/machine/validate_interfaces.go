package machine

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

func (s *Spec) validateInterfaces() []service.Problem {
	var all []service.Problem
	names, macs := map[string]int{}, map[string]int{}
	for n := range s.Interfaces {
		i := &s.Interfaces[n]
		here := pathTo("network_interfaces", n)
		unknown := func(attribute string) bool { return s.Unknown.Has(pathBelow(here, attribute)...) }
		problem := func(attribute, summary, format string, args ...any) {
			all = append(all, service.Problemf(pathBelow(here, attribute), summary, format, args...))
		}
		onBridge := i.Network == "" && !unknown("network")
		switch {
		case onBridge && i.Bridge == "" && !unknown("bridge"):
			problem("network", "Interface without a network", "write network or bridge")
		case i.Network != "" && i.Bridge != "":
			problem("bridge", "Interface with network and bridge", "write only one of network and bridge")
		}
		if i.MAC != "" {
			if mac, err := alloc.CanonicalMAC(i.MAC); err != nil {
				problem("mac", "Invalid MAC address", "%v", err)
			} else if strings.ContainsRune("13579bdf", rune(mac[1])) {
				problem("mac", "Multicast MAC address", "an interface's first byte is even, such as 52: %s is a multicast address", mac)
			}
			if other, taken := macs[i.MAC]; taken {
				problem("mac", "Duplicate MAC address", "interface %d of this node has it already", other)
			}
			macs[i.MAC] = n
		}
		if i.Name != "" {
			if strings.ContainsFunc(i.Name, func(r rune) bool { return r <= ' ' || r == '/' || r == ':' || r == 0x7f }) {
				problem("name", "Invalid interface name", "Linux takes no spaces, \"/\" or \":\" in the name of an interface: write one such as eth0")
			}
			if other, taken := names[i.Name]; taken {
				problem("name", "Duplicate interface name", "interface %d of this node has it already", other)
			}
			names[i.Name] = n
		}
		if onBridge && i.IP != "" {
			problem("ip", "Reservation on a bridge", "only a network's DHCP can reserve an address: write it as addresses = [\"%s/24\"] to set it inside the guest", i.IP)
		}
		if onBridge && i.IPv6 != "" {
			problem("ipv6", "Reservation on a bridge", "only a network's DHCP can reserve an address: write it among addresses to set it inside the guest")
		}
		all = append(all, s.validateAddresses(i, here)...)
		all = append(all, s.validateSecurity(i, here)...)
		if i.PortSecurity && len(listSendableAddresses(i)) == 0 && !slices.ContainsFunc([]string{"ip", "ipv6", "addresses", "allowed_addresses"}, unknown) {
			problem("port_security", "No address to send from", "port_security passes only the interface's own addresses and allowed_addresses, and there are none: write ip, addresses or allowed_addresses")
		}
		if !i.PortSecurity && !unknown("port_security") && len(i.AllowedAddresses) > 0 {
			problem("allowed_addresses", "Allowed addresses without port_security", "without port_security everything is passed: set it, or leave out allowed_addresses")
		}
	}
	return all
}

// validateAddresses checks the spelling of an interface's addresses, and that its gateways can be reached.
func (s *Spec) validateAddresses(i *InterfaceSpec, here []any) []service.Problem {
	var all []service.Problem
	problem := func(path []any, summary, format string, args ...any) {
		all = append(all, service.Problemf(pathBelow(here, path...), summary, format, args...))
	}
	reserved := func(text string, is6 bool, path ...any) {
		if text == "" {
			return
		}
		a, err := netip.ParseAddr(text)
		switch {
		case err != nil || a.Zone() != "":
			problem(path, "Invalid address", "%q is not an address: write one such as %s", text, exampleAddress(is6))
		case a.Is6() != is6:
			problem(path, "Address of the other family", "%s does not belong here: write one such as %s", a, exampleAddress(is6))
		}
	}
	reserved(i.IP, false, "ip")
	reserved(i.IPv6, true, "ipv6")
	var subnets []netip.Prefix
	for n, text := range i.Addresses {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			problem(pathTo("addresses", n), "Invalid address", "%q is not an address with a prefix length: write one such as 10.19.41.157/24", text)
			continue
		}
		subnets = append(subnets, p)
	}
	allKnown := len(subnets) == len(i.Addresses) && !s.Unknown.Has(pathBelow(here, "addresses")...)
	reachable := func(text string, path ...any) {
		if text == "" {
			return
		}
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" {
			problem(path, "Invalid address", "%q is not an address: write one such as 10.19.41.254", text)
			return
		}
		same := slices.DeleteFunc(slices.Clone(subnets), func(p netip.Prefix) bool { return p.Addr().Is4() != a.Is4() })
		if allKnown && len(same) > 0 && !a.IsLinkLocalUnicast() && !slices.ContainsFunc(same, func(p netip.Prefix) bool { return p.Contains(a) }) {
			problem(path, "Gateway outside the interface's subnets", "%s is not in %s: the guest could not reach it", a, same[0].Masked())
		}
	}
	reachable(i.Gateway, "gateway")
	for n, r := range i.Routes {
		if _, err := netip.ParsePrefix(r.CIDR); err != nil && r.CIDR != "" {
			problem(pathTo("routes", n, "cidr"), "Invalid prefix", "%q is not a prefix: write one such as 10.128.0.0/14", r.CIDR)
		}
		reachable(r.Via, "routes", n, "via")
	}
	for n, text := range i.Nameservers {
		if a, err := netip.ParseAddr(text); err != nil || a.Zone() != "" {
			problem(pathTo("nameservers", n), "Invalid address", "%q is not an address", text)
		}
	}
	for n, text := range i.AllowedAddresses {
		if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
			continue
		}
		if _, err := netip.ParsePrefix(text); err != nil {
			problem(pathTo("allowed_addresses", n), "Invalid address", "%q is neither an address nor a prefix", text)
		}
	}
	return all
}

func exampleAddress(is6 bool) string {
	if is6 {
		return "fd00::10"
	}
	return "10.0.0.1"
}
