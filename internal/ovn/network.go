package ovn

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"go4.org/netipx"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Modes of a network: how its guests reach what is not on it. Routed and Open are one to OVN, which filters nothing by itself: they are two names, as
// libvirt has two.
const (
	Isolated   = "isolated"
	Translated = "nat"
	Routed     = "route"
	Open       = "open"
	Bridged    = "bridge"
)

// Network is a logical switch, in plain values.
type Network struct {
	Name    string       `attr:"name"`
	Mode    string       `attr:"mode"`
	CIDR    netip.Prefix `attr:"cidr"`
	Gateway netip.Addr   `attr:"gateway"`
	// IPv6CIDR is the network of IPv6 in which guests make their addresses of their MAC addresses.
	IPv6CIDR netip.Prefix `attr:"ipv6_cidr"`
	// BridgeMapping is what chassis call the network that a bridged one is part of.
	BridgeMapping string `attr:"bridge_mapping"`
	// MTU is in bytes; 0 where nobody said.
	MTU  int64 `attr:"mtu"`
	DHCP *DHCP `attr:"dhcp"`
}

// DHCP is what the network's chassis answer themselves, each to its own guests.
type DHCP struct {
	// Pool are ranges ("10.0.0.10-10.0.0.99") of what ports without an address of their own are given.
	Pool         []string          `attr:"pool"`
	LeaseSeconds int64             `attr:"lease_seconds"`
	Nameservers  []netip.Addr      `attr:"nameservers"`
	Options      map[string]string `attr:"options"`
}

// Tunnel is what Geneve takes of each packet of the underlay, and smallestMTU what IPv4 may be sent in (RFC 791); one that is below
// IPv6's minimum works for IPv4 alone.
const (
	Tunnel      = 58
	smallestMTU = 576
	largestMTU  = 65535 - Tunnel
)

// textOptions are the options of DHCP that OVN knows and takes texts of, in quotes; otherOptions are checked by their types (ovn-nb(5), DHCP_Options).
var (
	textOptions  = []string{"bootfile_name", "bootfile_name_alt", "domain_name", "domain_search_list", "hostname", "path_prefix", "wpad"}
	otherOptions = map[string]func(string) error{
		"arp_cache_timeout": checkNumber(32), "broadcast_address": checkAddresses, "classless_static_route": checkRoutes, "default_ttl": checkNumber(8), "ethernet_encap": checkNumber(1),
		"ip_forward_enable": checkNumber(1), "log_server": checkAddresses, "lpr_server": checkAddresses, "ms_classless_static_route": checkRoutes, "netbios_name_server": checkAddresses,
		"netbios_node_type": checkNumber(8), "netmask": checkAddresses, "next_server": checkAddresses, "nis_server": checkAddresses, "ntp_server": checkAddresses, "policy_filter": checkAddresses,
		"router_discovery": checkNumber(1), "router_solicitation": checkAddresses, "swap_server": checkAddresses, "T1": checkNumber(32), "T2": checkNumber(32),
		"tcp_keepalive_interval": checkNumber(32), "tcp_ttl": checkNumber(8), "tftp_server": checkServer, "tftp_server_address": checkAddresses,
	}
	// ownOptions are those that attributes say.
	ownOptions = map[string]string{"router": "gateway", "mtu": "mtu", "dns_server": "dhcp.nameservers", "lease_time": "dhcp.lease_seconds", "server_id": "", "server_mac": ""}
)

// Validate finds what is wrong with the network.
func (n Network) Validate() []service.Problem {
	var problems []service.Problem
	wrong := func(path []any, summary, format string, args ...any) {
		problems = append(problems, service.Problemf(path, summary, format, args...))
	}
	if n.CIDR.IsValid() && (n.CIDR != n.CIDR.Masked() || !n.CIDR.Addr().Is4()) {
		wrong([]any{"cidr"}, "Invalid network", "write the network of IPv4 itself, such as %s", netip.PrefixFrom(n.CIDR.Addr(), n.CIDR.Bits()).Masked())
		return problems
	}
	if n.CIDR.IsValid() && n.CIDR.Bits() > 30 {
		wrong([]any{"cidr"}, "Network too small", "%s has no room for a gateway and a guest: the prefix is 30 at most", n.CIDR)
	}
	if n.Gateway.IsValid() && n.CIDR.IsValid() && !rangeOfHosts(n.CIDR).Contains(n.Gateway) {
		wrong([]any{"gateway"}, "Gateway outside the network", "%s is no address of a machine in %s", n.Gateway, n.CIDR)
	}
	if six := n.IPv6CIDR; six.IsValid() && (!six.Addr().Is6() || six.Addr().Is4In6() || six != six.Masked() || six.Bits() != slaacBits || !six.Addr().IsGlobalUnicast()) {
		wrong([]any{"ipv6_cidr"}, "Invalid network", "write a network of IPv6 such as fd00:50::/%d: guests make the other half of their addresses of their MAC addresses", slaacBits)
	}
	if (n.Mode == Bridged) != (n.BridgeMapping != "") {
		wrong([]any{"bridge_mapping"}, "Mode and bridge mapping", "mode %q takes a bridge_mapping, and no other mode does", Bridged)
	}
	if n.MTU != 0 && (n.MTU < smallestMTU || n.MTU > largestMTU) {
		wrong([]any{"mtu"}, "Invalid MTU", "write %d to %d bytes", smallestMTU, largestMTU)
	}
	return append(problems, n.validateDHCP()...)
}

func (n Network) validateDHCP() []service.Problem {
	if n.DHCP == nil {
		return nil
	}
	var problems []service.Problem
	wrong := func(path []any, summary, format string, args ...any) {
		problems = append(problems, service.Problemf(append([]any{"dhcp"}, path...), summary, format, args...))
	}
	if !n.CIDR.IsValid() {
		problems = append(problems, service.Problemf([]any{"cidr"}, "No network", "dhcp takes a cidr: what it hands out is in it"))
	}
	for i, text := range n.DHCP.Pool {
		run, err := netipx.ParseIPRange(text)
		at := []any{"pool", i}
		switch {
		case err != nil:
			wrong(at, "Invalid range", "write a range such as 10.0.0.10-10.0.0.99: %v", err)
		case n.CIDR.IsValid() && (!rangeOfHosts(n.CIDR).Contains(run.From()) || !rangeOfHosts(n.CIDR).Contains(run.To())):
			wrong(at, "Range outside the network", "%s is not wholly among the addresses of machines in %s", run, n.CIDR)
		case run.Contains(n.Gateway):
			wrong(at, "Gateway in the pool", "%s has the gateway %s in it, which no guest may be given", run, n.Gateway)
		}
	}
	for i, a := range n.DHCP.Nameservers {
		if !a.Is4() {
			wrong([]any{"nameservers", i}, "Invalid name server", "DHCP hands out name servers with IPv4 addresses only")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.DHCP.Options)) {
		at := []any{"options", service.Key(name)}
		check, known := otherOptions[name]
		if slices.Contains(textOptions, name) {
			check, known = checkText, true
		}
		attribute, own := ownOptions[name]
		switch {
		case own && attribute == "":
			wrong(at, "Option that is not yours", "%s follows from the network", name)
		case own:
			wrong(at, "Option with an attribute of its own", "write %s instead", attribute)
		case !known:
			wrong(at, "Unknown option", "OVN knows %v and %v", textOptions, slices.Sorted(maps.Keys(otherOptions)))
		default:
			if err := check(n.DHCP.Options[name]); err != nil {
				wrong(at, "Invalid option", "%v", err)
			}
		}
	}
	return problems
}

// Uses implements plan.User: ports of the plan are compared with what the network will be.
func (n Network) Uses() []plan.Use {
	return []plan.Use{{Verb: plan.Gives, Kind: plan.OVNNetwork, Value: n.Name, Of: n, Known: []string{"name", "mode", "cidr", "gateway", "ipv6_cidr", "dhcp"}}}
}

// SamePool says whether two lists of ranges have the same addresses.
func SamePool(a, b []string) bool {
	one, other := Network{DHCP: &DHCP{Pool: a}}.poolSet(), Network{DHCP: &DHCP{Pool: b}}.poolSet()
	return one.Equal(other)
}

// rangeOfHosts returns the addresses that machines of a network may have.
func rangeOfHosts(p netip.Prefix) netipx.IPRange {
	r := netipx.RangeOfPrefix(p)
	return netipx.IPRangeFrom(r.From().Next(), r.To().Prev())
}

// formatExcluded returns what of a network is given to nobody, in OVN's words: all but the pool. The first and the last address OVN leaves out itself.
func (n Network) formatExcluded() string {
	var b netipx.IPSetBuilder
	b.AddRange(rangeOfHosts(n.CIDR))
	b.RemoveSet(n.poolSet())
	set, _ := b.IPSet() // no range was wrong
	return joinWords(set.Ranges(), func(r netipx.IPRange) string {
		if r.From() == r.To() {
			return r.From().String()
		}
		return fmt.Sprintf("%s..%s", r.From(), r.To())
	})
}

// poolSet is what DHCP gives out.
func (n Network) poolSet() *netipx.IPSet {
	var b netipx.IPSetBuilder
	if n.DHCP != nil {
		for _, text := range n.DHCP.Pool {
			if run, err := netipx.ParseIPRange(text); err == nil { // Validate says what is wrong with another
				b.AddRange(run)
			}
		}
	}
	set, _ := b.IPSet() // no range was wrong
	return set
}
