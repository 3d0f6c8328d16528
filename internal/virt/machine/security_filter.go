package machine

import (
	"encoding/xml"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"
)

// Suffixes of the names of the filters that an interface's security rules are in: what follows connections, and what
// looks at each frame of IPv4 and IPv6. The first one refers to the others.
const (
	rulesSuffix = "-rules"
	ipv4Suffix  = "-ipv4"
	ipv6Suffix  = "-ipv6"
)

// rulesFilterName is the filter that an interface refers to for its security rules.
func rulesFilterName(node, mac string) string { return filterName(node, mac) + rulesSuffix }

// filterNames returns all names that the filters of an interface can have, the interface's own first.
func filterNames(node, mac string) []string {
	base := filterName(node, mac)
	return []string{base, base + rulesSuffix, base + ipv4Suffix, base + ipv6Suffix}
}

// isFilterOf says whether a filter is the one that an interface of a machine refers to.
func isFilterOf(filter, node, mac string) bool {
	return filter == filterName(node, mac) || filter == rulesFilterName(node, mac)
}

// resolvedRule is a rule with the addresses of who is on the other side; nil means everybody, and an empty list nobody.
type resolvedRule struct {
	SecurityRule
	remotes []netip.Prefix
}

// firstEphemeralPort is where the ports begin that a guest's own connections come from (Linux's ip_local_port_range).
const firstEphemeralPort = "32768"

// buildSecurityFilters returns the network filters of an interface's security rules, those first that others refer to.
//
// Rules that follow connections (tcp, udp, …) tell answers from questions, but libvirt has them see only what is bridged, of
// what comes to a guest. What the hypervisor itself sends, or routes, is looked at frame by frame: there what answers
// look like passes, at the ports that the guest's own connections come from.
func buildSecurityFilters(node, domain, mac string, rules []resolvedRule) []*libvirtxml.NWFilter {
	base := filterName(node, mac)
	filter := func(suffix, chain, priority string, f *ruleFilter) *libvirtxml.NWFilter {
		x := &libvirtxml.NWFilter{}
		text := fmt.Sprintf("<filter name='%s' chain='%s'%s>%s</filter>", escapeXML(base+suffix), chain, priority, f.text.String())
		if err := x.Unmarshal(text); err != nil {
			panic(fmt.Sprintf("%v: %s", err, text)) // all that is in it was checked
		}
		x.UUID = filterUUID(domain, x.Name)
		return x
	}
	// Before what port_security passes, which ends the walk.
	const first = " priority='-850'"
	connections := &ruleFilter{}
	fmt.Fprintf(&connections.text, "<filterref filter='%s'/><filterref filter='%s'/>", escapeXML(base+ipv4Suffix), escapeXML(base+ipv6Suffix))
	connections.followConnections(rules)
	return []*libvirtxml.NWFilter{
		filter(ipv4Suffix, "ipv4-rules", first, renderFrameRules("ip", rules)),
		filter(ipv6Suffix, "ipv6-rules", first, renderFrameRules("ipv6", rules)),
		filter(rulesSuffix, "root", "", connections),
	}
}

func escapeXML(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}

// ruleFilter is the text of a filter's rules in the making.
type ruleFilter struct{ text strings.Builder }

func (f *ruleFilter) addRule(action, direction string, priority int, element, attributes string) {
	way := map[string]string{Ingress: "in", Egress: "out"}[direction]
	fmt.Fprintf(&f.text, "<rule action='%s' direction='%s' priority='%d'><%s%s/></rule>", action, way, priority, element, attributes)
}

// hasRules says whether a direction has rules.
func hasRules(rules []resolvedRule, direction string) bool {
	return slices.ContainsFunc(rules, func(r resolvedRule) bool { return r.Direction == direction })
}

// followConnections lets what the rules name begin connections, and what belongs to these pass in both directions.
func (f *ruleFilter) followConnections(rules []resolvedRule) {
	for _, direction := range []string{Ingress, Egress} {
		f.addRule("accept", direction, 400, "icmp", " state='RELATED'")
		f.addRule("accept", direction, 400, "icmpv6", " state='RELATED'")
		// Neighbours, routers and listeners of multicast (RFC 4890, section 4.4.1).
		for _, kind := range []string{"130", "131", "132", "133", "134", "135", "136", "143"} {
			f.addRule("accept", direction, 400, "icmpv6", fmt.Sprintf(" type='%s' state='NONE'", kind))
		}
		ask, answer := map[string][2]string{Ingress: {"67", "68"}, Egress: {"68", "67"}}[direction], map[string][2]string{Ingress: {"547", "546"}, Egress: {"546", "547"}}[direction]
		f.addRule("accept", direction, 400, "udp", fmt.Sprintf(" srcportstart='%s' dstportstart='%s'", ask[0], ask[1]))
		f.addRule("accept", direction, 400, "udp-ipv6", fmt.Sprintf(" srcportstart='%s' dstportstart='%s'", answer[0], answer[1]))
		if !hasRules(rules, direction) {
			f.addRule("accept", direction, 500, "all", "")
			f.addRule("accept", direction, 500, "all-ipv6", "")
		}
	}
	for _, r := range rules {
		p := protocols[r.Protocol]
		for _, family := range []struct {
			element string
			six     bool
		}{{p.four, false}, {p.six, true}} {
			if family.element == "" {
				continue
			}
			for _, at := range r.renderAttributes(family.six) {
				f.addRule("accept", r.Direction, 500, family.element, at)
			}
		}
	}
	for _, direction := range []string{Ingress, Egress} {
		if !hasRules(rules, direction) {
			continue
		}
		for _, element := range []string{"tcp", "udp", "udplite", "sctp", "icmp", "esp", "ah", "tcp-ipv6", "udp-ipv6", "udplite-ipv6", "sctp-ipv6", "icmpv6", "esp-ipv6", "ah-ipv6"} {
			f.addRule("drop", direction, 900, element, "")
		}
	}
}

// renderAttributes returns the attributes of a rule's elements for one family of addresses. There is one element for each remote
// address, and none where nobody of the family may pass.
func (r resolvedRule) renderAttributes(six bool) []string {
	side := map[string]string{Ingress: "src", Egress: "dst"}[r.Direction]
	ports := ""
	if first, last, err := parsePorts(r.Ports); err == nil && first != 0 {
		ports = fmt.Sprintf(" dstportstart='%d' dstportend='%d'", first, last)
	}
	if r.remotes == nil {
		return []string{ports}
	}
	var all []string
	for _, p := range r.remotes {
		if p.Addr().Is6() == six {
			all = append(all, fmt.Sprintf(" %sipaddr='%s' %sipmask='%d'%s", side, p.Addr(), side, p.Bits(), ports))
		}
	}
	return all
}

// renderFrameRules returns the rules of one family ("ip" or "ipv6") that look at each frame. A frame that they return is looked at
// by the other filters next.
func renderFrameRules(element string, rules []resolvedRule) *ruleFilter {
	f, six := &ruleFilter{}, element == "ipv6"
	pass := func(direction, attributes string) { f.addRule("return", direction, 500, element, attributes) }
	for _, r := range rules {
		p := protocols[r.Protocol]
		if r.Protocol == "icmp" && six || r.Protocol == "icmpv6" && !six {
			continue
		}
		number := ""
		if p.number != 0 {
			number = fmt.Sprintf(" protocol='%d'", p.number)
		}
		for _, at := range r.renderAttributes(six) {
			pass(r.Direction, number+at)
		}
	}
	icmp := map[bool]int{false: 1, true: 58}[six]
	for _, direction := range []string{Ingress, Egress} {
		if !hasRules(rules, direction) {
			continue
		}
		pass(direction, fmt.Sprintf(" protocol='%d'", icmp))
		if !six {
			pass(direction, " protocol='2'") // IGMP
		} else {
			pass(direction, " protocol='0'") // hop-by-hop options, which come before what listeners of multicast say
		}
		if direction == Egress {
			// What follows connections sees all that a guest sends.
			for _, number := range []int{6, 17, 132, 136, 50, 51} {
				pass(direction, fmt.Sprintf(" protocol='%d'", number))
			}
		} else {
			pass(direction, fmt.Sprintf(" protocol='17' dstportstart='%s'", map[bool]string{false: "68", true: "546"}[six]))
			for _, number := range []int{6, 17, 132} {
				pass(direction, fmt.Sprintf(" protocol='%d' dstportstart='%s' dstportend='65535'", number, firstEphemeralPort))
			}
		}
		f.addRule("drop", direction, 900, element, "")
	}
	return f
}
