package machine

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// SecurityRule lets something pass an interface. A direction that has rules passes nothing else.
type SecurityRule struct {
	Direction string `attr:"direction" xml:"direction,attr"`
	Protocol  string `attr:"protocol" xml:"protocol,attr"`
	// Ports are those that are reached, "22" or "30000-32767"; "" for all.
	Ports string `attr:"ports" xml:"ports,attr,omitempty"`
	// Remote is the other side: an address, a prefix, or the name of a machine on the same hypervisor; "" for everybody.
	Remote string `attr:"remote,canonical" xml:"remote,attr,omitempty"`
}

// The directions, as the guest sees them.
const (
	Ingress = "ingress"
	Egress  = "egress"
)

// SecurityProtocols are what a rule may let pass. VRRP is written as its standard does (RFC 9568).
var SecurityProtocols = []string{"any", "tcp", "udp", "sctp", "icmp", "icmpv6", "esp", "ah", "gre", "VRRP"}

// protocol is how libvirt's filters know a protocol: its number, and the elements for IPv4 and IPv6 that follow
// connections; "" where libvirt has none.
type protocol struct {
	number    int
	four, six string
	ports     bool
}

var protocols = map[string]protocol{
	"any": {0, "all", "all-ipv6", false}, "tcp": {6, "tcp", "tcp-ipv6", true}, "udp": {17, "udp", "udp-ipv6", true},
	"sctp": {132, "sctp", "sctp-ipv6", true}, "icmp": {1, "icmp", "", false}, "icmpv6": {58, "", "icmpv6", false},
	"esp": {50, "esp", "esp-ipv6", false}, "ah": {51, "ah", "ah-ipv6", false}, "gre": {47, "", "", false}, "VRRP": {112, "", "", false},
}

// CheckPorts refuses what is neither a port nor a range of them.
func CheckPorts(text string) error {
	_, _, err := parsePorts(text)
	return err
}

// parsePorts returns the first and the last port; 0 of none.
func parsePorts(text string) (first, last uint16, err error) {
	if text == "" {
		return 0, 0, nil
	}
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	a, errFirst := strconv.ParseUint(from, 10, 16)
	b, errLast := strconv.ParseUint(to, 10, 16)
	if errFirst != nil || errLast != nil || a == 0 || a > b {
		return 0, 0, fmt.Errorf("write a port such as 22 or a range such as 30000-32767, not %q", text)
	}
	return uint16(a), uint16(b), nil
}

// CheckRemote refuses what is neither an address nor a prefix and cannot be a machine's name.
func CheckRemote(text string) error {
	if _, ok := parseRemote(text); ok {
		return nil
	}
	if text == "" || strings.ContainsAny(text, "/:\" \t\n<>&'") || strings.Trim(text, "0123456789.") == "" {
		return fmt.Errorf("write an address, a prefix such as 10.19.41.0/24, or the name of another node, not %q", text)
	}
	return nil
}

// parseRemote reads an address or a prefix; false for a machine's name.
func parseRemote(text string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), true
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, false
	}
	return singleAddress(a.Unmap()), true
}

// namesMachine says whether the rule is about a machine's name.
func (r SecurityRule) namesMachine() bool {
	_, address := parseRemote(r.Remote)
	return r.Remote != "" && !address
}

// validateSecurity finds what no filter could do.
func (s *Spec) validateSecurity(i *InterfaceSpec, here []any) []service.Problem {
	var all []service.Problem
	for n, r := range i.SecurityRules {
		problem := func(attribute, summary, format string, args ...any) {
			all = append(all, service.Problemf(pathBelow(here, "security_rules", n, attribute), summary, format, args...))
		}
		p, known := protocols[r.Protocol]
		if r.Ports != "" && known && !p.ports {
			problem("ports", "Superfluous ports", "%s has no ports: leave them out, or write tcp, udp or sctp", r.Protocol)
		}
		if slices.Contains(i.SecurityRules[:n], r) && !s.Unknown.Has(pathBelow(here, "security_rules")...) {
			problem("direction", "Duplicate rule", "an earlier rule says the same: leave one of them out")
		}
		if remote, ok := parseRemote(r.Remote); ok && (r.Protocol == "icmp" && remote.Addr().Is6() || r.Protocol == "icmpv6" && remote.Addr().Is4()) {
			problem("remote", "Other family", "nobody in %s speaks %s", remote, r.Protocol)
		}
	}
	return all
}
