package machine

import (
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
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
		onOVN := i.OVNNetwork != "" || unknown("ovn_network")
		onBridge := i.Network == "" && !unknown("network") && !onOVN
		switch {
		case onBridge && i.Bridge == "" && i.Direct == nil && !unknown("bridge") && !unknown("direct"):
			problem("network", "Interface without a network", "write network or bridge, or direct, or ovn_network")
		case i.Network != "" && i.Bridge != "":
			problem("bridge", "Interface with network and bridge", "write only one of network and bridge")
		case i.OVNNetwork != "" && i.Network+i.Bridge != "":
			problem("ovn_network", "Interface with two networks", "write only one of network, bridge and ovn_network")
		}
		if i.OVNNetwork != "" {
			all = append(all, i.validateOnOVN(here)...)
		} else if !onOVN && len(i.SecurityGroups) > 0 {
			problem("security_groups", "Security groups without OVN", "only a port of a network of OVN is in security groups: write ovn_network, or security_rules")
		}
		if other, taken := macs[i.MAC]; taken && i.MAC != "" {
			problem("mac", "Duplicate MAC address", "interface %d of this node has it already", other)
		}
		if other, taken := names[i.Name]; taken && i.Name != "" {
			problem("name", "Duplicate interface name", "interface %d of this node has it already", other)
		}
		macs[i.MAC], names[i.Name] = n, n
		if onBridge && i.IP.IsValid() {
			problem("ip", "Reservation on a bridge", "only a network's DHCP can reserve an address: write it as addresses = [\"%s/24\"] to set it inside the guest", i.IP)
		}
		if onBridge && i.IPv6.IsValid() {
			problem("ipv6", "Reservation on a bridge", "only a network's DHCP can reserve an address: write it among addresses to set it inside the guest")
		}
		all = append(all, i.validateBandwidth(here, unknown("bandwidth"))...)
		all = append(all, i.validateWiring(here, unknown)...)
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

// validateOnOVN finds what a network of OVN does not do for an interface.
func (i *InterfaceSpec) validateOnOVN(here []any) []service.Problem {
	var all []service.Problem
	problem := func(attribute, summary, format string, args ...any) {
		all = append(all, service.Problemf(pathBelow(here, attribute), summary, format, args...))
	}
	if _, _, err := ovn.SplitNetworkID(i.OVNNetwork); err != nil {
		problem("ovn_network", "Invalid network", "%v", err)
	}
	if i.IPv6.IsValid() {
		problem("ipv6", "Reservation on OVN", "a network of OVN gives addresses of IPv4, and its guests make those of its ipv6_cidr of their MAC addresses: write this one among addresses to set it inside the guest")
	}
	if len(i.SecurityRules) > 0 {
		problem("security_rules", "Filter of libvirt on OVN", "libvirt filters nothing that Open vSwitch passes on: write security_groups instead")
	}
	return all
}

// validateAddresses checks the families of an interface's addresses, and that its gateways can be reached.
func (s *Spec) validateAddresses(i *InterfaceSpec, here []any) []service.Problem {
	var all []service.Problem
	problem := func(path []any, summary, format string, args ...any) {
		all = append(all, service.Problemf(pathBelow(here, path...), summary, format, args...))
	}
	for attribute, a := range i.reservedAddresses() {
		if example, six := map[string]string{"ip": "10.0.0.1", "ipv6": "fd00::10"}[attribute], attribute == "ipv6"; a.Is6() != six {
			problem(pathTo(attribute), "Address of the other family", "%s does not belong here: write one such as %s", a, example)
		}
	}
	allKnown := !s.Unknown.Has(pathBelow(here, "addresses")...)
	reachable := func(a netip.Addr, path ...any) {
		same := slices.DeleteFunc(slices.Clone(i.Addresses), func(p netip.Prefix) bool { return p.Addr().Is4() != a.Is4() })
		if a.IsValid() && allKnown && len(same) > 0 && !a.IsLinkLocalUnicast() && !slices.ContainsFunc(same, func(p netip.Prefix) bool { return p.Contains(a) }) {
			problem(path, "Gateway outside the interface's subnets", "%s is not in %s: the guest could not reach it", a, same[0].Masked())
		}
	}
	reachable(i.Gateway, "gateway")
	for n, r := range i.Routes {
		reachable(r.Via, "routes", n, "via")
	}
	return all
}
