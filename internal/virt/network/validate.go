package network

import (
	"cmp"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"go4.org/netipx"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Validate finds what is wrong without asking any machine, beside what the kinds of the attributes refuse each by itself. Paths are
// those of the resource's attributes.
func (n Definition) Validate() []service.Problem {
	given := n
	n = n.canonicalForm()
	var v problems
	if n.Name == "" || strings.ContainsAny(n.Name, "/\n\r\t") {
		v.addProblem(pathTo("name"), "Invalid network name", "write a name without slashes and line breaks")
	}
	if n.Bridge == "" && n.Mode == Bridge {
		v.addProblem(pathTo("bridge"), "Missing bridge", "mode \"bridge\" needs the name of a bridge that is there already")
	}
	v.checkSubnet(pathTo("cidr"), pathTo("gateway"), n.Subnet, n.Gateway, false)
	v.checkSubnet(pathTo("ipv6_cidr"), pathTo("ipv6_gateway"), n.Subnet6, n.Gateway6, true)
	if slices.Contains([]string{NAT, Route, Open}, n.Mode) && !n.Subnet.IsValid() && !n.Subnet6.IsValid() {
		v.addProblem(pathTo("cidr"), "Missing subnet", "mode %q needs cidr or ipv6_cidr: the hypervisor forwards for a subnet of its own; isolated and bridge do without", n.Mode)
	}
	if n.NAT6 && (n.Mode != NAT || !n.Subnet6.IsValid()) {
		v.addProblem(pathTo("ipv6_nat"), "Nothing to translate", "ipv6_nat belongs to mode \"nat\" with ipv6_cidr")
	}
	if n.Mode == Bridge {
		v.checkForeignBridge(given)
	} else if n.VirtualPort != "" {
		v.addProblem(pathTo("virtual_port"), "Virtual port without a foreign bridge", "virtual_port belongs to mode \"bridge\"; leave it out in mode %q", n.Mode)
	}
	if n.MTU != 0 && n.MTU < 1280 && n.Subnet6.IsValid() {
		v.addProblem(pathTo("mtu"), "Invalid MTU", "IPv6 needs 1280 bytes or more, not %d (RFC 8200, section 5)", n.MTU)
	}
	v.checkDHCP(n, given)
	v.checkDNS(n, given)
	v.checkRoutes(n, given)
	v.checkPXE(n)
	return v.found
}

type problems struct{ found []service.Problem }

func (v *problems) addProblem(path []any, summary, format string, args ...any) {
	v.found = append(v.found, service.Problemf(path, summary, format, args...))
}

func pathTo(steps ...any) []any { return steps }

// checkForeignBridge refuses what libvirt can do only for a bridge of its own.
func (v *problems) checkForeignBridge(n Definition) {
	for _, attribute := range []struct {
		name string
		set  bool
	}{
		{"cidr", n.Subnet.IsValid()}, {"gateway", n.Gateway.IsValid()}, {"ipv6_cidr", n.Subnet6.IsValid()}, {"ipv6_gateway", n.Gateway6.IsValid()},
		{"dhcp", n.DHCP != nil}, {"domain", n.Domain != ""}, {"dns", n.DNS.isSet()}, {"routes", len(n.Routes) > 0},
		{"pxe", n.PXE != PXE{}}, {"mtu", n.MTU != 0},
	} {
		if attribute.set {
			v.addProblem(pathTo(attribute.name), "Not possible in mode bridge", "leave %s out: libvirt only plugs machines into bridge %q and does not manage it", attribute.name, n.Bridge)
		}
	}
}

func (d DNS) isSet() bool {
	return d.Disabled || d.LocalOnly || len(d.Forwarders) > 0 || len(d.Hosts) > 0
}

func (v *problems) checkSubnet(cidr, gateway []any, checkSubnet netip.Prefix, address netip.Addr, six bool) {
	if !checkSubnet.IsValid() {
		if address.IsValid() {
			v.addProblem(gateway, "Gateway without a subnet", "write %s too, or leave the gateway out", cidr[0])
		}
		return
	}
	family := map[bool]string{false: "IPv4", true: "IPv6"}
	switch {
	case checkSubnet.Addr().Is6() != six:
		v.addProblem(cidr, "Wrong address family", "write an %s subnet, not %s", family[six], checkSubnet)
	case checkSubnet != checkSubnet.Masked():
		v.addProblem(cidr, "Host bits in a subnet", "write %s; the hypervisor's own address in it goes to %s", checkSubnet.Masked(), gateway[0])
	case checkSubnet.Bits() == 0 || checkSubnet.Bits() > checkSubnet.Addr().BitLen()-2:
		v.addProblem(cidr, "Subnet of no use", "%s has no room for a gateway and machines; write a prefix length of 1 to %d", checkSubnet, checkSubnet.Addr().BitLen()-2)
	case !checkSubnet.Contains(address):
		v.addProblem(gateway, "Gateway outside the subnet", "write an address in %s, not %s", checkSubnet, address)
	case isReservedIn(checkSubnet, address):
		v.addProblem(gateway, "Gateway is no host address", "%s is the network or broadcast address of %s; write another", address, checkSubnet)
	}
}

// isReservedIn says whether an address is a subnet's network or (IPv4) broadcast address.
func isReservedIn(subnet netip.Prefix, address netip.Addr) bool {
	r := netipx.RangeOfPrefix(subnet)
	return address == r.From() || address.Is4() && address == r.To()
}

func (v *problems) checkDHCP(n, given Definition) {
	if n.DHCP == nil || n.Mode == Bridge {
		return
	}
	if !n.Subnet.IsValid() && !n.Subnet6.IsValid() {
		v.addProblem(pathTo("dhcp"), "DHCP without a subnet", "write cidr or ipv6_cidr, or leave dhcp out")
	}
	for i, r := range given.DHCP.Ranges {
		v.checkDHCPRange(n, i, r)
		for j, other := range given.DHCP.Ranges[:i] {
			if isValidRange(r) && isValidRange(other) && toIPRange(r).Overlaps(toIPRange(other)) {
				v.addProblem(pathTo("dhcp", "ranges", i), "Overlapping DHCP ranges", "%s to %s overlaps range %d, %s to %s", r.Start, r.End, j, other.Start, other.End)
			}
		}
	}
	v.checkHosts(n)
	for name, value := range n.DHCP.Options {
		path := pathTo("dhcp", "options", service.Key(name))
		if !optionName.MatchString(name) {
			v.addProblem(path, "Invalid DHCP option", "write the option's number or name as dnsmasq has it, such as \"42\", \"ntp-server\" or \"option6:dns-server\"")
		}
		if rest := quoted.ReplaceAllString(value, "-"); strings.Contains(rest, `"`) || comment.MatchString(rest) {
			v.addProblem(path, "Invalid value of a DHCP option", "dnsmasq's configuration takes a quotation mark that another one does not close for a mistake, and a # after a blank for a comment: write %q without them, or in quotation marks", value)
		}
	}
}

var (
	// quoted is a text in quotation marks as dnsmasq's configuration has it, comment what begins a comment there outside of one
	// (dnsmasq's option.c, read_file).
	quoted  = regexp.MustCompile(`"(\\.|[^"\\])*"`)
	comment = regexp.MustCompile(`\s#`)
)

// isFileName says whether libvirt can write a name of a file into dnsmasq's configuration: it does so as it is.
func isFileName(name string) bool {
	return !strings.ContainsAny(name, "\n\",") && !comment.MatchString(name)
}

var optionName = regexp.MustCompile(`^(option6:)?[a-zA-Z0-9][a-zA-Z0-9-]*$`)

func isValidRange(r Range) bool {
	return r.Start.IsValid() && r.End.IsValid() && toIPRange(r).IsValid()
}

func toIPRange(r Range) netipx.IPRange { return netipx.IPRangeFrom(r.Start, r.End) }

func (v *problems) checkDHCPRange(n Definition, i int, r Range) {
	path := pathTo("dhcp", "ranges", i)
	if !r.Start.IsValid() || !r.End.IsValid() {
		return // unknown or badly spelled, which the attribute says itself
	}
	subnet, gateway := n.Subnet, n.Gateway
	if r.Start.Is6() {
		subnet, gateway = n.Subnet6, n.Gateway6
	}
	switch {
	case r.Start.Is6() != r.End.Is6():
		v.addProblem(path, "Invalid DHCP range", "%s and %s are not of one address family", r.Start, r.End)
	case r.End.Less(r.Start):
		v.addProblem(path, "Invalid DHCP range", "it ends at %s before it starts at %s", r.End, r.Start)
	case !subnet.IsValid():
		v.addProblem(path, "DHCP range outside the subnet", "the network has no subnet of the family of %s", r.Start)
	case !subnet.Contains(r.Start) || !subnet.Contains(r.End):
		v.addProblem(path, "DHCP range outside the subnet", "%s to %s is not inside %s", r.Start, r.End, subnet)
	case r.Start.Is6() && subnet.Bits() < 64:
		v.addProblem(path, "IPv6 subnet too large for DHCP", "dnsmasq serves IPv6 subnets of /64 and smaller, not %s", subnet)
	case isReservedIn(subnet, r.Start) || isReservedIn(subnet, r.End):
		v.addProblem(path, "Invalid DHCP range", "leave out the network and broadcast address of %s", subnet)
	case toIPRange(r).Contains(gateway):
		v.addProblem(path, "DHCP range holds the gateway", "%s to %s would give out the hypervisor's own address %s", r.Start, r.End, gateway)
	}
}

func (v *problems) checkDNS(n, given Definition) {
	if n.DNS.LocalOnly && n.Domain == "" {
		v.addProblem(pathTo("dns", "local_only"), "Local domain without a domain", "write domain too: local_only keeps questions about it on this network")
	}
	if n.DNS.Disabled && (len(n.DNS.Forwarders) > 0 || len(n.DNS.Hosts) > 0) {
		v.addProblem(pathTo("dns", "enabled"), "DNS records without DNS", "leave forwarders and hosts out where enabled is false: libvirt refuses them")
	}
	for i, f := range given.DNS.Forwarders {
		if f.Domain == "" && !f.Address.IsValid() {
			v.addProblem(pathTo("dns", "forwarders", i), "Empty forwarder", "write an address, a domain or both")
		}
	}
	for _, address := range slices.SortedFunc(maps.Keys(n.DNS.Hosts), netip.Addr.Compare) {
		if len(n.DNS.Hosts[address]) == 0 {
			v.addProblem(pathTo("dns", "hosts", service.Key(address.String())), "Address without a name", "write one or more names for %s", address)
		}
	}
}

func (v *problems) checkRoutes(n, given Definition) {
	for i, r := range given.Routes {
		if !r.Destination.IsValid() || !r.Via.IsValid() {
			continue
		}
		subnet, gateway := n.Subnet, n.Gateway
		if r.Via.Is6() {
			subnet, gateway = n.Subnet6, n.Gateway6
		}
		switch {
		case r.Destination.Addr().Is6() != r.Via.Is6():
			v.addProblem(pathTo("routes", i), "Invalid route", "%s and %s are not of one address family", r.Destination, r.Via)
		case r.Destination != r.Destination.Masked():
			v.addProblem(pathTo("routes", i, "cidr"), "Host bits in a route", "write %s", r.Destination.Masked())
		case !subnet.Contains(r.Via):
			v.addProblem(pathTo("routes", i, "via"), "Next hop outside the network", "write the address of a machine on this network (%s), not %s", cmp.Or(subnet.String(), "no subnet"), r.Via)
		case r.Via == gateway:
			v.addProblem(pathTo("routes", i, "via"), "Next hop is the hypervisor itself", "write the address of another machine on this network")
		}
	}
}

func (v *problems) checkPXE(n Definition) {
	if n.Mode == Bridge {
		return
	}
	if r := n.PXE.TFTPRoot; r != "" && (!strings.HasPrefix(r, "/") || !isFileName(r)) {
		v.addProblem(pathTo("pxe", "tftp_root"), "Invalid directory", "write an absolute path on the hypervisor, without commas, quotation marks and a # after a blank, not %q", r)
	}
	if n.PXE.TFTPRoot != "" && !n.Subnet.IsValid() {
		v.addProblem(pathTo("pxe", "tftp_root"), "TFTP without an IPv4 subnet", "write cidr too")
	}
	if f := n.PXE.BootFile; !isFileName(f) {
		v.addProblem(pathTo("pxe", "boot_file"), "Invalid boot file", "write the name of a file without commas, quotation marks and a # after a blank, not %q", f)
	}
	if n.PXE.BootFile == "" && n.PXE.Server.IsValid() {
		v.addProblem(pathTo("pxe", "server"), "Boot server without a boot file", "write boot_file too")
	}
	v4 := slices.ContainsFunc(n.DHCP.listRanges(), func(r Range) bool { return r.Start.Is4() })
	if n.PXE.BootFile != "" && !v4 {
		// libvirt drops <bootp> from a subnet that gives out no addresses.
		v.addProblem(pathTo("pxe", "boot_file"), "Boot file without DHCP", "write dhcp.ranges with IPv4 addresses too: DHCP tells machines their boot file")
	}
}

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
